"""Budgets are hard: what is there is judged, and nothing is asked that there is no room for."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from server.debate.commands.setup.estimate import estimate
from server.debate.commands.setup.open import open_debate
from server.debate.facts.answers import Usage
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.interventions import LimitsChanged
from server.debate.facts.setup.limits import Limits, Price
from server.debate.machine.decide import Ask, Record, decide
from server.debate.replies.extract import Reply
from server.debate.rules.budget import (
    compute_limit_remaining,
    compute_remaining,
    compute_spending,
    count_reserved_calls,
    count_tokens_left,
    estimate_next_call,
)
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.views.events import build_interventions
from server.debate.views.progress import estimate_line
from server.debate.views.state import status_reason, sum_usage
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


def limited(**limits: Any) -> dict[str, Any]:
    return {"limits": limits}


def priced(cost: str) -> Any:
    return lambda model: Price(model=model, input=cost, output=cost)


def asked(at: DebateSimulation) -> int:
    return len(at.calls_made)


class TestCalls:
    def test_together_only_as_many_are_asked_as_there_is_room_for(self) -> None:
        at = simulate(build_setup(debaters=build_debaters(4))).play_to_round(1)
        at.add_events(LimitsChanged(limits=Limits(max_calls=5)))
        step = decide(at.debate)
        assert isinstance(step, Ask)
        assert (len(step.calls), step.max_in_flight) == (4, 3)

    def test_what_the_moderator_decides_with_is_reserved_once(self) -> None:
        at = simulate(build_setup(format="settle", max_rounds=3)).play_to_round(1)
        at.add_events(LimitsChanged(limits=Limits(max_calls=5)))
        first = decide(at.debate)
        closing = decide(at.play(lambda debate: len(debate.turns) == 2).debate)
        assert isinstance(first, Ask)
        assert isinstance(closing, Ask)
        assert (first.calls[0].task, first.max_in_flight) == ("argument", 3)  # less a turn and the decision
        assert (closing.calls[0].task, closing.max_in_flight) == ("closing", 3)

    def test_a_round_that_uses_up_the_turns_is_paid_for_as_short_as_it_is(self) -> None:
        limits = limited(max_turns=3, max_calls=5)
        at = simulate(build_setup(format="settle", max_rounds=3, options=limits)).play()
        assert (len(at.debate.turns), at.status, status_reason(at.debate)) == (
            3,
            "concluded",
            "max_turns: the last turn was spoken",
        )

    def test_failures_and_bad_replies_count(self) -> None:
        def silent(call: Call) -> ScriptAnswer:
            return "" if call.seat == "Speaker 1" else default_script(call)

        at = simulate(
            build_setup(debaters=build_debaters(3), max_rounds=4, options=limited(max_calls=12)), silent
        ).play()
        assert asked(at) <= 12
        assert compute_spending(at.debate).calls == asked(at)

    def test_a_failure_that_was_never_sent_costs_nothing(self) -> None:
        at = simulate().play_to_round(1)
        at.script = lambda _: ProviderFailure("unavailable")
        failure = at.answer(at.pending_calls()[0]).model_copy(update={"attempts": 0})
        assert compute_spending(at.add_events(failure).debate).calls == 0


class TestDeciding:
    def test_what_the_judges_take_is_kept_back(self) -> None:
        opened = build_setup(options={"judges": {"count": 3}, "output_schema": {}})
        assert count_reserved_calls(simulate(opened).debate) == 3 * 2 + 1 + 1
        assert count_reserved_calls(simulate(build_setup(format="settle")).debate) == 1
        assert (
            count_reserved_calls(simulate(build_setup(options={"phases": ["opening", "voting"]})).debate) == 2
        )
        assert count_reserved_calls(simulate(opened).play_to_round(3).debate) == 1

    def test_findings_that_are_there_decide_when_there_is_room_for_no_more(self) -> None:
        at = simulate().play_to_round(3)
        first, second = at.pending_calls()
        at.add_events(at.answer(first), LimitsChanged(limits=Limits(max_calls=5)))
        assert isinstance(decide(at.debate), Record)
        at.play()
        assert (at.status, asked(at)) == ("concluded", 4)
        assert second.slot_key not in at.debate.answered_slots

    def test_without_any_the_debate_pauses_and_what_was_said_is_not_lost(self) -> None:
        at = simulate().play_to_round(3).add_events(LimitsChanged(limits=Limits(max_calls=4))).play()
        assert at.status == "paused"
        assert status_reason(at.debate) == "budget: 4 of 4 calls spent. Extend the limits."
        at.intervene("extend", limits={"max_calls": 9})
        at.intervene("resume")
        assert at.play().status == "concluded"

    def test_a_talk_in_which_nothing_was_said_has_nothing_to_judge(self) -> None:
        at = simulate().play_to_round(1).add_events(LimitsChanged(limits=Limits(max_calls=1))).play()
        assert at.status == "truncated"

    def test_a_verdict_stands_where_there_is_no_room_for_the_result_that_was_to_be_made_of_it(self) -> None:
        at = simulate(build_setup(options={"synthesizer": True})).play_to_round(4)
        assert at.debate.verdict
        at.add_events(LimitsChanged(limits=Limits(max_calls=6))).play()
        assert (at.status, status_reason(at.debate)) == ("concluded", "budget: 6 of 6 calls spent")


class TestTokensMoneyAndTime:
    def test_an_answer_is_taken_to_be_as_long_as_those_before_in_the_mean(self) -> None:
        def speak(call: Call) -> Reply:
            usage = build_usage().model_copy(update={"output_tokens": 100 if call.seat == "Ada" else 301})
            return Reply("word", usage)

        debaters = [{"name": name, "stance": name} for name in ("Ada", "Ben")]
        at = simulate(build_setup(debaters=debaters), speak).play(lambda debate: len(debate.turns) == 2)
        assert estimate_next_call(at.debate)[1] == 200

    @pytest.mark.parametrize(
        ("limits", "left"),
        [
            (Limits(), 1_000_000),
            (Limits(max_output_tokens=9_000), 9_000 - 2 * 20),
            (Limits(max_cost_usd="1"), 4_990),  # for the 99.8 cents that are left
            (Limits(max_cost_usd="1", max_output_tokens=50), 10),
            (Limits(max_output_tokens=30), -10),
        ],
    )
    def test_what_limits_leave_is_what_one_answer_may_have(self, limits: Limits, left: int) -> None:
        prices = (Price(model="scripted", input="0.0001", output="0.0002"),)
        setup = build_setup().model_copy(update={"prices": prices})
        at = simulate(setup).play(lambda debate: len(debate.turns) == 2)

        at.add_events(LimitsChanged(limits=limits))

        assert count_tokens_left(at.debate, "scripted") == left

    def test_a_call_that_costs_nothing_is_not_made_when_the_money_is_spent(self) -> None:
        assert compute_limit_remaining("US dollars", "1", Decimal(1), 0, 0).calls == 0
        assert compute_limit_remaining("US dollars", "1", Decimal("0.99"), 0, 0).calls > 0

    def test_money_is_counted_exactly(self) -> None:
        opened = open_debate(
            build_request(format="verdict", max_rounds=9, options=limited(max_cost_usd=0.0105)),
            models=["scripted"],
            seed=1,
            find_price=priced("0.0000015"),
        )
        at = simulate(opened).play()
        assert at.status == "concluded"
        assert "of 0.0105 US dollars spent" in status_reason(at.debate)
        assert compute_spending(at.debate).cost_usd <= Decimal("0.0105")

    def test_a_price_that_is_unknown_is_not_taken_for_nothing(self) -> None:
        asking = build_request(options=limited(max_cost_usd=1))
        prices = {"a/known": Price(model="a/known", input="0.1", output="0.1"), "b/x": Price(model="b/x")}
        with pytest.raises(InvalidRequestError, match="the price of b/x is unknown, and unknown is not free"):
            open_debate(asking, models=["a/known", "b/x"], seed=1, find_price=lambda name: prices[name])

    def test_models_that_cost_nothing_use_no_money_up(self) -> None:
        opened = open_debate(
            build_request(options=limited(max_cost_usd=1)),
            models=["scripted"],
            seed=1,
            find_price=priced("0"),
        )
        assert compute_remaining(simulate(opened).debate).calls > 100


class TestEstimates:
    def test_who_speaks_alone_takes_as_long_as_all_who_speak_together(self) -> None:
        at_once, one_by_one = (estimate(Debate(build_setup(format=name))) for name in ("advocates", "settle"))
        assert (at_once.calls, at_once.seconds) == (6, (9, 80))  # one wave more compares advice
        assert (one_by_one.calls, one_by_one.seconds) == (9, (9 * 3, 9 * 20))

    def test_it_ranges_from_little_to_much(self) -> None:
        found = estimate(Debate(build_setup()))
        assert 0 < found.input_tokens[0] < found.input_tokens[1]
        assert found.output_tokens == (600, 2800)  # what one judge advises may have to be compared
        assert found.cost_usd == ("", "")

    @pytest.mark.requirement("N11")
    @pytest.mark.parametrize(
        ("format_name", "effort", "readers"), [("advocates", "quick", 6), ("second_opinion", "standard", 4)]
    )
    def test_a_document_costs_less_where_the_provider_keeps_it_for_the_next_call(
        self, format_name: str, effort: str, readers: int
    ) -> None:
        dear = Price(model="m", input="0.00001", output="0", kept="0.0000125", cached="0.000001")
        documents = [{"title": "Plan", "text": "The plan has ten steps. " * 2_000}]

        def estimate_at(price: Price, **fields: Any) -> Decimal:
            request = build_request(format=format_name, options={"effort": effort}, **fields)
            opened = open_debate(request, models=["m"], seed=1, find_price=lambda _: price)
            return Decimal(estimate(Debate(opened)).cost_usd[0])

        plain, tokens = dear.model_copy(update={"cached": ""}), Decimal(12_003)
        saved = estimate_at(plain, documents=documents) - estimate_at(dear, documents=documents)
        usual, kept, cached = (Decimal(one) for one in (dear.input, dear.kept, dear.cached))
        assert abs(saved - tokens * (readers * usual - kept - (readers - 1) * cached)) < Decimal("0.001")
        assert estimate_at(plain) == estimate_at(dear)  # what is short is not kept

    @pytest.mark.parametrize(
        ("find_price", "told"),
        [
            (None, "tokens, price unknown. Other efforts: "),
            (priced("0.00001"), "$0."),
            (priced("0"), "tokens, free of charge. Other efforts: "),
            (lambda name: Price(model=name), "the price of m is unknown. Other efforts: "),
        ],
    )
    def test_it_is_told_in_a_sentence_that_never_takes_the_unknown_for_nothing(
        self, find_price: Any, told: str
    ) -> None:
        known = {"find_price": find_price} if find_price else {}
        assert told in estimate_line(Debate(open_debate(build_request(), models=["m"], seed=1, **known)))


class TestRaisingThem:
    def extended(self, **limits: Any) -> DebateSimulation:
        at = simulate(build_setup(options=limited(max_calls=6, max_seconds=60))).play_to_round(1)
        at.intervene("extend", limits=limits)
        return at

    def test_those_that_are_named_change_and_the_others_stay(self) -> None:
        at = self.extended(max_calls=9, on_budget="pause")
        assert at.debate.limits == Limits(max_calls=9, max_seconds=60, on_budget="pause")
        (row,) = build_interventions(at.stored())["log"]
        assert row["text"] == "max_calls=9, max_seconds=60, on_budget=pause"

    @pytest.mark.parametrize(
        ("limits", "why"),
        [
            ({"max_calls": -1}, "limits.max_calls must be a whole number above 0"),
            ({"on_budget": "stop"}, "limits.on_budget must be conclude or pause"),
            ({"colour": 1}, "limits.colour cannot be changed. These can: max_calls, "),
            ({"max_calls": 9, "turn_timeout": 9}, "limits.turn_timeout cannot be changed"),
            ({"max_cost_usd": 1}, "the price of scripted is unknown, and unknown is not free"),
        ],
    )
    def test_what_is_no_limit_is_refused(self, limits: dict[str, Any], why: str) -> None:
        with pytest.raises(InvalidRequestError, match=why):
            self.extended(**limits)


class TestWhatIsNoRequest:
    def test_turns_of_the_caller_are_no_calls(self) -> None:
        at = simulate(
            build_setup(models=["caller"]),
            lambda call: Reply(str(default_script(call)), build_usage("caller")),
        ).play_to_round(1)
        at.add_events(*(at.answer(call) for call in pending_calls(at.debate)))
        assert len(at.debate.turns) == 2
        assert compute_spending(at.debate).calls == 0

    def test_a_hand_off_that_could_not_be_used_is_no_call_of_its_own(self) -> None:
        at = simulate(build_setup(format="handoff", max_rounds=3)).play()
        assert at.debate.handoff_failures
        assert compute_spending(at.debate).calls == asked(at)

    def test_failures_that_a_fork_took_over_are_counted_where_they_were_made(self) -> None:
        at = simulate(
            script=lambda call: (
                ProviderFailure("timeout") if call.seat == "Opponent" else default_script(call)
            )
        )
        at.play_to_round(1).add_events(*(at.answer(call) for call in at.pending_calls()))
        assert compute_spending(at.debate).calls == 2
        forked = replace(at.debate, changed_setup=at.debate.setup.model_copy(update={"forked_at_round": 1}))
        assert compute_spending(forked).calls == 0


class TestWhileItIsDecided:
    def test_a_vote_there_is_no_room_for_leaves_the_judges_what_was_kept_back_for_them(self) -> None:
        opened = build_setup(options={"phases": ["opening", "voting", "verdict"]})
        at = simulate(opened).play_to_round(2).add_events(LimitsChanged(limits=Limits(max_calls=4))).play()
        assert (at.status, asked(at)) == ("concluded", 4)
        assert at.debate.verdict
        assert not at.debate.ballots

    def test_ballots_that_are_there_decide_when_there_is_room_for_no_more(self) -> None:
        at = simulate(build_setup(options={"phases": ["opening", "voting"]})).play_to_round(2)
        at.add_events(at.answer(at.pending_calls()[0]), LimitsChanged(limits=Limits(max_calls=3))).play()
        assert (at.status, compute_spending(at.debate).calls) == ("concluded", 3)
        assert at.debate.verdict
        assert [vote.abstains for vote in at.debate.verdict.votes] == ["", "gave no usable ballot"]


class TestPricesOnTheWay:
    def opened(self) -> DebateSimulation:
        options = limited(max_cost_usd=1)
        return simulate(
            open_debate(build_request(options=options), models=["m"], seed=1, find_price=priced("0.000001"))
        )

    def test_a_model_of_unknown_price_takes_no_seat_where_money_is_limited(self) -> None:
        with pytest.raises(InvalidRequestError, match="the price of b/x is unknown"):
            self.opened().intervene("replace_model", to="Opponent", model="b/x", price=Price(model="b/x"))

    def test_a_dearer_model_leaves_room_for_fewer_questions(self) -> None:
        at = self.opened()
        before = compute_remaining(at.debate).calls
        dear = Price(model="b/x", input="0.0001", output="0.0001")
        at.intervene("replace_model", to="Opponent", model="b/x", price=dear)
        assert compute_remaining(at.debate).calls < before // 10


@pytest.mark.parametrize(
    ("failing", "most", "status", "reason", "calls"),
    [
        (3, 4, "concluded", "budget: 3 of 4 calls spent", 4),
        (3, 5, "paused", "0 of 1 answered in round 3", 3),
        (1, 2, "paused", "0 of 1 answered in round 1", 1),
        (1, 3, "paused", "0 of 1 answered in round 1", 1),
    ],
)
def test_a_failure_is_waited_for_while_there_is_room_and_what_was_said_before_it_judged(
    failing: int, most: int, status: str, reason: str, calls: int
) -> None:
    """A hand-off whose speaker of one round fails."""

    def script(call: Call) -> ScriptAnswer:
        is_lost = call.round == failing and call.task == "argument"
        return ProviderFailure("unavailable") if is_lost else default_script(call)

    options = {"limits": {"max_calls": most}, "judges": {"both_orders": False}}
    at = simulate(build_setup(format="handoff", max_rounds=10, options=options), script).play()

    assert (at.status, len(at.calls_made)) == (status, calls)
    assert status_reason(at.debate).startswith(reason)


@pytest.mark.parametrize(("most", "ends"), [(5, "concluded"), (6, "paused")])
def test_a_debate_waits_for_nobody_whom_there_is_no_call_left_to_ask(most: int, ends: str) -> None:
    def script(call: Call) -> ScriptAnswer:
        return ProviderFailure("unavailable") if call.seat == "Speaker 1" else default_script(call)

    options = {"limits": {"max_calls": most}}
    at = simulate(build_setup(max_rounds=1, debaters=build_debaters(3), options=options), script).play()

    assert (at.status, len(at.debate.turns)) == (ends, 2)


def test_a_round_that_was_planned_goes_on_with_the_calls_that_are_left() -> None:
    replies = iter([""])

    def script(call: Call) -> ScriptAnswer:
        return next(replies, default_script(call)) if call.task == "argument" else default_script(call)

    options = {"moderator": {"opens": True}, "limits": {"max_calls": 5}}
    at = simulate(build_setup(format="verdict", max_rounds=1, options=options), script).play()

    assert (at.status, len(at.debate.turns), len(at.calls_made)) == ("concluded", 1, 5)


@pytest.mark.parametrize(("failing", "ends"), [((2,), "concluded"), ((1, 2), "paused")])
def test_a_reading_that_fails_on_the_last_call_leaves_the_other_to_go_by(
    failing: tuple[int, ...], ends: str
) -> None:
    def script(call: Call) -> ScriptAnswer:
        return ProviderFailure("unavailable") if call.reading in failing else default_script(call)

    at = simulate(build_setup(max_rounds=1, options={"limits": {"max_calls": 4}}), script).play()

    assert (at.status, len(at.calls_made)) == (ends, 4)


def uncounted(call: Call) -> Reply:
    return Reply(str(default_script(call)), Usage(model=call.model))


@pytest.mark.parametrize(
    "limits", [{"max_input_tokens": 9000}, {"max_output_tokens": 2500}, {"max_cost_usd": 0.1}]
)
def test_a_budget_ends_a_debate_whose_tokens_nobody_counted(limits: dict[str, Any]) -> None:
    wanted = build_request(format="verdict", max_rounds=20, options=limited(**limits))
    opened = open_debate(wanted, models=["mine"], seed=1, find_price=priced("0.00001"))
    at = simulate(opened, uncounted).play()

    assert at.status == "concluded"
    assert status_reason(at.debate).startswith("budget: ")
    assert 3 <= len(at.calls_made) < 15


def test_uncounted_answers_without_a_price_are_counted_in_tokens_alone() -> None:
    at = simulate(build_setup(max_rounds=1), uncounted).play()

    taken = compute_spending(at.debate)
    assert taken.input_tokens > 0
    assert taken.output_tokens > 0
    assert taken.cost_usd == Decimal(0)
    assert sum_usage(at.debate.usage).cost_usd == ""


def test_a_price_that_the_provider_tells_is_taken_as_it_is() -> None:
    request = build_request(max_rounds=1)
    opened = open_debate(request, models=["mine"], seed=1, find_price=priced("0.00001"))
    at = simulate(opened, lambda c: replace(uncounted(c), usage=Usage(model=c.model, cost_usd="0.01"))).play()

    assert compute_spending(at.debate).cost_usd == len(at.calls_made) * Decimal("0.01")
