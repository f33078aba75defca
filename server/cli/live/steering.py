"""What the keys do to a debate: pause, note, conclude, leave."""

import anyio

from server.cli.live.display import LiveDisplay
from server.cli.live.keyboard import BACKSPACE, CLEAR, ENTER, ESCAPE, Keyboard, Paste
from server.cli.session import ACTOR
from server.debate.facts.errors import DebateError
from server.debate.facts.text import clean_line
from server.debate.interventions.action import InterventionRequest
from server.engine.debates import DebateManager

MAX_NOTE_LENGTH = 2_000  # characters that can be typed
CONCLUDE_HINT = "c again concludes: the verdict follows from what was said so far. Any other key goes on."


class Steering:
    """Reads keys while a debate is shown. `has_left`: set by q.

    `runs`: whether this process runs the debate, also when it is left, and goes on with it when a key resumes it.
    """

    def __init__(self, manager: DebateManager, display: LiveDisplay, *, runs: bool) -> None:
        self.manager, self.display, self.runs = manager, display, runs
        self.asks_to_conclude = False  # c was pressed once: the second time concludes
        self.has_left = anyio.Event()

    async def read(self, keyboard: Keyboard) -> None:
        """Do what the keys say until somebody leaves or the terminal is gone."""
        self.show_keys()
        async for pressed in keyboard.read():
            await self.handle(pressed)
            if self.has_left.is_set():
                return
            self.show_keys()

    def show_keys(self) -> None:
        snapshot = self.display.snapshot
        is_paused = snapshot is not None and snapshot.debate.paused is not None
        leave = f"leave it {'paused' if is_paused else 'running'}" if self.runs else "leave"
        self.display.keys = f"{'p go on' if is_paused else 'p pause'}  n note  c conclude  q {leave}"

    async def handle(self, pressed: str | Paste) -> None:
        """Do what a key or a paste says. A paste is text: outside of a note it does nothing."""
        if isinstance(pressed, Paste):
            if self.display.note is not None:
                self.display.note = (self.display.note + pressed.text)[:MAX_NOTE_LENGTH]
            self.asks_to_conclude, self.display.message = False, ""
        elif self.display.note is not None:
            await self.edit_note(pressed)
        else:
            await self.run_command(pressed.lower())

    async def run_command(self, key: str) -> None:
        was_asked, self.asks_to_conclude = self.asks_to_conclude, False
        self.display.message = ""
        if key == "q":
            self.has_left.set()
        elif key == "n":
            self.display.note = ""
        elif key == "c" and not was_asked:
            self.asks_to_conclude, self.display.message = True, CONCLUDE_HINT
        elif key == "c":
            await self.intervene("conclude")
        elif key == "p":
            snapshot = self.display.snapshot
            await self.intervene("resume" if snapshot and snapshot.debate.paused else "pause")

    async def edit_note(self, key: str) -> None:
        """A key while a note is typed."""
        note = self.display.note or ""
        if key == ENTER and note.strip():
            self.display.note = None
            await self.intervene("inject", note)
        elif key in (ENTER, ESCAPE):
            self.display.note = None
        elif key == BACKSPACE:
            self.display.note = note[:-1]
        elif key == CLEAR:
            self.display.note = ""
        else:
            self.display.note = (note + key)[:MAX_NOTE_LENGTH]

    async def intervene(self, action: str, text: str = "") -> None:
        if self.display.snapshot is None:
            return
        request = InterventionRequest(text=text)
        try:
            snapshot, effect = await self.manager.intervene(
                self.display.snapshot.id, action, request, actor=ACTOR, run=self.runs
            )
        except DebateError as error:
            effect = str(error)
        else:
            self.display.on_commit(snapshot)
        self.display.message = clean_line(effect)
