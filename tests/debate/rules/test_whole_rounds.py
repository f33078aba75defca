"""A budget never cuts inside a round: a round of talk begins when all of it can be paid for."""

import json
from typing import Any

import pytest

from server.debate.commands.setup.open import open_debate
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Ended, Paused
from server.debate.facts.interventions import LimitsChanged, TalkConcluded
from server.debate.facts.setup.limits import Limits, Price
from server.debate.machine.decide import Ask, decide
from server.debate.replies.extract import Reply
from server.debate.rules.budget import compute_spending
from server.debate.rules.calls import Call
from server.debate.views.state import status_reason
from server.debate.views.verdict import build_verdict
from tests.support.pairwise import parametrize_pairwise
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_request,
    build_setup,
    build_usage,
    default_script,
    simulate,
)

pytestmark = pytest.mark.requirement("N10")


def open_panel(format: str = "verdict", count: int = 3, **fields: Any) -> Any:  # noqa: A002
    limits = fields.pop("limits")
    options = {"limits": limits, **fields.pop("options", {})}
    return build_setup(format=format, debaters=build_debaters(count), max_rounds=4, options=options, **fields)


def turns_by_round(at: DebateSimulation) -> list[int]:
    numbers = [turn.round for turn in at.debate.turns]
    return [numbers.count(number) for number in sorted(set(numbers))]


@parametrize_pairwise(
    most={str(most): most for most in (11, 16, 24)},
    name={name: name for name in ("advocates", "verdict", "settle", "round_robin", "oxford", "full")},
    officers={
        "none": {},
        "referee": {"referee": True},
        "moderator": {"moderator": {"opens": True, "closes": True}},
    },
)
def test_no_budget_of_calls_leaves_a_round_with_a_turn_short(name: str, most: int, officers: Any) -> None:
    try:
        opened = open_panel(name, limits={"max_calls": most}, options=officers)
    except InvalidRequestError as refused:
        assert "do not allow one round of talk" in str(refused)  # noqa: PT017  (some of them are too small)
        return
    if officers.get("moderator"):
        everybody = {"next_speakers": ["A", "B", "C"], "briefing": None, "new_angle": None, "done": False}
        at = simulate(
            opened, lambda c: json.dumps(everybody) if c.task == "opening" else default_script(c)
        ).play()
    else:
        at = simulate(opened).play()

    assert at.status == "concluded"
    assert compute_spending(at.debate).calls == len(at.calls_made) <= most
    assert set(turns_by_round(at)) <= {3, 6}


def test_why_no_other_round_began_is_recorded_and_said() -> None:
    at = simulate(open_panel(limits={"max_calls": 9})).play()

    (concluded,) = at.debate.find_interventions(TalkConcluded)
    assert (concluded.cause, concluded.round) == ("budget", 2)
    assert concluded.reason == status_reason(at.debate)
    assert status_reason(at.debate).startswith(
        "budget: 6 of 9 calls spent, and 2 calls reserved for the verdict"
    )
    assert status_reason(at.debate).endswith("too few for the 3 calls of another round")
    assert turns_by_round(at) == [3, 3]
    assert not any("uneven" in caution for caution in build_verdict(at.debate).cautions)


def test_where_a_budget_pauses_it_pauses_between_two_rounds() -> None:
    at = simulate(open_panel(limits={"max_calls": 9, "on_budget": "pause"})).play()

    assert (at.status, at.debate.round, turns_by_round(at)) == ("paused", 2, [3, 3])
    effect = at.intervene("extend", limits={"max_calls": 10})
    assert "Resume the debate now" not in effect
    assert "leave no room" in effect
    assert "Resume the debate now" in at.intervene("extend", limits={"max_calls": 11})
    at.intervene("resume")
    at.play_to_round(3).play()
    assert turns_by_round(at) == [3, 3, 3]


@pytest.mark.parametrize(
    "limits", [{"max_input_tokens": 30_000}, {"max_output_tokens": 6_000}, {"max_cost_usd": 0.5}]
)
def test_tokens_and_money_are_estimated_for_a_whole_round(limits: dict[str, Any]) -> None:
    request = build_request(
        format="verdict", debaters=build_debaters(4), max_rounds=20, options={"limits": limits}
    )
    opened = open_debate(
        request,
        models=["m"],
        seed=1,
        find_price=lambda model: Price(model=model, input="0.00001", output="0.00005"),
    )

    def answer(call: Call) -> ScriptAnswer:
        text = str(default_script(call)) + (" word" * 300 if call.task == "argument" else "")
        used = build_usage(cost="0.02")
        return Reply(text, used.model_copy(update={"input_tokens": 1_000, "output_tokens": 300}))

    at = simulate(opened, answer).play()

    assert at.status == "concluded"
    assert status_reason(at.debate).startswith("budget: ")
    assert set(turns_by_round(at)) == {4}


@pytest.mark.parametrize("most", [15_000, 27_000])
def test_turns_that_later_speakers_quote_are_part_of_the_estimate(most: int) -> None:
    options = {"limits": {"max_input_tokens": most}}
    opened = build_setup(format="verdict", debaters=build_debaters(4), max_rounds=20, options=options)
    at = simulate(opened)

    def answer(call: Call) -> ScriptAnswer:
        text = "word " * 400 if call.task == "argument" else str(default_script(call))
        tokens = {"input_tokens": 700 + 500 * len(at.debate.turns), "output_tokens": 500}
        return Reply(text, build_usage().model_copy(update=tokens))

    at.script = answer
    at.play()

    assert (at.status, set(turns_by_round(at))) == ("concluded", {4})
    assert compute_spending(at.debate).input_tokens <= most


def test_limits_that_are_lowered_before_anybody_spoke_end_the_debate_without_a_call() -> None:
    at = simulate(open_panel(limits={"max_calls": 9}))
    at.add_events(LimitsChanged(limits=Limits(max_calls=4))).play()
    assert (at.status, at.calls_made) == ("truncated", [])
    assert isinstance(at.events[-1], Ended)

    at = simulate(open_panel(limits={"max_calls": 9, "on_budget": "pause"}))
    at.add_events(LimitsChanged(limits=Limits(max_calls=4, on_budget="pause"))).play()
    assert isinstance(at.events[-1], Paused)
    assert status_reason(at.debate).endswith("Extend the limits.")


def test_a_moderator_who_calls_more_speakers_than_can_be_paid_for_ends_the_talk_before_they_speak() -> None:
    def script(call: Call) -> ScriptAnswer:
        names = ["A", "B", "C"] * (2 if call.round == 2 else 1)
        plan = {"next_speakers": names, "briefing": None, "new_angle": None, "done": False}
        return json.dumps(plan) if call.task == "opening" else default_script(call)

    at = simulate(open_panel(limits={"max_calls": 12}, options={"moderator": {"opens": True}}), script).play()

    assert at.status == "concluded"
    assert turns_by_round(at) == [3]
    assert at.debate.held_round_count == 1


def test_retries_of_one_seat_leave_the_others_of_the_round_their_calls() -> None:
    at = simulate(open_panel(limits={"max_calls": 6})).play_to_round(1)
    step = decide(at.debate)

    assert isinstance(step, Ask)
    assert ([call.seat for call in step.calls], step.max_in_flight) == (["Speaker 1"], 2)


def test_failures_in_a_round_may_still_cut_it_and_the_verdict_says_so() -> None:
    def script(call: Call) -> ScriptAnswer:
        if (call.seat, call.round, call.attempt) == ("Speaker 1", 2, 1):
            return ""
        if (call.seat, call.round) == ("Speaker 2", 2):
            return ProviderFailure("unavailable")
        return default_script(call)

    at = simulate(open_panel(limits={"max_calls": 8}), script).play()

    assert at.status == "concluded"
    assert turns_by_round(at) == [3, 1]
    assert any(
        caution.startswith("A budget cut the talk, and turns are uneven")
        for caution in build_verdict(at.debate).cautions
    )
