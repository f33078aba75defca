"""Which models did not answer is told by the names they were asked by, and of all that were of no use."""

from typing import Any

import pytest

from server.debate.facts.events import Resumed
from server.debate.replies.extract import Reply, failed
from server.debate.rules.decide import Call
from server.debate.views.warnings import cautions, degradation
from tests.support.playing import Answer, Fails, debaters, paid, setup, table, talk

pytestmark = pytest.mark.requirement("D3")


def told(script: Any, **options: Any) -> str:
    options["judges"] = {"models": ["a/one"]}
    opened = setup(debaters=debaters(3), models=["a/one", "b/two", "c/three"], options=options)
    return degradation(table(opened, script).play().debate)


def dated(call: Call) -> Reply:
    """An answer as providers give it, under the full name of the model."""
    return Reply(str(talk(call)), paid(f"{call.model}-2026-01-01"))


def test_a_model_that_answered_under_a_longer_name_and_failed_later_did_answer() -> None:
    def script(call: Call) -> Answer:
        return Fails("timeout") if call.model == "c/three" and call.round == 2 else dated(call)

    assert told(script) == ""


def test_models_are_counted_by_the_names_they_were_asked_by() -> None:
    def script(call: Call) -> Answer:
        return Fails("timeout") if call.model == "c/three" else dated(call)

    assert told(script) == "2 of 3 models answered: c/three timed out 2 times."


def test_a_model_that_only_ever_said_nothing_did_not_answer() -> None:
    def script(call: Call) -> Answer:
        return Reply("", paid(call.model)) if call.model == "c/three" else dated(call)

    assert told(script) == "2 of 3 models answered: c/three said nothing 4 times."


def test_who_stands_in_is_counted_and_the_one_it_stands_in_for_is_named() -> None:
    def script(call: Call) -> Answer:
        return Fails("unavailable") if call.model == "c/three" else Reply(str(talk(call)), paid(call.model))

    said = told(script, fallback_models=["d/four"])
    assert said == "3 of 4 models answered: c/three could not be reached 1 time."


def test_the_verdict_says_who_stood_in_for_whom_and_from_when_on() -> None:
    def script(call: Call) -> Answer:
        failing = call.model == "b/two" and call.round == 2
        return Fails("unavailable") if failing else Reply(str(talk(call)), paid(call.model))

    options = {"judges": {"models": ["a/one"]}, "fallback_models": ["d/four"]}
    opened = setup(debaters=debaters(2), models=["a/one", "b/two"], options=options, max_rounds=3)
    said = cautions(table(opened, script).play().debate)
    assert "d/four stood in for Speaker 2 (b/two) from round 2 on." in said


def test_where_nobody_could_stand_in_nobody_is_said_to_have() -> None:
    assert not any("stood in" in said for said in cautions(table(script=dated).play().debate))


def test_nobody_stands_in_for_who_was_late_or_for_a_model_under_a_longer_name() -> None:
    options = {"fallback_models": ["d/four"], "judges": {"models": ["a/one"]}}
    at = table(setup(debaters=debaters(3), models=["a/one"], options=options), dated).to_round(1)
    first, *others = at.calls()
    at.do(failed(first, "late", "a/one had not answered"), *map(at.answer, others)).play()
    assert not any("stood in" in said for said in cautions(at.debate))


def test_a_seat_whose_own_model_is_back_after_a_resumption_is_its_own_again() -> None:
    options = {"fallback_models": ["d/four"], "judges": {"models": ["a/one"]}}
    at = table(setup(models=["a/one"], options=options), lambda _: Fails("timeout")).play()
    at.script = dated
    at.do(Resumed()).play()
    assert at.status == "concluded"
    assert not any("stood in" in said for said in cautions(at.debate))
