"""Anything may be thrown at a debate: it is refused and nothing changes, or every promise still holds."""

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.debate import markdown, views
from server.debate.events import (
    Concluded,
    Ended,
    Event,
    Failed,
    Intervened,
    Judged,
    Opened,
    Paused,
    PhaseEntered,
    Recorded,
    Resumed,
    Spoke,
    load,
)
from server.debate.prompts import render
from server.debate.rules import Ask, Call, Over, Record, Wait, decide, wanted
from server.debate.state import Debate, IllegalEvent, apply, open_seats, replay
from tests.debate.playing import (
    BOUNDED,
    Answer,
    Fails,
    Script,
    Table,
    debaters,
    entered,
    finding,
    paid,
    setup,
    talk,
)

pytestmark = pytest.mark.requirement("N8")

SETUPS = (
    setup(debaters=debaters(3), max_rounds=2, options={"judges": {"count": 2}}),
    setup(format="verdict", max_rounds=3),
)
SEATS = st.sampled_from(
    ["Speaker 1", "Speaker 2", "Speaker 3", "Proponent", "Opponent", "judge 1", "judge 2", "x"]
)
ROUNDS = st.integers(0, 4)
WINNERS = st.sampled_from(["", "Speaker 1", "Proponent", "x"])
CAUSES = st.sampled_from(["timeout", "empty", "unreadable"])
BAD = (None, None, None, "", "{}", Fails("timeout"))  # None: a good answer


def phases(opened: Opened) -> st.SearchStrategy[Event]:
    """Rounds, most of them well made."""
    debate = replay([opened])
    names = [phase.name for phase in opened.phases]
    made = st.builds(
        lambda name, number: entered(debate, name, number or None), st.sampled_from(names), ROUNDS
    )
    return made | st.builds(
        PhaseEntered,
        phase=st.sampled_from([*names, "x"]),
        round=ROUNDS,
        order=st.lists(SEATS, max_size=3).map(tuple),
    )


def events(opened: Opened) -> st.SearchStrategy[Event]:
    """Any event at all, whether it can happen or not."""
    usage = st.just(paid())
    return st.one_of(
        phases(opened),
        st.builds(Spoke, seat=SEATS, round=ROUNDS, text=st.just("x"), usage=usage),
        st.builds(
            Failed, seat=SEATS, round=ROUNDS, cause=CAUSES, detail=st.just("x"), reading=st.integers(0, 2)
        ),
        st.builds(
            Judged,
            seat=SEATS,
            round=ROUNDS,
            reading=st.integers(0, 3),
            winner=WINNERS,
            margin=st.integers(0, 3),
            verdict=st.just("x"),
            reasoning=st.just("x"),
            usage=usage,
        ),
        st.builds(
            Concluded,
            outcome=st.just("decided"),
            winner=WINNERS,
            verdict=st.just("x"),
            reasoning=st.just("x"),
            votes=st.just(()),
        ),
        st.builds(
            Intervened,
            action=st.sampled_from(["inject", "conclude"]),
            text=st.just("x"),
            round=ROUNDS,
            to=st.sampled_from(["", "Speaker 1", "Proponent"]),
        ),
        st.builds(Paused, reason=st.just("x")),
        st.builds(Resumed),
        st.builds(Ended, ending=st.sampled_from(["concluded", "truncated"]), reason=st.just("x")),
        st.just(opened),
    )


ANYTHING = {opened.format: events(opened) for opened in SETUPS}


def any_answer(draw: st.DataObject) -> Script:
    """Half of the answers are good: a turn, or a finding for one of the sides."""

    def script(call: Call) -> Answer:
        answer = draw.draw(st.sampled_from(BAD))
        if answer is not None:
            return answer
        return finding(draw.draw(st.sampled_from(["A", "B", None]))) if call.reading else talk(call)

    return script


def sequence(opened: Opened, draw: st.DataObject) -> Iterator[tuple[Debate | None, Event]]:
    """Events that follow from the debate, mostly, and others; each with the debate before it."""
    debate: Debate | None = None
    for _ in range(draw.draw(st.integers(1, 40))):
        follow = draw.draw(st.integers(0, 3)) > 0
        event: Event
        if debate is None:
            event = opened if follow else draw.draw(ANYTHING[opened.format])
        elif follow and wanted(debate):
            event = Table(debate, any_answer(draw)).answer(draw.draw(st.sampled_from(wanted(debate))))
        elif follow and isinstance(step := decide(debate), Record):
            event = step.events[0]
        else:
            event = draw.draw(ANYTHING[opened.format])
        yield debate, event
        try:
            debate = apply(debate, event)
        except IllegalEvent:
            continue


@given(st.sampled_from(SETUPS), st.data())
@settings(BOUNDED, max_examples=120)
def test_an_event_is_refused_and_changes_nothing_or_every_promise_holds(
    opened: Opened, draw: st.DataObject
) -> None:
    accepted: list[Event] = []
    for before, event in sequence(opened, draw):
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


def check_step(before: Debate, event: Event, after: Debate) -> None:
    assert before.ended is None
    assert before.setup == after.setup
    assert after.talk[: len(before.talk)] == before.talk
    assert after.judged[: len(before.judged)] == before.judged
    assert after.failures[: len(before.failures)] == before.failures
    assert before.verdict in (None, after.verdict)
    if isinstance(event, (Spoke, Judged, Failed)):
        place = (event.seat, getattr(event, "reading", 0))
        assert place in open_seats(before)
        assert set(open_seats(before)) - set(open_seats(after)) <= {place}
        assert set(open_seats(after)) <= set(open_seats(before))
        assert isinstance(event, Failed) or place not in open_seats(after)
    if isinstance(event, (Paused, Intervened)):
        assert open_seats(after) == open_seats(before)


def check_promises(debate: Debate) -> None:
    assert max(Counter((turn.seat, turn.round) for turn in debate.turns).values(), default=1) == 1
    assert max(Counter((j.seat, j.reading, j.round) for j in debate.judged).values(), default=1) == 1
    assert debate.heard.isdisjoint(open_seats(debate))
    assert [entered.round for entered in debate.rounds] == list(range(1, debate.round + 1))
    match decide(debate):
        case Record(events):
            assert events
            assert not debate.paused
            assert replay(events, debate).version == debate.version + len(events)
        case Ask(calls):
            assert calls
            assert not debate.paused
            assert {call.key for call in calls} <= {call.key for call in wanted(debate)}
            assert len({call.key for call in calls}) == len(calls)
            for call in calls:
                assert render(debate, call).messages
        case Wait(reason):
            assert debate.paused
            assert debate.paused.reason == reason
        case Over(ended):
            assert debate.ended == ended
            assert wanted(debate) == ()


def check_views(debate: Debate, accepted: list[Event]) -> None:
    """Whatever was accepted can be stored, read back and shown."""
    assert [load(event.model_dump(mode="json")) for event in accepted] == accepted
    log = [Recorded(seq, "2026-12-01T10:00:00.000Z", "x", "0" * 64, e) for seq, e in enumerate(accepted, 1)]
    assert views.state("d", debate, log).entries == len(accepted)
    assert len(views.turns(debate)) == len(debate.turns)
    assert views.raw_result(debate)["rounds"] == debate.talk_rounds
    assert len(views.analysis(debate)["rounds"]) == debate.round
    assert markdown.transcript(debate, log).startswith("# ")
    assert len(markdown.verdict(debate)) < markdown.VERDICT_LIMIT
    for number in range(1, debate.round + 1):
        assert views.round_view(debate, number)["round"] == number


@given(st.sampled_from(SETUPS), st.data())
@settings(BOUNDED, max_examples=100)
def test_a_debate_whose_models_answer_anything_comes_to_an_end_or_to_a_pause(
    opened: Opened, draw: st.DataObject
) -> None:
    at = Table(replay([opened]), any_answer(draw))
    for _ in range(60):
        if not at.step():
            break
    assert at.debate.status in ("concluded", "paused")
