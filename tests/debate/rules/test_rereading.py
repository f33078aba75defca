"""How often judges read: several once each, turned against each other, and again where that leaves a doubt."""

from collections.abc import Mapping
from typing import Any

import pytest

from server.debate.facts.events import Judged
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.state.labels import order_sides
from server.debate.views.awaited import awaited_turns
from server.debate.votes.panel import list_wanted_readings
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_setup,
    build_usage,
    default_script,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("N2")

MODELS = ("openai/gpt-5", "anthropic/claude", "mistral/large")
LOST = ProviderFailure("timeout")


def hold(said: Mapping[int, Any], judges: int = 2, **panel: Any) -> DebateSimulation:
    """A debate whose judges say this, by their number: one answer for all readings, or a list with one for each."""

    def script(call: Call) -> ScriptAnswer:
        if not call.reading:
            return default_script(call)
        answer = said.get(int(call.seat[-1]), FOR)
        answers = answer if isinstance(answer, list) else [answer] * 2
        found: ScriptAnswer = answers[call.reading - 1]
        return found

    options = {"judges": {"models": list(MODELS[:judges]), **panel}}
    return simulate(build_setup(options=options), script).play()


FOR, AGAINST = render_finding("A1"), render_finding("B1")


def list_read(at: DebateSimulation) -> list[tuple[str, int]]:
    return [(judged.seat, judged.slot_index) for judged in at.debate.judgments]


@pytest.mark.parametrize("judges", [2, 3])
def test_several_who_agree_read_once_each_and_turned_against_each_other(judges: int) -> None:
    at = hold({}, judges)
    assert list_read(at) == [("judge 1", 1), ("judge 2", 2), ("judge 3", 1)][:judges]
    assert at.debate.verdict is not None
    assert at.debate.verdict.outcome == "decided"
    firsts = [next(iter(order_sides(at.debate, one.slot_index))) for one in at.debate.judgments[:2]]
    assert firsts == ["A1", "A1"]
    sides = [order_sides(at.debate, one.slot_index)["A1"] for one in at.debate.judgments[:2]]
    assert sides == ["Proponent", "Opponent"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({1: AGAINST}, "they differ"),
        ({2: render_finding("A1", 0)}, "one is close"),
        ({1: render_finding(None), 2: render_finding(None)}, "nobody names a side"),
        ({2: render_finding(None, recommendation="Neither.")}, "one advises something else"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_all_read_again_where_the_first_readings_leave_a_doubt(said: Mapping[int, str], why: str) -> None:
    assert why
    assert {*list_read(hold(said))} == {(f"judge {seat}", number) for seat in (1, 2) for number in (1, 2)}


def test_who_agrees_only_in_the_same_order_reads_again() -> None:
    at = hold({2: LOST}, 3)
    assert {*list_read(at)} == {("judge 1", 1), ("judge 1", 2), ("judge 3", 1), ("judge 3", 2)}
    assert at.debate.verdict is not None
    assert [vote.abstains for vote in at.debate.verdict.votes] == ["", "gave no usable answer", ""]


def test_a_failed_judge_does_not_have_two_others_who_agree_in_both_orders_read_again() -> None:
    assert list_read(hold({3: LOST}, 3)) == [("judge 1", 1), ("judge 2", 2)]


def test_a_model_too_small_to_judge_is_not_asked_again() -> None:
    tiny = Reply(FOR, build_usage("local"), informative=False)
    at = hold({1: tiny})
    assert list_read(at) == [("judge 1", 1), ("judge 2", 2), ("judge 2", 1)]
    assert at.debate.verdict is not None
    assert [vote.abstains for vote in at.debate.verdict.votes] == ["is too small a model to judge", ""]


def test_one_judge_alone_reads_twice_at_once() -> None:
    assert list_read(hold({}, 1)) == [("judge 1", 1), ("judge 1", 2)]


@pytest.mark.parametrize("said", [{}, {1: AGAINST}])
def test_judges_who_are_to_read_in_one_order_read_once(said: Mapping[int, str]) -> None:
    assert list_read(hold(said, both_orders=False)) == [("judge 1", 1), ("judge 2", 1)]


def test_second_readings_are_asked_for_once_all_first_ones_are_in() -> None:
    at = hold({1: AGAINST})
    facts = [(fact.seat, fact.slot_index) for fact in at.events if isinstance(fact, Judged)]
    assert facts == [("judge 1", 1), ("judge 2", 2), ("judge 1", 2), ("judge 2", 1)]
    [first, second] = [fact for fact in at.events if isinstance(fact, Judged)][1:3]
    assert second.seen > first.seen


@pytest.mark.parametrize("other", [FOR, AGAINST])
def test_a_second_reading_under_way_while_another_judge_is_asked_again_is_taken_whenever_it_comes(
    other: str,
) -> None:
    def script(call: Call) -> ScriptAnswer:
        if call.seat == "judge 2" and not is_back:
            return LOST
        return (other if call.seat == "judge 2" else FOR) if call.reading else default_script(call)

    is_back, ends = False, []
    for is_late in (False, True):
        is_back = False
        at = simulate(build_setup(options={"judges": {"models": list(MODELS[:2])}}), script)
        at.play(lambda debate: bool(debate.judgments) and debate.round_failures != ())
        under_way = at.answer(at.due_calls()[0])
        at.intervene("pause")
        is_back = True
        at.intervene("resume")
        at.add_events(*[at.answer(call) for call in at.due_calls() if is_late], under_way)
        at.play()
        assert at.debate.verdict is not None
        ends.append((at.debate.verdict, {*list_read(at)}))
    assert ends[0] == ends[1]
    assert {*ends[0][1]} >= {("judge 1", 1), ("judge 1", 2), ("judge 2", 2)}


def test_the_judges_of_a_mirror_read_by_the_same_rule() -> None:
    def script(call: Call) -> ScriptAnswer:
        return (FOR if call.seat == "judge 1" else AGAINST) if call.reading else default_script(call)

    asked = build_setup(options={"judges": {"models": list(MODELS[:2])}, "mirror": True})
    at = simulate(asked, default_script).play()
    mirror = at.play_mirror(script)
    assert len(mirror.debate.judgments) == 4
    assert list_wanted_readings(at.debate) == {
        "judge 1": (1,),
        "judge 2": (2,),
        "mirror judge 1": (1, 2),
        "mirror judge 2": (2, 1),
    }
    assert at.play().status == "concluded"
    assert len(at.debate.judgments) == 2


def list_awaited(at: DebateSimulation) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.reading) for turn in awaited_turns(at.debate)]


def test_who_judges_by_hand_is_told_which_reading_is_wanted() -> None:
    def script(call: Call) -> ScriptAnswer:
        return (FOR if call.seat == "judge 1" else AGAINST) if call.reading else default_script(call)

    def begin(count: int, **panel: Any) -> DebateSimulation:
        asked = build_setup(options={"judges": {"models": ["caller"] * count, **panel}})
        return simulate(asked, script).play()

    assert list_awaited(begin(1)) == [("judge 1", "1 of 2"), ("judge 1", "2 of 2")]
    assert list_awaited(begin(1, both_orders=False)) == [("judge 1", "")]
    at = begin(2)
    assert list_awaited(at) == [("judge 1", "1"), ("judge 2", "1")]
    at.add_events(*[at.answer(call) for call in at.due_calls()])
    assert list_awaited(at) == [("judge 1", "2 of 2"), ("judge 2", "2 of 2")]
