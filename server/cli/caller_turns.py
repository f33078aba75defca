"""The turns that whoever sits at the terminal writes, for seats whose model is `caller`."""

import os
import sys
from contextlib import suppress

import anyio
import click

from server.cli.rendering import Screen, one_line, plain
from server.engine.debates import Hall
from server.engine.errors import DebateError
from server.engine.queries import Awaited, awaited
from server.engine.runner import Case


class Dialogue:
    """Asks for turns on stdin. A turn ends with an empty line."""

    def __init__(self, screen: Screen, actor: str) -> None:
        self.screen = screen
        self.actor = actor
        self.keyboard = Keyboard()

    async def take_turn(self, hall: Hall, case: Case) -> Case | None:
        """The debate with the awaited turn in it; None where nobody is there to write one."""
        turn = awaited(case.debate)[0]
        click.echo(self.invitation(turn, case.debate.round))
        while text := await self.keyboard.text():
            try:
                return await hall.submit(case.id, turn.speaker, text, actor=self.actor)
            except DebateError as error:
                click.echo(self.screen.wrap(one_line(str(error)), "! ", "  "))
        return None

    def invitation(self, turn: Awaited, number: int) -> str:
        head = f"\nYour turn: {one_line(turn.speaker)}, round {number} ({turn.task})"
        told = plain(turn.prompt.rpartition("\n\n")[2])
        asked = "\n".join(self.screen.wrap(line, "  ") for line in told.splitlines() if line)
        return f"{self.screen.paint(head, bold=True)}\n{asked}\nEnd it with an empty line."


class Keyboard:
    """Stdin, line by line. Read without a thread: one that waits for a key would hold up the exit."""

    def __init__(self) -> None:
        self.rest = b""

    async def text(self) -> str:
        """What is typed until an empty line, or the end of stdin; "" where there is nothing."""
        lines: list[str] = []
        while line := await self.line():
            if line.strip():
                lines.append(line.rstrip("\r\n"))
            elif lines:
                break
        return "\n".join(lines)

    async def line(self) -> str:
        """The next line with its end; "" at the end of stdin."""
        try:
            stdin = sys.stdin.fileno()
        except (OSError, ValueError, AttributeError):  # a program has put something else in its place
            return sys.stdin.readline() if sys.stdin else ""
        while b"\n" not in self.rest:
            with suppress(OSError, NotImplementedError):  # a file is always readable, and says so like this
                await anyio.wait_readable(stdin)
            piece = os.read(stdin, 4096)
            if not piece:
                break
            self.rest += piece
        line, end, self.rest = self.rest.partition(b"\n")
        return (line + end).decode("utf-8", "replace")
