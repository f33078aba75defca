"""Which models did not answer is told by the names they were asked by, and of all that were of no use."""

from typing import Any

import pytest

from server.debate.facts.events import Resumed
from server.debate.replies.extract import Reply, build_failure
from server.debate.rules.decide import Call
from server.debate.views.warnings import describe_failed_models, find_verdict_warnings
from tests.support.simulation import (
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    build_usage,
    default_script,
    simulate,
)

pytestmark = pytest.mark.requirement("D3")


def told(script: Any, **options: Any) -> str:
    options["judges"] = {"models": ["a/one"]}
    opened = build_setup(debaters=build_debaters(3), models=["a/one", "b/two", "c/three"], options=options)
    return describe_failed_models(simulate(opened, script).play().debate)


def dated(call: Call) -> Reply:
    """An answer as providers give it, under the full name of the model."""
    return Reply(str(default_script(call)), build_usage(f"{call.model}-2026-01-01"))


def test_a_model_that_answered_under_a_longer_name_and_failed_later_did_answer() -> None:
    def script(call: Call) -> ScriptAnswer:
        return ProviderFailure("timeout") if call.model == "c/three" and call.round == 2 else dated(call)

    assert told(script) == ""


def test_models_are_counted_by_the_names_they_were_asked_by() -> None:
    def script(call: Call) -> ScriptAnswer:
        return ProviderFailure("timeout") if call.model == "c/three" else dated(call)

    assert told(script) == "2 of 3 models answered: c/three timed out 2 times."


def test_a_model_that_only_ever_said_nothing_did_not_answer() -> None:
    def script(call: Call) -> ScriptAnswer:
        return Reply("", build_usage(call.model)) if call.model == "c/three" else dated(call)

    assert told(script) == "2 of 3 models answered: c/three gave an empty answer 4 times."


def test_who_stands_in_is_counted_and_the_one_it_stands_in_for_is_named() -> None:
    def script(call: Call) -> ScriptAnswer:
        return (
            ProviderFailure("unavailable")
            if call.model == "c/three"
            else Reply(str(default_script(call)), build_usage(call.model))
        )

    said = told(script, fallback_models=["d/four"])
    assert said == "3 of 4 models answered: c/three could not be reached 1 time."


def test_the_verdict_says_who_stood_in_for_whom_and_from_when_on() -> None:
    def script(call: Call) -> ScriptAnswer:
        failing = call.model == "b/two" and call.round == 2
        return (
            ProviderFailure("unavailable")
            if failing
            else Reply(str(default_script(call)), build_usage(call.model))
        )

    options = {"judges": {"models": ["a/one"]}, "fallback_models": ["d/four"]}
    opened = build_setup(debaters=build_debaters(2), models=["a/one", "b/two"], options=options, max_rounds=3)
    said = find_verdict_warnings(simulate(opened, script).play().debate)
    assert "d/four answered for Speaker 2 (b/two) from round 2 on." in said


def test_where_nobody_could_stand_in_nobody_is_said_to_have() -> None:
    assert not any("stood in" in said for said in find_verdict_warnings(simulate(script=dated).play().debate))


def test_nobody_stands_in_for_who_was_late_or_for_a_model_under_a_longer_name() -> None:
    options = {"fallback_models": ["d/four"], "judges": {"models": ["a/one"]}}
    at = simulate(
        build_setup(debaters=build_debaters(3), models=["a/one"], options=options), dated
    ).play_to_round(1)
    first, *others = at.pending_calls()
    at.add_events(build_failure(first, "late", "a/one had not answered"), *map(at.answer, others)).play()
    assert not any("stood in" in said for said in find_verdict_warnings(at.debate))


def test_a_seat_whose_own_model_is_back_after_a_resumption_is_its_own_again() -> None:
    options = {"fallback_models": ["d/four"], "judges": {"models": ["a/one"]}}
    at = simulate(build_setup(models=["a/one"], options=options), lambda _: ProviderFailure("timeout")).play()
    at.script = dated
    at.add_events(Resumed()).play()
    assert at.status == "concluded"
    assert not any("stood in" in said for said in find_verdict_warnings(at.debate))
