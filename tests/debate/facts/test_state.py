from collections.abc import Callable
from copy import deepcopy

import pytest

from server.debate.facts.errors import IllegalEvent
from server.debate.facts.events import (
    Concluded,
    Ended,
    Event,
    Failed,
    Judged,
    Paused,
    PhaseEntered,
    Resumed,
    Spoke,
)
from server.debate.facts.interventions import NoteAdded, TalkConcluded
from server.debate.machine.transitions import apply, replay
from server.debate.rules.schedule import Slot, round_slots
from server.debate.verdicts.rules import build_verdict_events
from tests.support import simulation

pytestmark = pytest.mark.requirement("D2")

FIRST = simulation.build_phase_entered(simulation.simulate().debate, "opening")


def spoke(seat: str = "Proponent", number: int = 1, text: str = "Because.") -> Spoke:
    return Spoke(seen=1, seat=seat, round=number, text=text, usage=simulation.build_usage())


def judged(seat: str = "judge 1", number: int = 3, reading: int = 1, winner: str = "Proponent") -> Judged:
    return Judged(
        seen=1,
        seat=seat,
        round=number,
        slot_index=reading,
        winner=winner,
        margin=2,
        verdict="So it is.",
        reasoning="As said.",
        usage=simulation.build_usage(),
    )


def missed(seat: str = "Proponent", number: int = 1, reading: int = 0, detail: str = "x") -> Failed:
    return Failed(seen=1, seat=seat, round=number, slot_index=reading, cause="empty", detail=detail)


def concluded(winner: str = "") -> Concluded:
    return Concluded(outcome="undecided", winner=winner, verdict="None.", reasoning="", votes=())


OTHERS: list[Event] = [
    FIRST,
    spoke(),
    missed(),
    judged(),
    concluded(),
    NoteAdded(text="Mind the costs."),
    TalkConcluded(),
    Paused(reason="lunch"),
    Resumed(),
    Ended(ending="concluded", cause="max_rounds"),
]


def kind(event: Event) -> str:
    return event.kind


def keys(found: tuple[Slot, ...]) -> list[tuple[str, int]]:
    return [place.key for place in found]


def new() -> simulation.DebateSimulation:
    return simulation.simulate()


def in_round_1() -> simulation.DebateSimulation:
    return simulation.simulate().add_events(FIRST)


def at_the_judges() -> simulation.DebateSimulation:
    return simulation.simulate().play_to_round(3)


def over() -> simulation.DebateSimulation:
    return simulation.simulate().play()


(NO_FINDING,) = build_verdict_events(at_the_judges().debate)


def after(*given: Event) -> Callable[[], simulation.DebateSimulation]:
    """The first round, after these events."""
    return lambda: in_round_1().add_events(*given)


def judged_by(*given: Event) -> Callable[[], simulation.DebateSimulation]:
    """The judges' round, after these events."""
    return lambda: at_the_judges().add_events(*given)


def entered(*order: str) -> PhaseEntered:
    return FIRST.model_copy(update={"order": order})


OF_PROPONENT, OF_JUDGE = "of Proponent is open for it", "of judge 1 is open for it"
SKIPPED = simulation.build_phase_entered(new().debate, "opening", 2)
SHOUTING = simulation.build_phase_entered(new().debate, "shouting")
ILLEGAL: dict[str, tuple[Callable[[], simulation.DebateSimulation], Event, str]] = {
    "opened twice": (new, simulation.build_setup(), "opened already"),
    "a round left out": (new, SKIPPED, "follow one another"),
    "a round entered twice": (in_round_1, FIRST, "follow one another"),
    "an unknown phase": (new, SHOUTING, "no phase shouting"),
    "a stranger in the order": (new, entered("Proponent", "Opponent", "Stranger"), "order"),
    "a debater left out of the order": (new, entered("Proponent"), "order"),
    "judges in the order of a round of talk": (new, entered("judge 1"), "order"),
    "a turn before the first round": (new, spoke(number=0), OF_PROPONENT),
    "a turn of another round": (in_round_1, spoke(number=2), "for round 2 in round 1"),
    "a second turn in a round": (after(spoke()), spoke(text="More."), "is open for it"),
    "a stranger's turn": (in_round_1, spoke("Stranger"), "of Stranger is open for it"),
    "a judge who argues": (at_the_judges, spoke("judge 1", 3), OF_JUDGE),
    "a debater at the judges' table": (at_the_judges, spoke(number=3), OF_PROPONENT),
    "a turn of a seat that gave up": (after(missed(), missed()), spoke(), OF_PROPONENT),
    "a failure of a seat that answered": (after(spoke()), missed(), "is open for it"),
    "a third failure": (after(missed(), missed()), missed(), "is open for it"),
    "a failure of a stranger": (in_round_1, missed("Stranger"), "of Stranger is open for it"),
    "a judgment in a round of talk": (in_round_1, judged(number=1), OF_JUDGE),
    "a judgment by a debater": (in_round_1, judged("Proponent", number=1, reading=0), OF_PROPONENT),
    "a third reading": (at_the_judges, judged(reading=3), OF_JUDGE),
    "a reading given twice": (judged_by(judged()), judged(), OF_JUDGE),
    "a judgment for a stranger": (at_the_judges, judged(winner="Stranger"), "Stranger"),
    "a verdict for a stranger": (at_the_judges, concluded("Stranger"), "does not follow from the votes"),
    "a second verdict": (judged_by(NO_FINDING), concluded(), "a verdict already"),
    "a second pause": (after(Paused(reason="a")), Paused(reason="b"), "paused already"),
    "a resumption of what runs": (in_round_1, Resumed(), "not paused"),
}


@pytest.mark.parametrize("event", OTHERS, ids=kind)
def test_nothing_happens_before_a_debate_is_opened(event: Event) -> None:
    with pytest.raises(IllegalEvent, match="before the debate was opened"):
        apply(None, event)


@pytest.mark.parametrize("event", [simulation.build_setup(), *OTHERS], ids=kind)
def test_nothing_happens_after_the_end(event: Event) -> None:
    ended = over().debate
    with pytest.raises(IllegalEvent, match="after the end"):
        apply(ended, event)


@pytest.mark.parametrize("case", ILLEGAL)
def test_an_illegal_event_is_refused_and_nothing_changes(case: str) -> None:
    prepared, event, why = ILLEGAL[case]
    at_hand = prepared().debate
    before = deepcopy(at_hand)

    with pytest.raises(IllegalEvent, match=why):
        apply(at_hand, event)

    assert at_hand == before


def test_each_kind_of_event_does_what_it_says() -> None:
    at = simulation.simulate()
    at.add_events(FIRST)
    assert (at.debate.round, at.debate.phase) == (1, at.debate.setup.phases[0])
    at.add_events(spoke())
    assert at.debate.turns == (spoke(),)
    at.add_events(missed("Opponent"))
    assert at.debate.failures == at.debate.round_failures == (missed("Opponent"),)
    note = NoteAdded(text="Mind the costs.", round=1)
    at.add_events(note)
    assert at.debate.notes == (note,)
    pause = Paused(reason="lunch")
    at.add_events(pause)
    assert at.debate.paused == pause
    at.add_events(Resumed())
    assert at.debate.paused is None
    assert at.debate.round_failures == ()
    at.add_events(TalkConcluded())
    assert at.debate.is_concluding
    at.play_to_round(2).add_events(judged(number=2))
    assert at.debate.judgments == (judged(number=2),)
    (finished,) = build_verdict_events(at.debate)
    at.add_events(finished)
    assert at.debate.verdict == finished
    end = Ended(ending="concluded", cause="request")
    at.add_events(end)
    assert at.debate.ended == end
    assert at.debate.failures == (missed("Opponent"),)


def test_no_events_are_no_debate() -> None:
    with pytest.raises(IllegalEvent, match="without events"):
        replay([])


@pytest.mark.parametrize(
    ("judges", "expected"),
    [
        ({"count": 3}, [("judge 1", 1), ("judge 2", 2), ("judge 3", 1)]),
        ({"count": 1}, [("judge 1", 1), ("judge 1", 2)]),
        ({"both_orders": False}, [("judge 1", 1)]),
    ],
)
def test_several_judges_are_asked_for_one_reading_each_at_first_and_one_alone_for_both(
    judges: dict[str, int], expected: list[tuple[str, int]]
) -> None:
    at = simulation.simulate(simulation.build_setup(options={"judges": judges})).play_to_round(3)
    assert keys(round_slots(at.debate)) == expected


def test_turns_are_read_in_the_order_of_the_round_whoever_came_first() -> None:
    at = simulation.simulate(simulation.build_setup(debaters=simulation.build_debaters(3)))
    at.add_events(PhaseEntered(phase="opening", round=1, order=("Speaker 2", "Speaker 3", "Speaker 1")))
    at.add_events(spoke("Speaker 1"), spoke("Speaker 2"), spoke("Speaker 3"))
    assert [turn.seat for turn in at.debate.round_turns(1)] == ["Speaker 2", "Speaker 3", "Speaker 1"]
    assert [turn.seat for turn in at.debate.turns] == ["Speaker 1", "Speaker 2", "Speaker 3"]


def test_what_was_paid_for_is_counted_even_where_it_was_useless() -> None:
    def script(call: object) -> str:
        return "" if "0.1" in str(call) else simulation.render_finding()

    at = simulation.simulate(script=script).play_to_round(1).play(lambda debate: len(debate.failures) > 0)
    assert len(at.debate.failures) == len(at.debate.usage) == 2
