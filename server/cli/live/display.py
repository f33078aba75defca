"""The display of a debate: the record, and below it the board of what is under way."""

import sys
from collections.abc import Callable
from time import monotonic
from typing import Self

from rich.console import RenderableType

from server.cli.live.board import Deck, Scene, build_board, describe_pause
from server.cli.live.events import print_event, print_setup
from server.cli.live.region import Region
from server.cli.terminal import Terminal
from server.debate.commands.setup.estimate import estimate
from server.debate.facts.advice import Advised, Exchanged, Reviewed
from server.debate.facts.answers import HandoffFailed
from server.debate.facts.events import Balloted, Failed, Judged, Recorded, Spoke
from server.debate.facts.text import clean_line, format_count
from server.debate.views.progress import describe_work
from server.debate.views.visibility import is_blind, is_hidden, list_blind_answers
from server.engine.database.snapshots import DebateSnapshot

REDRAW_INTERVAL = 0.1  # seconds between two redraws
MAX_PARTIAL_LENGTH = 4_000  # characters kept of a reply that is being written: more than a panel can show
ON_CARDS = (Spoke, Balloted, Judged, Advised, Reviewed, Exchanged)
"""Events that the panels show until the round is over."""

FAILED = (Failed, HandoffFailed)
"""Events that are printed for every seat: for hidden ones without their words."""


class LiveDisplay:
    """Prints recorded events; the board shows what is being written, progress and money.

    What the panels show is printed when its round is over. The manager only calls `on_commit` and `on_text`; drawing
    happens in its own task, so that many changes at once are drawn once.
    """

    def __init__(self, out: Terminal, *, bar: Terminal | None = None, show_turns: bool = True) -> None:
        """bar: the terminal for the board; none without one, or where it cannot redraw lines.

        Without `show_turns`, or on another stream than these, the board is its line of progress.
        """
        self.out = out
        self.show_turns = show_turns
        can_redraw = bar is not None and bar.is_terminal and not bar.legacy_windows
        self.bar = bar if can_redraw else None
        self.region = Region(bar) if bar and can_redraw else None
        self.snapshot: DebateSnapshot | None = None
        self.deck: Deck | None = None
        self.shown_count = 0  # entries
        self.kept_entries: list[Recorded] = []  # entries that are printed later
        self.partial_texts: dict[str, str] = {}  # by seat; the seat that wrote last is last
        self.start_time = monotonic()
        self.estimate = ""
        self.find_holdup: Callable[[DebateSnapshot], str] = lambda _snapshot: ""
        self.activity = ""  # beside what the debate itself says
        self.keys, self.message = "", ""
        self.note: str | None = None

    @classmethod
    def for_streams(cls, *, show_turns: bool, show_bar: bool) -> Self:
        """The display of a command. The board is below the turns, or on stderr if stdout shows no turns."""
        out, errors = Terminal(sys.stdout), Terminal(sys.stderr)
        bar = out if show_turns and out.is_terminal else errors
        return cls(out, bar=bar if show_bar else None, show_turns=show_turns)

    @property
    def has_board(self) -> bool:
        """Whether there are panels. If stdout is a pipe, its reader may need the terminal and its keys."""
        return self.region is not None and self.show_turns and self.bar is self.out

    def on_commit(self, snapshot: DebateSnapshot) -> None:
        known_version = self.snapshot.debate.version if self.snapshot else 0
        for entry in snapshot.entries[known_version:]:
            self.partial_texts.pop(getattr(entry.event, "seat", ""), None)
        self.snapshot = snapshot

    def on_text(self, _debate_id: str, seat: str, piece: str) -> None:
        self.partial_texts[seat] = (self.partial_texts.pop(seat, "") + piece)[-MAX_PARTIAL_LENGTH:]

    def continue_from(self, snapshot: DebateSnapshot) -> None:
        """Start with a debate whose earlier events are not printed again."""
        self.snapshot, self.shown_count = snapshot, snapshot.debate.version
        self.kept_entries = [entry for entry in snapshot.entries if self.is_kept(snapshot, entry)]
        if self.show_turns:
            print_setup(self.out, snapshot, snapshot.debate.setup)
            if count := len(snapshot.debate.turns) + len(snapshot.debate.advice):
                answers = format_count(count, "answer")
                self.out.print_line(f"{answers} so far: counterpoint show {snapshot.id}")

    def is_kept(self, snapshot: DebateSnapshot, entry: Recorded) -> bool:
        """Whether an entry is printed later: readers may not see it yet, or it stands on the board."""
        debate, event = snapshot.debate, entry.event
        if is_blind(event, list_blind_answers(debate)):
            return True
        is_under_way = snapshot.status == "running" and getattr(event, "round", 0) == debate.round
        return self.has_board and is_under_way and isinstance(event, ON_CARDS)

    def draw(self) -> None:
        """Print the events recorded since the last call, and update the board."""
        if self.snapshot is None:
            return
        snapshot, start = self.snapshot, self.shown_count
        if snapshot.debate.version != start or snapshot.status != "running":
            self.print_record(snapshot, snapshot.entries[start:])
            self.shown_count = snapshot.debate.version
        if self.region:
            if snapshot.debate.ended:
                self.region.erase()
            else:
                self.region.draw(self.build_board)

    def print_record(self, snapshot: DebateSnapshot, new_entries: tuple[Recorded, ...]) -> None:
        entries = sorted([*self.kept_entries, *new_entries], key=lambda entry: entry.seq)
        self.kept_entries = [entry for entry in entries if self.is_kept(snapshot, entry)]
        kept_numbers = {entry.seq for entry in self.kept_entries}
        printed_entries = [
            entry
            for entry in entries
            if entry.seq not in kept_numbers
            and (isinstance(entry.event, FAILED) or not is_hidden(snapshot.debate, entry.event))
        ]
        if printed_entries and self.show_turns:
            if self.region:
                self.region.erase()
            self.out.fit_width()
            for entry in printed_entries:
                print_event(self.out, snapshot, entry.event)

    def build_board(self, columns: int, lines: int) -> RenderableType:
        """What is under way, on so many columns and lines."""
        assert self.snapshot
        assert self.bar
        debate = self.snapshot.debate
        if self.deck is None or self.deck.debate is not debate:
            self.deck = Deck(debate)
            if not self.estimate:
                high = estimate(debate).cost_usd[1]
                self.estimate = high if high.strip("0.") else ""
        cards = self.deck.list_cards(self.partial_texts) if self.has_board else []
        work = clean_line(describe_work(self.deck.progress, self.find_holdup(self.snapshot)))
        scene = Scene(
            deck=self.deck,
            cards=cards,
            seconds=int(monotonic() - self.start_time),
            activity=". ".join(filter(None, (describe_pause(debate), self.activity))) or work,
            estimate=self.estimate,
            keys=self.keys,
            message=self.message,
            note=self.note,
        )
        return build_board(scene, self.bar, columns, lines)

    def redraw_below(self) -> None:
        """Draw the board anew, below what another program wrote to the terminal meanwhile."""
        if self.region:
            self.region.shown = []

    def detach(self) -> None:
        """Show nothing any more."""
        self.region, self.bar, self.show_turns = None, None, False

    def close(self) -> None:
        """Take the board away, and give the terminal back."""
        if self.region:
            self.region.close()
