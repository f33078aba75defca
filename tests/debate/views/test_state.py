"""The state of a debate: usage, failures, who is awaited, and where it comes from."""

from decimal import Decimal
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.answers import Usage
from server.debate.facts.events import Outcome
from server.debate.machine.decide import Status
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.awaited import awaited_seats
from server.debate.views.state import (
    STANDINGS,
    build_state,
    cost_line,
    describe_costs,
    origin_line,
    sum_usage,
    tell_standing,
)
from server.debate.views.state import build_usage as build_usage_view
from server.debate.views.verdict import build_verdict
from server.debate.views.warnings import failure_lines
from tests.support.plain_debates import over, plainly
from tests.support.simulation import (
    QUESTION,
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    build_usage,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("D2")


def test_every_status_and_outcome_has_words_for_people() -> None:
    assert STANDINGS.keys() == {*get_args(Status), *get_args(Outcome)}
    assert (tell_standing("ready"), tell_standing("contested")) == ("not running", "Divided")
    assert tell_standing("damaged") == "damaged"


class TestUsage:
    def test_costs_are_summed_as_exact_decimals(self) -> None:
        used = [build_usage(cost=cost) for cost in ("0.1", "0.2", "0.0000000001", "1000000")]
        assert sum_usage(used).model_dump() == {
            "calls": 4,
            "caller_turns": 0,
            "input_tokens": 400,
            "cached_tokens": 240,
            "output_tokens": 80,
            "thinking_tokens": 0,
            "cost_usd": "1000000.3000000001",
            "calls_of_unknown_cost": 0,
            "reused": 0,
        }

    def test_an_unknown_cost_is_never_0(self) -> None:
        assert sum_usage([build_usage(cost="")]).cost_usd == ""
        assert sum_usage([]).cost_usd == ""
        assert sum_usage([build_usage(cost="0")]).cost_usd == "0"

    def test_answers_that_were_reused_make_no_unknown_cost_known(self) -> None:
        reused = build_usage(cost="0").model_copy(update={"reused_from": "k3x9w2m4p7qr#7"})
        mixed = sum_usage([reused, build_usage(cost="")])
        assert (mixed.cost_usd, mixed.calls_of_unknown_cost, mixed.reused) == ("", 1, 1)
        assert sum_usage([reused]).cost_usd == "0"

    @given(st.lists(st.decimals(0, 10**6, allow_nan=False, places=12), min_size=1, max_size=20))
    def test_no_sum_is_rounded_or_written_with_an_exponent(self, costs: list[Decimal]) -> None:
        total = sum_usage([build_usage(cost=f"{cost:f}") for cost in costs]).cost_usd
        assert int(Decimal(total) * 10**12) == sum(int(cost * 10**12) for cost in costs)
        assert "E" not in total

    @pytest.mark.requirement("N10", "N37")
    def test_its_line_has_three_figures_of_dollars_and_nothing_that_is_zero(self) -> None:
        paid = [
            Usage(model="m", input_tokens=900, output_tokens=300, thinking_tokens=40, cost_usd=cost)
            for cost in ("0.00246", "0.00984")
        ]
        assert cost_line(sum_usage(paid), 41.2) == (
            "2 calls, 1,800 tokens in, 600 out (80 thinking), 41 s, $0.0123."
        )
        assert cost_line(sum_usage([Usage(model="local", cost_usd="0")])) == "1 call."
        assert cost_line(sum_usage([])) == "No answers yet."
        unpriced = sum_usage([Usage(model="m", input_tokens=9, output_tokens=1)])
        assert cost_line(unpriced, 7_300) == "1 call, 9 tokens in, 1 out, 2 h, price unknown."
        partly = sum_usage([*paid[:1], Usage(model="m", input_tokens=9)])
        assert cost_line(partly, 300).endswith(", 5 min, $0.00246 and 1 call of unknown price.")

    @pytest.mark.requirement("N10")
    def test_calls_that_were_made_at_once_take_the_time_of_the_longest(self) -> None:
        def script(call: Call) -> ScriptAnswer:
            seconds = {"Proponent": 3, "Opponent": 5}.get(call.seat, 2)
            usage = build_usage().model_copy(update={"milliseconds": 1000 * seconds})
            return Reply(render_finding("A") if call.reading else "x", usage)

        at = simulate(build_setup(), script).play()
        rounds = len({fact.seen for fact in at.debate.turns})
        readings = len({fact.seen for fact in at.debate.judgments})
        assert (rounds, readings) == (2, 1)
        assert ", 12 s" in describe_costs(at.debate)[0]

    def test_it_can_be_told_by_model(self) -> None:
        at = simulate(build_setup(["a/x", "b/y"])).play()
        used = build_usage_view(at.debate)
        assert {model: sums["calls"] for model, sums in used["models"].items()} == {"a/x": 2, "b/y": 4}
        assert used["total"] == sum_usage(at.debate.usage).model_dump()


@pytest.mark.requirement("D3")
class TestFailures:
    def failing(self) -> DebateSimulation:
        def script(call: Call) -> ScriptAnswer:
            if call.seat == "Speaker 3":
                return ProviderFailure("timeout", "no answer in 120 s")
            return "" if (call.seat, call.round) == ("Speaker 2", 2) else plainly(call)

        return simulate(build_setup(debaters=build_debaters(4)), script).play_on()

    def test_they_are_counted_by_seat_and_cause(self) -> None:
        assert sorted(failure_lines(self.failing().debate)) == [
            "Speaker 2 (scripted): the model said nothing (empty, 2 times)",
            "Speaker 3 (scripted): no answer in 120 s (timeout, 3 times)",
        ]

    def test_it_warns_of_none_that_came_in_the_end(self) -> None:
        def script(call: Call) -> ScriptAnswer:
            return "" if (call.seat, call.attempt) == ("Speaker 2", 1) else plainly(call)

        played = simulate(build_setup(debaters=build_debaters(4)), script).play_on()
        assert not any("failed" in caution for caution in build_verdict(played.debate).cautions)


def debater_row(**fields: object) -> dict[str, object]:
    return {"role": "", "model": "scripted", "turns": 2, "failures": 0, **fields}


SEATS = [debater_row(name="Ada", stance="yes", role="economist"), debater_row(name="Bob", stance="no")]


class TestState:
    def test_it_says_how_the_debate_stands(self) -> None:
        asked = {
            "debaters": [
                {"name": "Ada", "stance": "yes", "role": "economist"},
                {"name": "Bob", "stance": "no"},
            ],
            "options": {"tags": ["x"]},
        }
        at = over(**asked)
        assert build_state(at.stored()) == {
            "debate_id": "d-1",
            "question": QUESTION,
            "format": "advocates",
            "status": "concluded",
            "reason": "max_rounds: the last round was held",
            "phase": "verdict",
            "round": 3,
            "rounds_of_talk": 2,
            "max_rounds": 2,
            "framing": "",
            "debaters": SEATS,
            "judges": ["judge 1: scripted"],
            "awaiting": [],
            "outcome": "leaning",
            "winner": "Ada",
            "winner_stance": "yes",
            "verdict": "It is not worth it.",
            "moderator_summary": "",
            "final_decision": "",
            "settled": False,
            "turns": 4,
            "failures": [],
            "notes": 0,
            "usage": sum_usage(at.debate.usage).model_dump(),
            "tags": ["x"],
            "recalled": [],
            "team": {},
            "mirror_of": "",
            "forked_from": "",
            "forked_at_round": 0,
            "opened_at": "2026-12-01T10:00:01.000Z",
            "changed_at": "2026-12-01T10:00:13.000Z",
            "entries": 13,
        }

    def test_it_says_who_is_awaited(self) -> None:
        at = simulate().play_to_round(1)
        assert build_state(at.stored())["awaiting"] == ["Proponent", "Opponent"]
        at.play_to_round(3)
        assert awaited_seats(at.debate) == ["judge 1"]


@pytest.mark.requirement("N5")
def test_where_a_debate_comes_from_is_said_in_a_sentence() -> None:
    assert origin_line("", "", 0) == ""
    assert origin_line("", "k3x9w2m4p7qr", 2).startswith("Forked from k3x9w2m4p7qr")
    assert origin_line("k3x9w2m4p7qr", "", 0).startswith("The mirror of k3x9w2m4p7qr: the same debate")
