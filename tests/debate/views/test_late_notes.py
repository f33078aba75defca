"""A note or challenge made during a round stands where the reader sees who could have answered it."""

import pytest

from server.debate.facts.events import Event
from server.debate.facts.interventions import Challenged, NoteAdded
from server.debate.views.markdown import render_transcript
from tests.support.simulation import DebateSimulation, build_debaters, build_setup, simulate

pytestmark = pytest.mark.requirement("C22", "D4")

UNSEEN = ", made while the turns above were written, which had not seen it"


def hold_round(*steps: str | Event, seats: int = 2, **asked: object) -> DebateSimulation:
    """The first round: each step is the seat whose turn arrives, or an event. All were asked before the first step.

    "again" asks those that are still awaited once more, so that they see what came meanwhile.
    """
    at = simulate(build_setup(debaters=build_debaters(seats), **asked)).play_to_round(1)  # type: ignore[arg-type]
    calls = {call.seat: call for call in at.pending_calls()}
    for step in steps:
        if step == "again":
            calls = {call.seat: call for call in at.pending_calls()}
        else:
            at.add_events(at.answer(calls[step]) if isinstance(step, str) else step)
    return at


def headings(at: DebateSimulation) -> list[str]:
    """The turns by their seats, and the notes, in the order of the transcript."""
    lines = render_transcript(at.debate, at.log).splitlines()
    return [line[4:].partition(" (")[0] for line in lines if line.startswith("### ")]


@pytest.mark.parametrize("kind", [NoteAdded, Challenged])
@pytest.mark.parametrize("to", ["", "Speaker 1"])
def test_it_stands_after_the_turns_that_were_being_written(
    kind: type[NoteAdded | Challenged], to: str
) -> None:
    at = hold_round(kind(text="Cost?", round=1, to=to), "Speaker 1", "Speaker 2")
    [*turns, note] = headings(at)
    assert sorted(turns) == ["Speaker 1", "Speaker 2"]
    assert note == f"{kind.title} to {to or 'everybody'}{UNSEEN}"


def test_it_stands_before_the_turns_that_had_seen_it() -> None:
    note = NoteAdded(text="Cost?", round=1)
    for first, second in (("Speaker 1", "Speaker 2"), ("Speaker 2", "Speaker 1")):
        at = hold_round(first, note, "again", second)
        assert headings(at) == [first, "Note to everybody", second]


def test_each_of_two_is_marked_by_the_turns_that_had_not_seen_it() -> None:
    at = hold_round(
        *("Speaker 1", NoteAdded(text="One", round=1), NoteAdded(text="Two", round=1), "Speaker 2"),
        *("again", "Speaker 3"),
        seats=3,
    )
    assert sorted(headings(at)[:2]) == ["Speaker 1", "Speaker 2"]
    assert headings(at)[2:] == [f"Note to everybody{UNSEEN}"] * 2 + ["Speaker 3"]
