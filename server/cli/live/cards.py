"""The card of each seat in a round: what it said, or what is known of the text that it is writing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Literal

from server.cli.live.events import choose_colour
from server.debate.ballots.report import describe_ballot
from server.debate.facts.answers import Usage
from server.debate.facts.events import Judged
from server.debate.facts.text import clean_line, format_dollars, remove_invisible
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.state.seats import current_model, phase_seats
from server.debate.views.advice import describe_advice
from server.debate.views.names import name_debate, show_turn_with_ids
from server.debate.views.progress import Progress, build_progress
from server.debate.views.visibility import is_hidden, shows_seat
from server.debate.views.writing import show_piece

State = Literal["idle", "thinking", "writing", "done", "failed"]


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
    """The cards of one state of a debate. What does not depend on the streamed text is computed once."""

    def __init__(self, debate: Debate) -> None:
        self.debate = debate

    @cached_property
    def progress(self) -> Progress:
        return build_progress(self.debate)

    @cached_property
    def calls(self) -> dict[str, Call]:
        """What each seat is asked now."""
        return {} if self.debate.ended else {call.seat: call for call in pending_calls(self.debate)}

    @cached_property
    def recorded_cards(self) -> dict[str, Card]:
        """The cards of this round by seat, as far as answers have been recorded."""
        setup, phase = self.debate.setup, self.debate.phase
        if phase is None or setup.needs_framing:
            return {}
        return {seat: self.build_card(seat) for seat in phase_seats(setup, phase)}

    def build_card(self, seat: str) -> Card:
        debate, text = self.debate, self.build_text(seat)
        stance = debate.debater(seat).stance if seat in debate.names else ""
        answers = [fact for fact in debate.answers if fact.seat == seat and fact.round == debate.round]
        failures = [failure for failure in name_debate(debate).round_failures if failure.seat == seat]
        state: State = "idle"
        note = ""
        if seat in self.calls:
            state, note = "thinking", "thinking …"
        elif answers:
            state, note = "done", format_usage([fact.usage for fact in answers])
        elif failures:
            state, note = "failed", f"failed: {clean_line(failures[-1].detail)}"
        model = clean_line(current_model(debate, seat))
        colour = choose_colour(debate.names, seat)
        return Card(clean_line(seat), clean_line(stance), model, colour, state, text, note)

    def build_text(self, seat: str) -> str:
        """The visible text of a seat in this round: its turns, else its readings, else its latest ballot."""
        debate, number = self.debate, self.debate.round
        if not shows_seat(debate, seat):
            return ""
        named_debate = name_debate(debate)
        if turns := [turn for turn in named_debate.round_turns(number) if turn.seat == seat]:
            return "\n\n".join(remove_invisible(show_turn_with_ids(debate, turn)) for turn in turns)
        own_readings = (row for row in named_debate.judgments if (row.seat, row.round) == (seat, number))
        if readings := sorted(own_readings, key=lambda row: row.slot_index):
            return "\n\n".join(
                f"{describe_reading(row)}\n{remove_invisible(row.verdict)}" for row in readings
            )
        if advice := [row for row in named_debate.advice if (row.seat, row.round) == (seat, number)]:
            return "\n\n".join(remove_invisible(describe_advice(debate, row)[1]) for row in advice)
        ballots = [
            ballot
            for ballot in named_debate.round_ballots(number)
            if ballot.seat == seat and not is_hidden(debate, ballot)
        ]
        return remove_invisible(describe_ballot(ballots[-1])) if ballots else ""

    def list_cards(self, partial_texts: Mapping[str, str]) -> list[Card]:
        """The cards, with what is being written."""
        return [
            self.add_piece(card, seat, partial_texts[seat]) if partial_texts.get(seat) else card
            for seat, card in self.recorded_cards.items()
        ]

    def add_piece(self, card: Card, seat: str, piece: str) -> Card:
        """The card of a seat that is writing. Its text is shown only if it is a turn that readers may see already."""
        call = self.calls.get(seat)
        visible_text = show_piece(self.debate, call, piece) if call else ""
        text = "\n\n".join(filter(None, (card.text, visible_text)))
        return replace(card, state="writing", text=text, note="writing …")


def describe_reading(judged: Judged) -> str:
    """The finding of a reading in a few words: the winner's name and the margin."""
    finding = (
        f"for {clean_line(judged.winner)}, margin {judged.margin} of 3" if judged.winner else "for no side"
    )
    return f"reading {judged.slot_index}: {finding}"


def format_usage(usages: list[Usage]) -> str:
    """Seconds of the slowest answer, and dollars of all, where known."""
    seconds = max(usage.milliseconds for usage in usages) / 1000
    known_costs = [Decimal(usage.cost_usd) for usage in usages if usage.cost_usd]
    cost = f"  {format_dollars(sum(known_costs, Decimal()))}" if any(known_costs) else ""
    return f"{seconds:.1f} s{cost}"
