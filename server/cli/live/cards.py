"""What each seat of a round shows: the words it has given, or what is known of those that it is writing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Literal

from server.cli.live.events import find_colour
from server.debate.ballots.report import describe_ballot
from server.debate.documents.marks import disarm_marks
from server.debate.facts.answers import Usage
from server.debate.facts.events import Judged
from server.debate.facts.text import clean_line, remove_invisible
from server.debate.rules.calls import pending_calls
from server.debate.state.debate import Debate
from server.debate.state.labels import name_sides
from server.debate.state.seats import current_model, phase_seats
from server.debate.views.names import name_debate, show_turn
from server.debate.views.progress import Progress, build_progress
from server.debate.views.state import known_debaters
from server.debate.views.visibility import find_blind_answers, is_hidden, shows_seat

State = Literal["idle", "thinking", "writing", "done", "failed"]

TURN_TASKS = ("argument", "message", "answer")
"""What is written for everybody to read. Ballots and readings are data, and private before they are recorded."""


@dataclass(frozen=True, slots=True)
class Card:
    seat: str
    stance: str
    model: str
    colour: str
    state: State
    text: str
    note: str  # how long it took and what it cost, or what it is doing


class Deck:
    """The cards of a debate as it stands. What does not change with the text being written is found once."""

    def __init__(self, debate: Debate) -> None:
        self.debate = debate

    @cached_property
    def progress(self) -> Progress:
        return build_progress(self.debate)

    @cached_property
    def is_streaming_shown(self) -> bool:
        """Whether turns may be read while they are written."""
        return not find_blind_answers(self.debate)

    @cached_property
    def tasks(self) -> dict[str, str]:
        """What is asked of seats now."""
        return {} if self.debate.ended else {call.seat: call.task for call in pending_calls(self.debate)}

    @cached_property
    def settled(self) -> dict[str, Card]:
        """The cards of this round by seat, as far as answers have been recorded."""
        setup, phase = self.debate.setup, self.debate.phase
        if phase is None or not known_debaters(setup):
            return {}
        return {seat: self.build_card(seat) for seat in phase_seats(setup, phase)}

    def build_card(self, seat: str) -> Card:
        debate, text = self.debate, self.find_words(seat)
        stance = debate.debater(seat).stance if seat in debate.names else ""
        given = [fact for fact in debate.answers if fact.seat == seat and fact.round == debate.round]
        failed = [lost for lost in name_debate(debate).round_failures if lost.seat == seat]
        state: State = "idle"
        note = ""
        if seat in self.tasks:
            state, note = "thinking", "thinking …"
        elif given:
            state, note = "done", format_usage([fact.usage for fact in given])
        elif failed:
            state, note = "failed", f"failed: {clean_line(failed[-1].detail)}"
        model = clean_line(current_model(debate, seat))
        colour = find_colour(debate.names, seat)
        return Card(clean_line(seat), clean_line(stance), model, colour, state, text, note)

    def find_words(self, seat: str) -> str:
        """What readers may see of what a seat gave in this round: turns, else its readings or its latest ballot."""
        debate, number = self.debate, self.debate.round
        if not shows_seat(debate, seat):
            return ""
        named = name_debate(debate)
        if turns := [turn for turn in named.round_turns(number) if turn.seat == seat]:
            return "\n\n".join(remove_invisible(show_turn(debate, turn)) for turn in turns)
        if judged := [one for one in named.judgments if (one.seat, one.round) == (seat, number)]:
            judged.sort(key=lambda one: one.slot_index)
            return "\n\n".join(f"{describe_reading(one)}\n{remove_invisible(one.verdict)}" for one in judged)
        ballots = [
            one for one in named.round_ballots(number) if one.seat == seat and not is_hidden(debate, one)
        ]
        return remove_invisible(describe_ballot(ballots[-1])) if ballots else ""

    def list_cards(self, partial_texts: Mapping[str, str]) -> list[Card]:
        """The cards, with what is being written."""
        return [
            self.add_piece(card, seat, partial_texts[seat]) if partial_texts.get(seat) else card
            for seat, card in self.settled.items()
        ]

    def add_piece(self, card: Card, seat: str, piece: str) -> Card:
        """The card of a seat that writes; its words where it is a turn that may be read already."""
        text = card.text
        if self.tasks.get(seat) in TURN_TASKS and self.is_streaming_shown and shows_seat(self.debate, seat):
            shown = remove_invisible(disarm_marks(name_sides(self.debate, piece)))
            text = "\n\n".join(filter(None, (text, shown)))
        return replace(card, state="writing", text=text, note="writing …")


def describe_reading(judged: Judged) -> str:
    """Whom a reading found for, in a few words of ours and a name."""
    finding = (
        f"for {clean_line(judged.winner)}, margin {judged.margin} of 3" if judged.winner else "for no side"
    )
    return f"reading {judged.slot_index}: {finding}"


def format_usage(usages: list[Usage]) -> str:
    """Seconds of the slowest answer, and dollars of all, where known."""
    seconds = max(usage.milliseconds for usage in usages) / 1000
    known = [Decimal(usage.cost_usd) for usage in usages if usage.cost_usd]
    cost = f"  {format_dollars(sum(known, Decimal()))}" if any(known) else ""
    return f"{seconds:.1f} s{cost}"


def format_dollars(amount: Decimal) -> str:
    """Dollars with as many digits as say something: $1.20, $0.0042."""
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}"
