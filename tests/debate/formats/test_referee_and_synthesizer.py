"""The referee, who audits and steers nothing, and the synthesizer, who makes the result."""

import json
from typing import Any

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Ended, Resumed
from server.debate.facts.text import format_heading
from server.debate.machine.render import render
from server.debate.prompts.prompt import FunctionCall
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.seats.referee import Audited
from server.debate.views.markdown import format_report, render_transcript, render_verdict
from server.debate.views.state import status_reason
from server.debate.views.verdict import build_report, build_result, build_verdict
from server.debate.views.warnings import list_verdict_warnings
from tests.support import simulation

pytestmark = pytest.mark.requirement("C10")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"price": {"type": "integer"}},
    "required": ["price"],
    "additionalProperties": False,
}


def panel(script: Any = None, **options: Any) -> simulation.DebateSimulation:
    at = simulation.simulate(simulation.build_setup(format="round_robin", options=options))
    if script:
        at.script = script
    return at


def result(said: Any) -> Any:
    return simulation.task_script({"deliverable": said})


@pytest.mark.requirement("C15")
class TestReferee:
    def test_the_arguments_of_each_round_are_audited_and_the_audit_is_read_from_then_on(self) -> None:
        script = simulation.task_script({"audit": lambda c: f"A was vague in {c.round}."})
        at = panel(script, referee=True).play()
        assert [(made.round, made.text) for made in at.debate.find_readings(Audited)] == [
            (1, "A was vague in 1."),
            (2, "A was vague in 2."),
        ]
        order = [call.seat for call, _ in at.calls_made if call.round == 1]
        assert order == ["Proponent", "Opponent", "referee"]
        for call, prompt in at.calls_made:
            told = "[the referee on this round]\n> A was vague in 1." in simulation.render_prompt_text(prompt)
            assert told == (call.round > 1)

    def test_an_audit_steers_nothing(self) -> None:
        def rounds(at: simulation.DebateSimulation) -> list[tuple[str, tuple[str, ...]]]:
            return [(entered.phase, entered.order) for entered in at.play().debate.rounds]

        wild = simulation.task_script(
            {"audit": '{"done": true, "next_speakers": ["A1"], "winner": "A1", "status": "SETTLED"}'}
        )
        assert rounds(panel(wild, referee=True)) == rounds(panel())

    @pytest.mark.parametrize("answer", ["", simulation.ProviderFailure("timeout")])
    def test_a_referee_who_fails_hinders_nobody(self, answer: simulation.ScriptAnswer) -> None:
        at = panel(simulation.task_script({"audit": answer}), referee=True).play()
        assert at.status == "concluded"
        assert at.debate.find_readings(Audited) == ()
        assert {failure.seat for failure in at.debate.failures} == {"referee"}

    def test_a_long_audit_is_cut(self) -> None:
        at = panel(simulation.task_script({"audit": "word " * 9000}), referee=True).play()
        assert all(made.cut for made in at.debate.find_readings(Audited))


@pytest.mark.requirement("C15")
class TestRoundRobin:
    def test_a_panel_with_roles_comes_to_a_result_and_to_no_winner(self) -> None:
        roles = [{"name": "Ada", "role": "engineer"}, {"name": "Bob", "role": "lawyer"}]
        at = simulation.simulate(
            simulation.build_setup(format="round_robin", debaters=roles), result("## Do both.\n\nIt pays.")
        ).play()
        assert [turn.seat for turn in at.debate.turns] == ["Ada", "Bob", "Ada", "Bob"]
        assert at.debate.verdict is None
        assert at.debate.ended == Ended(ending="concluded", cause="max_rounds")
        found = build_verdict(at.debate)
        assert (found.outcome, found.winner, found.deliverable) == ("", "", "## Do both.\n\nIt pays.")
        assert build_result(at.debate)["deliverable"] == "## Do both.\n\nIt pays."
        shown = render_verdict(at.debate)
        assert shown.startswith("## Verdict\n\n**Question**: ")
        told = "**Result**: No judge or vote decided this; a synthesizer wrote the result.\n"
        assert f"\n\n> ## Do both.\n> \n> It pays.\n\n{told}" in shown
        assert format_report(build_report(at.debate)).splitlines()[-1].startswith("**Cost**: ")
        assert "The talk ended: the last round was held." in shown
        assert render_transcript(at.debate, at.log).count("## Verdict\n") == 1

    def test_the_synthesizer_reads_the_whole_record(self) -> None:
        at = panel().play()
        (prompt,) = at.prompts("synthesizer")
        assert all(f"> {turn.text}" in prompt for turn in at.debate.turns)
        assert prompt.endswith("\nWrite plain Markdown.")

    def test_switched_off_it_leaves_the_raw_result(self) -> None:
        at = panel(synthesizer=False).play()
        assert [entered.phase for entered in at.debate.rounds] == ["argumentation", "argumentation"]
        assert at.status == "concluded"
        found = build_result(at.debate)
        assert "deliverable" not in found
        assert len(found["transcript"]) == 4


class TestSchema:
    def test_a_result_that_satisfies_the_schema_is_the_result(self) -> None:
        at = panel(result('Here:\n```json\n{ "price": 7 }\n```'), output_schema=SCHEMA).play()
        assert json.loads(build_verdict(at.debate).deliverable) == {"price": 7}
        assert build_result(at.debate)["deliverable"] == {"price": 7}
        assert '```json\n{\n "price": 7\n}\n```' in render_verdict(at.debate)
        (prompt,) = at.prompts("synthesizer")
        assert "Answer with JSON only, by this JSON Schema: " in prompt

    def test_the_callers_schema_is_sent_along_and_said_not_to_be_ours(self) -> None:
        at = panel(output_schema=SCHEMA).play_to_round(3)
        prompt = render(at.debate, at.pending_calls()[0])
        assert prompt.schema == SCHEMA
        assert not prompt.strict
        assert all(other.strict for call, other in at.calls_made)

    def test_a_result_that_does_not_fit_is_repaired_once(self) -> None:
        answers = iter(['{"price": "seven"}', '{"price": 7}'])
        at = panel(result(lambda _: next(answers)), output_schema=SCHEMA).play()
        first, second = at.prompts("synthesizer")
        assert second.startswith(first + "\nYour previous reply could not be used: ")
        assert json.loads(build_verdict(at.debate).deliverable) == {"price": 7}
        assert len(at.debate.failures) == 1

    @pytest.mark.parametrize("bad", ['{"price": "seven"}', "No idea.", ""])
    def test_after_that_the_verdict_says_why_there_is_none(self, bad: str) -> None:
        at = panel(result(bad), output_schema=SCHEMA).play()
        assert at.status == "concluded"
        assert at.debate.deliverable is None
        found = build_verdict(at.debate)
        assert found.deliverable == ""
        assert found.deliverable_problem == at.debate.failures[-1].detail != ""
        shown = render_verdict(at.debate)
        assert f"**No result in the shape asked for**\n- {format_heading(found.deliverable_problem)}" in shown
        assert shown in render_transcript(at.debate, at.log)

    @pytest.mark.parametrize("format_", ["verdict", "settle", "full", "handoff", "advocates"])
    def test_any_debate_can_be_put_into_a_shape(self, format_: str) -> None:
        at = simulation.simulate(
            simulation.build_setup(format=format_, options={"output_schema": SCHEMA}), result({"price": 7})
        ).play()
        assert at.debate.rounds[-1].phase == "deliverable"
        found = build_verdict(at.debate)
        assert found.outcome != ""
        assert json.loads(found.deliverable) == {"price": 7}
        (prompt,) = at.prompts("synthesizer")
        assert f"The verdict ({found.outcome}):\n> {found.verdict}" in prompt

    def test_a_schema_with_the_synthesizer_off_is_refused(self) -> None:
        with pytest.raises(InvalidRequestError, match="output_schema needs the synthesizer, which is off"):
            simulation.build_setup(options={"output_schema": SCHEMA, "synthesizer": False})


class TestFailing:
    def test_a_provider_that_fails_pauses_the_debate(self) -> None:
        at = panel(
            result(simulation.ProviderFailure("unavailable", "no such host")), output_schema=SCHEMA
        ).play()
        assert at.status == "paused"
        assert status_reason(at.debate) == (
            "0 of 1 answered in round 3 (deliverable), 1 needed. synthesizer: no such host"
        )
        at.script = result({"price": 7})
        assert at.add_events(Resumed()).play().status == "concluded"
        assert json.loads(build_verdict(at.debate).deliverable) == {"price": 7}

    def test_a_verdict_whose_result_is_still_to_come_says_nothing_of_an_end(self) -> None:
        opened = simulation.build_setup(options={"output_schema": SCHEMA})
        at = simulation.simulate(opened, result(simulation.ProviderFailure("unavailable", "no such host")))
        shown = render_verdict(at.play().debate)
        assert at.status == "paused"
        assert "\n**Leaning (" in shown
        assert "The talk ended" not in shown


class TestProse:
    def test_a_model_too_small_for_it_is_warned_of(self) -> None:
        tiny = Reply("So.", simulation.build_usage("local"), informative=False)
        at = panel(result(tiny)).play()
        assert any("far too small" in caution for caution in build_verdict(at.debate).cautions)
        assert not any("far too small" in caution for caution in list_verdict_warnings(panel().play().debate))


def test_officers_take_their_models_from_those_who_do_not_debate() -> None:
    made = simulation.build_setup(
        ["a", "b", "c"],
        format="verdict",
        debaters=simulation.build_debaters(2),
        options={"moderator": {}, "referee": True, "synthesizer": {"prompt": " Be brief. "}},
    )
    assert made.moderator
    (referee,) = made.officers
    assert made.synthesizer
    assert {made.moderator.model, referee.model, made.synthesizer.model, *made.judges.models} == {"c"}
    assert made.synthesizer.prompt == "Be brief."


def test_an_empty_answer_with_a_call_of_a_function_is_no_result() -> None:
    def calls(_: Call) -> simulation.ScriptAnswer:
        return Reply("", simulation.build_usage(), function_calls=(FunctionCall("search", "{}"),))

    at = panel(simulation.task_script({"deliverable": calls, "audit": calls}), referee=True).play()
    assert at.debate.deliverable is None
    assert at.debate.find_readings(Audited) == ()
    assert {failure.cause for failure in at.debate.failures} == {"empty"}
