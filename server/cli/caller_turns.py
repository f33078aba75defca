"""Turns that the person at the terminal writes, for seats whose model is `caller`."""

import os
import sys
from contextlib import suppress

import anyio

from server.cli.sanitize import sanitize_line, sanitize_text
from server.cli.session import ACTOR
from server.cli.terminal import Terminal
from server.debate.facts.errors import DebateError
from server.debate.views.awaited import awaited_turns
from server.engine.debates import DebateManager
from server.engine.store import DebateSnapshot


class CallerTurns:
    """Asks for turns and reads them from stdin. A turn ends with an empty line."""

    def __init__(self, out: Terminal) -> None:
        self.out = out
        self.stdin = StdinReader()

    async def submit_next(self, manager: DebateManager, snapshot: DebateSnapshot) -> DebateSnapshot | None:
        """The debate with the awaited turn in it; None if stdin ends before there is one."""
        turn = awaited_turns(snapshot.debate)[0]
        title = f"Your turn: {sanitize_line(turn.speaker)}, round {snapshot.debate.round} ({turn.task})"
        self.out.print_line()
        self.out.print_wrapped(title, style="bold")
        for line in sanitize_text(turn.prompt.rpartition("\n\n")[2]).splitlines():
            if line:
                self.out.print_wrapped(line, "  ")
        self.out.print_line("End it with an empty line.")
        while text := await self.stdin.read_paragraph():
            try:
                return await manager.submit(snapshot.id, turn.speaker, text, actor=ACTOR)
            except DebateError as error:
                self.out.print_wrapped(sanitize_line(str(error)), "! ")
        return None


class StdinReader:
    """Reads stdin without a thread: a thread that waits for a key would delay the exit."""

    def __init__(self) -> None:
        self.buffer = b""

    async def read_paragraph(self) -> str:
        """The lines up to an empty line or the end of stdin; "" if there are none."""
        lines: list[str] = []
        while line := await self.read_line():
            if line.strip():
                lines.append(line.rstrip("\r\n"))
            elif lines:
                break
        return "\n".join(lines)

    async def read_line(self) -> str:
        """The next line with its line end; "" at the end of stdin."""
        try:
            stdin = sys.stdin.fileno()
        except (OSError, ValueError, AttributeError):  # replaced by a program that runs commands in process
            return sys.stdin.readline() if sys.stdin else ""
        while b"\n" not in self.buffer:
            with suppress(OSError, NotImplementedError):  # raised for a file, which is always readable
                await anyio.wait_readable(stdin)
            piece = os.read(stdin, 4096)
            if not piece:
                break
            self.buffer += piece
        line, end, self.buffer = self.buffer.partition(b"\n")
        return (line + end).decode("utf-8", "replace")
