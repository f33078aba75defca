"""The turns that whoever sits at the terminal writes, for seats whose model is `caller`."""

import os
import sys
from contextlib import suppress

import anyio
import click

from server.cli.rendering import Screen, sanitize_line, sanitize_text
from server.debate.views.awaited import AwaitedTurn, awaited_turns
from server.engine.debates import DebateManager
from server.engine.errors import DebateError
from server.engine.store import DebateSnapshot


class Dialogue:
    """Asks for turns on stdin. A turn ends with an empty line."""

    def __init__(self, screen: Screen, actor: str) -> None:
        self.screen = screen
        self.actor = actor
        self.stdin = StdinReader()

    async def take_turn(self, manager: DebateManager, snapshot: DebateSnapshot) -> DebateSnapshot | None:
        """The debate with the awaited turn in it; None where nobody is there to write one."""
        turn = awaited_turns(snapshot.debate)[0]
        click.echo(self.format_turn_request(turn, snapshot.debate.round))
        while text := await self.stdin.read_paragraph():
            try:
                return await manager.submit(snapshot.id, turn.speaker, text, actor=self.actor)
            except DebateError as error:
                click.echo(self.screen.wrap(sanitize_line(str(error)), "! ", "  "))
        return None

    def format_turn_request(self, turn: AwaitedTurn, round_number: int) -> str:
        head = f"\nYour turn: {sanitize_line(turn.speaker)}, round {round_number} ({turn.task})"
        told = sanitize_text(turn.prompt.rpartition("\n\n")[2])
        asked = "\n".join(self.screen.wrap(line, "  ") for line in told.splitlines() if line)
        return f"{self.screen.paint(head, bold=True)}\n{asked}\nEnd it with an empty line."


class StdinReader:
    """Stdin, line by line. Read without a thread: one that waits for a key would hold up the exit."""

    def __init__(self) -> None:
        self.buffer = b""

    async def read_paragraph(self) -> str:
        """What is typed until an empty line, or the end of stdin; "" where there is nothing."""
        lines: list[str] = []
        while line := await self.read_line():
            if line.strip():
                lines.append(line.rstrip("\r\n"))
            elif lines:
                break
        return "\n".join(lines)

    async def read_line(self) -> str:
        """The next line with its end; "" at the end of stdin."""
        try:
            stdin = sys.stdin.fileno()
        except (OSError, ValueError, AttributeError):  # a program has put something else in its place
            return sys.stdin.readline() if sys.stdin else ""
        while b"\n" not in self.buffer:
            with suppress(OSError, NotImplementedError):  # a file is always readable, and says so like this
                await anyio.wait_readable(stdin)
            piece = os.read(stdin, 4096)
            if not piece:
                break
            self.buffer += piece
        line, end, self.buffer = self.buffer.partition(b"\n")
        return (line + end).decode("utf-8", "replace")
