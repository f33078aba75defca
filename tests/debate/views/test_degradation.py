"""Which models did not answer is told by the names they were asked by, and which fallback models answered."""

from typing import Any

import pytest

from server.debate.facts.events import Resumed
from server.debate.replies.extract import Reply, build_failure
from server.debate.rules.calls import Call
from server.debate.views.warnings import describe_failed_models, list_verdict_warnings
from tests.support import simulation
from tests.support.simulation import DebateSimulation, ProviderFailure, ScriptAnswer, build_setup, simulate

pytestmark = pytest.mark.requirement("D3")

TIMEOUT, DOWN = ProviderFailure("timeout"), ProviderFailure("unavailable")


def answer(call: Call, suffix: str = "") -> Reply:
    """An answer under the name of the model, or under a longer one, as providers give it."""
    return Reply(str(simulation.default_script(call)), simulation.build_usage(call.model + suffix))


def dated(call: Call) -> Reply:
    return answer(call, "-2026-01-01")


def build_debate_setup(debaters: int, models: list[str], **options: Any) -> Any:
    options = {"judges": {"models": ["a/one"]}, **options}
    return build_setup(models, debaters=simulation.build_debaters(debaters), max_rounds=3, options=options)


def fallback_warnings(at: DebateSimulation) -> list[str]:
    return [line for line in list_verdict_warnings(at.play().debate) if "answered for" in line]


@pytest.mark.parametrize(
    ("third", "options", "said"),
    [
        (lambda call: TIMEOUT if call.round == 2 else dated(call), {}, ""),
        (lambda _: TIMEOUT, {}, "2 of 3 models answered: c/three timed out 4 times."),
        (
            lambda call: Reply("", simulation.build_usage(call.model)),
            {},
            "2 of 3 models answered: c/three gave an empty answer 8 times.",
        ),
        (
            lambda _: DOWN,
            {"fallback_models": ["d/four"]},
            "3 of 4 models answered: c/three could not be reached 1 time.",
        ),
    ],
    ids=["answered once", "never answered", "only ever empty", "a fallback model answered"],
)
def test_models_are_counted_by_the_names_they_were_asked_by(
    third: simulation.Script, options: dict[str, Any], said: str
) -> None:
    def script(call: Call) -> ScriptAnswer:
        if call.model == "c/three":
            return third(call)
        return answer(call) if options else dated(call)

    opened = build_debate_setup(3, ["a/one", "b/two", "c/three"], **options)
    assert describe_failed_models(simulate(opened, script).play_on().debate) == said


@pytest.mark.parametrize("round_number", [2, 3])
def test_the_verdict_says_who_answered_for_whom_and_from_when_on(round_number: int) -> None:
    def script(call: Call) -> ScriptAnswer:
        return DOWN if call.model == "b/two" and call.round == round_number else answer(call)

    at = simulate(build_debate_setup(2, ["a/one", "b/two"], fallback_models=["d/four"]), script)
    assert fallback_warnings(at) == [f"d/four answered for Speaker 2 (b/two) from round {round_number} on."]


def test_nobody_answers_for_a_seat_whose_model_has_a_longer_name() -> None:
    assert fallback_warnings(simulate(script=dated)) == []


def test_nobody_answers_for_a_seat_that_was_late() -> None:
    at = simulate(build_debate_setup(3, ["a/one"], fallback_models=["d/four"]), dated).play_to_round(1)
    first, *others = at.pending_calls()
    at.add_events(build_failure(first, "late", "a/one had not answered"), *map(at.answer, others))
    assert fallback_warnings(at) == []


def test_a_seat_whose_own_model_is_back_after_a_resumption_is_its_own_again() -> None:
    opened = build_debate_setup(2, ["a/one"], fallback_models=["d/four"])
    at = simulate(opened, lambda _: TIMEOUT).play()
    at.script = dated
    assert fallback_warnings(at.add_events(Resumed())) == []
    assert at.status == "concluded"
