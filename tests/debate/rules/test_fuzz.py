"""Anything may be thrown at a debate: it is refused and nothing changes, or every promise still holds."""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.answers import Lookup, Researched
from server.debate.facts.errors import IllegalEvent
from server.debate.facts.events import (
    Balloted,
    Event,
    Failed,
    Judged,
    Paused,
    PositionsFramed,
    Recorded,
    Resumed,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
)
from server.debate.facts.interventions import (
    Challenged,
    NoteAdded,
    OutcomeRecorded,
    PositionsRevised,
    Tagged,
    ThresholdChanged,
    TurnRetracted,
    Untagged,
    WeightsChanged,
)
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import CALLER
from server.debate.interventions.positions import PositionsDeclined
from server.debate.machine.decide import Ask, Over, Record, Wait, decide, status
from server.debate.machine.kinds import load
from server.debate.machine.render import render
from server.debate.machine.transitions import apply, replay
from server.debate.rules.calls import Call, pending_calls
from server.debate.rules.schedule import Slot, open_slots
from server.debate.seats.referee import Audited
from server.debate.state.debate import Debate
from server.debate.views.events import build_event_row
from server.debate.views.markdown import render_transcript, render_verdict
from server.debate.views.rounds import build_analysis, build_round, list_tasks
from server.debate.views.state import StoredDebate, build_state, visible_turns
from server.debate.views.verdict import build_result
from tests.support.event_strategies import EVENTS_BY_SETUP, SETUPS, any_answer
from tests.support.searches import search_briefly
from tests.support.simulation import DebateSimulation, acceptable_calls, build_usage

pytestmark = pytest.mark.requirement("N8")

Answered = RoundOpened | Spoke | Researched | Failed | Audited | RoundClosed | Balloted | Judged | Synthesized


def sequence(kind: str, draw: st.DataObject) -> Iterator[tuple[Debate | None, Event]]:
    """Events that follow from the debate, mostly, and others; each with the debate before it."""
    debate: Debate | None = None
    for _ in range(draw.draw(st.integers(1, 50))):
        follow = draw.draw(st.integers(0, 5)) > 0
        event: Event
        if debate is None:
            event = SETUPS[kind] if follow else draw.draw(EVENTS_BY_SETUP[kind])
        elif follow and debate.paused and draw.draw(st.booleans()):
            event = Resumed()
        elif follow and acceptable_calls(debate):
            call = draw.draw(st.sampled_from(acceptable_calls(debate)))
            seeks = draw.draw(st.integers(0, 20)) == 0
            event = looked_up(call) if seeks else DebateSimulation(debate, any_answer(draw)).answer(call)
        elif follow and isinstance(step := decide(debate), Record):
            event = step.events[0]
        else:
            event = draw.draw(EVENTS_BY_SETUP[kind])
        yield debate, event
        try:
            debate = apply(debate, event)
        except IllegalEvent:
            continue


def looked_up(call: Call) -> Researched:
    found = (Lookup(tool="a/b", arguments="{}", result="x"),)
    return Researched(
        seat=call.seat,
        round=call.round,
        slot_index=call.slot_index,
        seen=call.seen,
        lookups=found,
        usage=build_usage(),
    )


@pytest.mark.parametrize("kind", SETUPS)
@given(draw=st.data())
@search_briefly(25)
def test_an_event_is_refused_and_changes_nothing_or_every_promise_holds(
    kind: str, draw: st.DataObject
) -> None:
    accepted: list[Event] = []
    for before, event in sequence(kind, draw):
        at_hand = deepcopy(before)
        try:
            after = apply(before, event)
        except IllegalEvent:
            assert before == at_hand
            continue
        assert before == at_hand
        accepted.append(event)
        assert after.version == len(accepted)
        if before is not None:
            check_step(before, event, after)
        check_promises(after)
    if accepted:
        assert replay(accepted) == after
        check_views(after, accepted)


def keys(places: Sequence[Slot]) -> set[tuple[str, int]]:
    return {place.key for place in places}


def place_of(event: Answered) -> tuple[str, int]:
    return event.seat, event.slot_index


def check_step(before: Debate, event: Event, after: Debate) -> None:
    assert before.ended is None or isinstance(event, Tagged | Untagged | OutcomeRecorded)
    if isinstance(event, PositionsFramed | PositionsRevised):
        assert not after.rounds
        fields = {"debaters", "labels", "framing"}
        assert before.setup.model_dump(exclude=fields) == after.setup.model_dump(exclude=fields)
    elif isinstance(event, PositionsDeclined):
        assert after.setup == before.setup.model_copy(update={"run": False})
    else:
        assert before.setup == after.setup
    for name in ("rounds", "transcript_events", "handoffs", "research", "ballots", "judgments", "failures"):
        was, now = getattr(before, name), getattr(after, name)
        if isinstance(event, TurnRetracted):  # takes back the votes that were given with the turn
            was = tuple(entry for entry in was if entry not in after.superseded)
        assert now[: len(was)] == was
    assert before.verdict in (None, after.verdict)
    assert before.deliverable in (None, after.deliverable)
    if isinstance(event, Paused | NoteAdded | Challenged | WeightsChanged | ThresholdChanged):
        assert open_slots(after) == open_slots(before)
    if isinstance(event, Answered):
        assert event.seen <= before.version
        place = place_of(event)
        assert place in {call.slot_key for call in acceptable_calls(before)}
        assert event.round == before.round
        if place in keys(open_slots(before)) and keys(open_slots(before)) != {place}:
            assert keys(open_slots(before)) - keys(open_slots(after)) <= {place}
        if isinstance(event, Researched):
            assert place in {call.slot_key for call in acceptable_calls(after)}
        elif not isinstance(event, Failed):
            assert place not in {call.slot_key for call in acceptable_calls(after)}


def once(facts: Sequence[object], *fields: str) -> bool:
    counted = Counter(tuple(getattr(fact, field) for field in fields) for fact in facts)
    return max(counted.values(), default=1) == 1


def check_promises(debate: Debate) -> None:
    assert once(debate.turns, "seat", "round", "slot_index")
    assert once(debate.judgments, "seat", "slot_index", "round")
    assert once(debate.ballots, "seat", "round")
    for facts in (debate.round_plans, debate.round_summaries, debate.find_readings(Audited), debate.handoffs):
        assert once(facts, "round")
    assert not debate.setup.max_turns or len(debate.turns) <= debate.max_turns
    assert all(closed.decision for closed in debate.round_summaries if closed.settled)
    assert all(turn.seat not in (turn.to, turn.hands_to) for turn in debate.turns)
    for turn in debate.turns:
        asked = [
            (t.seat, t.to) for t in debate.round_turns(turn.round) if t.act not in ("argument", "answer")
        ]
        assert turn.act != "answer" or (turn.to, turn.seat) in asked
    assert debate.answered_slots.isdisjoint(keys(open_slots(debate)))
    assert [entered.round for entered in debate.rounds] == list(range(1, debate.round + 1))
    check_decision(debate)


def check_decision(debate: Debate) -> None:
    match decide(debate):
        case Record(events):
            assert events
            assert not debate.paused
            assert replay(events, debate).version == debate.version + len(events)
        case Ask(calls):
            assert calls
            assert not debate.paused
            assert all(call.model != CALLER for call in calls)
            assert {call.key for call in calls} <= {call.key for call in acceptable_calls(debate)}
            assert len({call.key for call in calls}) == len(calls)
            for call in calls:
                assert render(debate, call).messages
        case Wait(reason) if debate.paused:
            assert debate.paused.reason == reason
        case Wait(reason):
            assert status(debate) == "waiting"
            assert all(call.model == CALLER and call.seat in reason for call in pending_calls(debate))
        case Over(ended):
            assert debate.ended == ended
            assert acceptable_calls(debate) == pending_calls(debate) == ()


def check_views(debate: Debate, accepted: list[Event]) -> None:
    """Whatever was accepted can be stored, read back and shown."""
    assert [load(event.model_dump(mode="json")) for event in accepted] == accepted
    log = [Recorded(seq, "2026-12-01T10:00:00.000Z", "x", "0" * 64, e) for seq, e in enumerate(accepted, 1)]
    state = build_state(StoredDebate("d", debate, tuple(log)))
    assert state["entries"] == len(accepted)
    assert bool(state["awaiting"]) <= (not debate.ended)
    assert len(visible_turns(debate)) == len(debate.turns)
    assert build_result(debate)["rounds"] == debate.held_round_count
    assert len(build_analysis(debate)["rounds"]) == debate.round
    assert sum(row["state"] == "failed" for row in list_tasks(debate)) == len(debate.all_failures)
    assert all(build_event_row(debate, entry)["names"] for entry in log)
    assert render_transcript(debate, log).startswith("# ")
    assert render_verdict(debate).startswith("## ")
    for number in range(1, debate.round + 1):
        assert build_round(debate, number)["round"] == number


@pytest.mark.parametrize("kind", SETUPS)
@given(draw=st.data())
@search_briefly(25)
def test_a_debate_whose_models_answer_anything_ends_or_pauses_or_waits(
    kind: str, draw: st.DataObject
) -> None:
    at = DebateSimulation(replay([SETUPS[kind]]), any_answer(draw))
    for _ in range(150):
        if not at.step():
            if at.status != "waiting" or draw.draw(st.integers(0, 9)) == 0:
                break
            at.add_events(at.answer(pending_calls(at.debate)[0]))
    assert at.status in endings(SETUPS[kind])
    check_promises(at.debate)


def endings(opened: Opened) -> set[str]:
    waits = CALLER in {debater.model for debater in opened.debaters}
    return {"concluded", "paused", "waiting"} if waits else {"concluded", "paused"}
