"""A moderator who closes each round, and settles the question or lets the talk go on."""

import json
import re
from typing import Any

import pytest

from server.debate.facts.events import Ended, Failed, Resumed, RoundClosed
from server.debate.facts.interventions import TalkConcluded
from server.debate.machine.interpret import interpret
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.seats.moderator import LAST_ROUND_INSTRUCTION
from server.debate.seats.referee import Audited
from server.debate.views.markdown import render_transcript
from server.debate.views.state import build_state, status_reason
from server.debate.views.verdict import build_result, build_verdict
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_setup,
    build_usage,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("A2")


def closing_call() -> DebateSimulation:
    """A debate in which the moderator is asked to close the first round."""
    at = simulate(build_setup(format="settle")).play_to_round(1)
    return at.play(lambda debate: len(debate.turns) == 2)


CLOSING = closing_call()


def closes(said: str) -> RoundClosed:
    (call,) = CLOSING.pending_calls()
    event = interpret(CLOSING.debate, call, Reply(said, build_usage()))
    assert isinstance(event, RoundClosed), event
    return event


def useless(said: str) -> str:
    (call,) = CLOSING.pending_calls()
    event = interpret(CLOSING.debate, call, Reply(said, build_usage()))
    assert isinstance(event, Failed), event
    assert event.slot_index == 1
    return event.detail


def settles_in(number: int) -> dict[str, Any]:
    """What a moderator says who settles the question in that round."""

    def closing(call: Call) -> ScriptAnswer:
        if call.round < number:
            return f"SUMMARY: So far {call.round}.\nSTATUS: CONTINUE"
        return f"SUMMARY: Both agree.\nSTATUS: SETTLED\nDECISION: Buy in round {call.round}."

    return {"closing": closing}


class TestReading:
    @pytest.mark.parametrize(
        "said",
        [
            "SUMMARY: Both agree.\nSTATUS: SETTLED\nDECISION: Buy.",
            "### 1. SUMMARY\n\nBoth agree.\n\n### 2. STATUS\n\nSETTLED\n\n### 3. DECISION\n\nBuy.",
            "- summary: Both agree.\n- status: settled.\n- decision: Buy.",
            "Summary - Both agree.\nStatus \u2014 SETTLED\nDecision \u2013 Buy.",
            "Both agree.\nSTATUS: SETTLED\nDECISION: Buy.",
            "STATUS: SETTLED, and both sides continue as friends.\nDECISION: Buy.\nSUMMARY: Both agree.",
            json.dumps({"summary": "Both agree.", "status": " settled ", "decision": " Buy. ", "more": 1}),
        ],
    )
    def test_a_settled_question_is_read_from_headings_and_from_data(self, said: str) -> None:
        """More ways of saying so are in `tests/debate/replies/test_natural_answers.py`."""
        found = closes(said)
        assert (found.summary, found.settled, found.decision) == ("Both agree.", True, "Buy.")

    @pytest.mark.parametrize(
        "status",
        [
            "CONTINUE",
            "Continue.",
            "NOT SETTLED",
            "not yet settled",
            "Not fully settled",
            "UNSETTLED",
            "**continue**",
        ],
    )
    def test_a_talk_that_goes_on_is_read_in_any_words_for_it(self, status: str) -> None:
        assert not closes(f"SUMMARY: Split.\nSTATUS: {status}").settled
        assert not closes(json.dumps({"summary": "Split.", "status": status})).settled
        assert not closes(json.dumps({"summary": "Split.", "status": status, "decision": None})).settled

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ("SUMMARY: Both agree.\nSTATUS: SETTLED", "the status is SETTLED, and the decision is missing"),
            (
                "SUMMARY: x\nSTATUS: SETTLED\nDECISION:  ",
                "the status is SETTLED, and the decision is missing",
            ),
            ("SUMMARY: x\nSTATUS: perhaps", '"status" must be SETTLED or CONTINUE'),
            ('{"summary": "x", "status": "", "decision": "y"}', '"status" must be SETTLED or CONTINUE'),
            ('{"summary": "x", "status": "done"}', '"status" must be SETTLED or CONTINUE'),
            ('{"summary": "x"}', '"status" must be SETTLED or CONTINUE'),
            ("They agree, I think.", "the reply holds no JSON object"),
            ("SUMMARY: They agree.", "the reply holds no JSON object"),
            ('```json\n["SETTLED"]\n```', "the reply holds no JSON object"),
            ("STATUS: CONTINUE", "summary: Field required"),
            ("SUMMARY:\nSTATUS: CONTINUE", "summary: Value error, must not be empty"),
        ],
    )
    def test_what_cannot_be_read_says_what_is_missing(self, said: str, why: str) -> None:
        assert useless(said).startswith(why)

    def test_a_status_that_only_repeats_what_was_asked_for_is_no_decision(self) -> None:
        assert not closes("SUMMARY: x\nSTATUS: SETTLED or CONTINUE\nDECISION: y").settled

    def test_a_line_that_begins_with_such_a_word_is_no_heading(self) -> None:
        found = closes("SUMMARY: Slow.\nDecision-making was slow.\nSTATUS: CONTINUE")
        assert (found.summary, found.decision) == ("Slow.\nDecision-making was slow.", "")


@pytest.mark.requirement("A3")
class TestTheEnd:
    def test_a_moderator_who_settles_it_ends_the_talk(self) -> None:
        at = simulate(build_setup(format="settle"), task_script(settles_in(2))).play()
        assert at.debate.talk_round_count == 2
        assert at.debate.ended == Ended(ending="concluded", cause="settled")
        statuses = re.findall(r"\*\*Status\*\*: (\w+)", render_transcript(at.debate, at.log))
        assert statuses == ["CONTINUE", "SETTLED"]
        found = build_verdict(at.debate)
        assert (found.outcome, found.verdict) == ("leaning", "Buy in round 2.")
        assert (found.reasoning, found.winner) == ("Both agree.", "")

    def test_a_question_that_is_not_settled_in_time_stays_open(self) -> None:
        at = simulate(build_setup(format="settle"), task_script(settles_in(9))).play()
        assert at.debate.talk_round_count == at.debate.setup.max_rounds == 3
        assert at.debate.ended == Ended(ending="concluded", cause="max_rounds")
        found = build_verdict(at.debate)
        assert (found.outcome, found.verdict) == ("undecided", "Not settled in 3 rounds.")
        assert found.reasoning == "So far 3."

    def list_last_rounds(self, at: DebateSimulation) -> list[tuple[str, int]]:
        """Who was told in which round that it is the last one."""
        return [
            (call.seat, call.round)
            for call, prompt in at.play().calls_made
            if LAST_ROUND_INSTRUCTION in render_prompt_text(prompt)
        ]

    def test_the_last_round_is_told_to_the_moderator_alone_and_its_advice_is_in_the_verdict(self) -> None:
        advice = {"closing": lambda c: f"SUMMARY: x\nSTATUS: CONTINUE\nDECISION: Rent, {c.round}."}
        at = simulate(build_setup(format="settle", max_rounds=2), task_script(advice))
        assert self.list_last_rounds(at) == [("moderator", 2)]
        assert build_verdict(at.debate).verdict == "Not settled in 2 rounds. Rent, 2."

    @pytest.mark.parametrize("options", [{"limits": {"max_turns": 3}}, {"phases": ["opening", "rebuttal"]}])
    def test_a_last_round_by_the_limit_on_turns_or_by_its_phases_is_told_too(self, options: Any) -> None:
        at = simulate(build_setup(format="settle", options=options))
        assert self.list_last_rounds(at) == [("moderator", 2)]

    def test_a_model_too_small_to_moderate_decides_nothing(self) -> None:
        def tiny(_: Call) -> ScriptAnswer:
            settled = '{"summary": "x", "status": "SETTLED", "decision": "y"}'
            return Reply(settled, build_usage("local"), informative=False)

        found = build_verdict(
            simulate(build_setup(format="settle"), task_script({"closing": tiny})).play().debate
        )
        assert (found.outcome, found.verdict) == ("undecided", "y")
        assert any("embedded model judged" in caution for caution in found.cautions)

    def test_a_judge_may_decide_after_a_moderator_has_settled_it(self) -> None:
        opened = build_setup(format="verdict", options={"moderator": {"closes": True, "opens": False}})
        at = simulate(opened, task_script(settles_in(1))).play()
        assert [entered.phase for entered in at.debate.rounds] == ["argumentation", "verdict"]
        assert at.debate.rounds[-1].because == "settled"
        assert build_verdict(at.debate).winner == "Proponent"
        assert build_result(at.debate)["settlement"]["decision"] == "Buy in round 1."


class TestConcluding:
    def concluded(self, at: DebateSimulation) -> DebateSimulation:
        at.intervene("conclude", reason="enough")
        return at

    def test_a_talk_that_is_concluded_in_the_middle_still_has_its_last_word(self) -> None:
        at = simulate(build_setup(format="settle", max_rounds=5)).play_to_round(1)
        self.concluded(at.add_events(at.answer(at.pending_calls()[0])))
        assert [(call.task, call.seat) for call in at.pending_calls()] == [("closing", "moderator")]
        at.play()
        assert LAST_ROUND_INSTRUCTION in at.prompts("moderator")[-1]
        assert [turn.seat for turn in at.debate.turns] == ["Proponent"]
        assert at.debate.ended == Ended(ending="concluded", cause="request")
        assert build_verdict(at.debate).reasoning == "So far 1."

    def test_a_round_that_was_closed_already_is_not_closed_twice(self) -> None:
        at = self.concluded(simulate(build_setup(format="settle")).play_through_round(1)).play()
        assert [closed.round for closed in at.debate.round_summaries] == [1]

    def test_the_last_word_is_said_though_a_moderated_round_was_never_opened(self) -> None:
        opened = build_setup(format="settle", options={"speaking": "moderated"})
        at = self.concluded(simulate(opened).play_to_round(2)).play()
        assert [closed.round for closed in at.debate.round_summaries] == [1, 2]
        assert at.status == "concluded"

    def test_without_a_word_said_there_is_no_closing_and_no_finding(self) -> None:
        at = simulate(build_setup(format="settle")).play_to_round(1).add_events(TalkConcluded()).play()
        assert build_verdict(at.debate).verdict == "The moderator closed no round."

    @pytest.mark.parametrize("speaking", ["declared", "moderated"])
    def test_a_last_word_that_cannot_be_had_pauses_the_debate(self, speaking: str) -> None:
        at = simulate(build_setup(format="settle", options={"speaking": speaking})).play_to_round(2)
        at.script = task_script({"closing": lambda _: ProviderFailure("unavailable", "no such host")})
        self.concluded(at).play()
        assert at.status == "paused"
        assert status_reason(at.debate) == (
            "0 of 1 answered in round 2 (argumentation), 1 needed. moderator: no such host"
        )
        at.script = task_script({})
        assert at.add_events(Resumed()).play().status == "concluded"


@pytest.mark.requirement("D3")
def test_a_closing_that_is_given_up_pauses_the_debate() -> None:
    at = simulate(build_setup(format="settle"), task_script({"closing": "Well."})).play()
    assert at.status == "paused"
    assert status_reason(at.debate).startswith(
        "0 of 1 answered in round 1 (argumentation), 1 needed. moderator:"
    )
    assert [failure.cause for failure in at.debate.failures] == ["unreadable"] * 2


def test_a_moderator_who_decides_nothing_may_fail() -> None:
    opened = build_setup(format="verdict", options={"moderator": {"closes": True, "opens": False}})
    at = simulate(opened, task_script({"closing": "Well."})).play()
    assert at.status == "concluded"
    assert at.debate.round_summaries == ()


def test_every_round_is_closed_one_of_messages_too() -> None:
    opened = build_setup(
        format="settle", options={"phases": ["opening", "cross_examination"], "referee": True}
    )
    at = simulate(opened).play()
    assert [closed.round for closed in at.debate.round_summaries] == [1, 2]
    assert [audited.round for audited in at.debate.find_readings(Audited)] == [1, 2]
    assert "[A1 to B1, question]" in at.prompts("moderator")[1]


@pytest.mark.requirement("A5")
def test_the_state_carries_what_the_moderator_says_and_how_far_it_is() -> None:
    opened = build_setup(format="settle", question="Buy or rent?")
    at = simulate(opened, task_script(settles_in(2))).play_through_round(1)
    state = build_state(at.stored())
    expected = {"question": "Buy or rent?", "round": 1, "max_rounds": 3, "settled": False}
    assert expected | {"moderator_summary": "So far 1.", "final_decision": ""} == {
        key: state[key] for key in (*expected, "moderator_summary", "final_decision")
    }
    assert [seat["name"] for seat in state["debaters"]] == ["Proponent", "Opponent"]
    sooner = at.debate.transcript_events
    state = build_state(at.play().stored())
    assert (state["moderator_summary"], state["final_decision"]) == ("Both agree.", "Buy in round 2.")
    assert (state["settled"], state["status"], state["turns"]) == (True, "concluded", 4)
    assert at.debate.transcript_events[: len(sooner)] == sooner
    told = {"settled": True, "summary": "Both agree.", "decision": "Buy in round 2."}
    assert build_result(at.debate)["settlement"] == told
