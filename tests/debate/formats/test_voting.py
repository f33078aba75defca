"""A vote of the debaters: ballots as data, counted simply. What is missing or unreadable is no vote."""

import json
from typing import Any

import pytest

from server.debate.facts.events import Resumed
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import build_round
from server.debate.views.state import status_reason
from server.debate.views.verdict import Verdict, build_result, build_verdict
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_ballot,
    build_debaters,
    build_setup,
    build_usage,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D1")

DECIDES = ["opening", "voting"]
STRAW = ["opening", "voting", "rebuttal", "voting"]


def ballot(choice: str | None) -> str:
    return json.dumps(build_ballot(choice, f"{choice} was better supported."))


def vote(*ballots: ScriptAnswer, phases: list[Any] | None = None, **asked: Any) -> DebateSimulation:
    """A debate whose debaters cast these ballots, Speaker 1 the first."""
    cast = {f"Speaker {n}": said for n, said in enumerate(ballots, start=1)}
    opened = build_setup(
        models=[f"vendor {n}/model" for n in range(len(ballots))],
        debaters=build_debaters(len(ballots)),
        options={"phases": phases or DECIDES},
        **asked,
    )
    return simulate(opened, task_script({"ballot": lambda c: cast[c.seat]}))


def verdict(*ballots: ScriptAnswer) -> Verdict:
    return build_verdict(vote(*ballots).play().debate)


A, B, C, NONE = ballot("A1"), ballot("B1"), ballot("stance 3"), ballot(None)
LOST, PROSE = ProviderFailure("timeout"), "Hard to say."


class TestCounting:
    def test_the_words_of_those_who_are_only_ahead_are_told_with_those_of_the_others(self) -> None:
        found = verdict(A, A, B)
        assert (found.outcome, found.answer.because) == ("contested", "Speaker 1 was better supported.")
        assert "Speaker 2 was better supported." in [one.text for one in found.answer.findings]

    def test_every_ballot_is_counted_and_what_is_none_is_told(self) -> None:
        at = vote(A, A, B, NONE, PROSE, LOST).play()
        assert build_result(at.debate)["ballots"] == {
            "votes": {"stance 1": 2, "stance 2": 1},
            "abstained": 1,
            "not counted": 0,
            "missing": 2,
        }
        found = build_verdict(at.debate)
        assert found.ballots == ["stance 1: 2 votes", "stance 2: 1 vote", "abstained: 1", "missing: 2"]
        assert found.votes == [
            "Speaker 1 (vendor 0/model) votes for Speaker 1",
            "Speaker 2 (vendor 1/model) votes for Speaker 1",
            "Speaker 3 (vendor 2/model) votes for Speaker 2",
            "Speaker 4 (vendor 3/model) abstains: it abstained",
            "Speaker 5 (vendor 4/model) abstains: it gave no usable ballot",
            "Speaker 6 (vendor 5/model) abstains: it gave no usable ballot",
        ]
        assert [failure.seat for failure in at.debate.failures] == ["Speaker 5", "Speaker 6", "Speaker 5"]
        assert len(at.debate.ballots) == 4

    def test_votes_for_two_who_defend_the_same_are_counted_together(self) -> None:
        who = [
            {"name": name, "stance": stance}
            for name, stance in (("Ada", "no"), ("Bob", "yes"), ("Cleo", "no"))
        ]
        opened = build_setup(debaters=who, options={"phases": DECIDES})
        at = simulate(
            opened, task_script({"ballot": lambda c: ballot("A1" if c.seat == "Ada" else "C1")})
        ).play()
        assert build_verdict(at.debate).ballots == ["no: 3 votes"]

    def test_the_reasoning_is_that_of_the_first_who_voted_for_the_winner(self) -> None:
        assert verdict(B, NONE, B).reasoning == "Speaker 2 was better supported."
        assert verdict(A, B).reasoning == ""

    def test_a_model_too_small_to_judge_casts_no_vote(self) -> None:
        found = verdict(Reply(A, build_usage("local"), informative=False), B, B)
        assert (found.winner, found.votes[0]) == (
            "Speaker 2",
            "Speaker 1 (local) abstains: it is too small a model to judge",
        )
        assert found.ballots == ["stance 2: 2 votes", "not counted: 1"]
        assert any("embedded model" in caution for caution in found.cautions)

    def test_a_verdict_and_a_transcript_show_the_vote(self) -> None:
        at = vote(A, NONE, PROSE).play()
        shown = render_transcript(at.debate, at.log)
        assert '*Speaker 1 votes for Speaker 1 (80%): "Speaker 1 was better supported."*' in shown
        assert '*Speaker 2 votes for no side: "None was better supported."*' in shown
        assert '*Speaker 3 failed: "beliefs" must give a percentage for each of Speaker 1, Speaker 2' in shown
        assert "**Votes**\n- Speaker 1 (vendor 0/model) votes for Speaker 1\n" in shown
        assert "**Ballots**\n- stance 1: 1 vote\n- abstained: 1\n- missing: 1\n" in shown
        assert [row["seat"] for row in build_round(at.debate, 2)["ballots"]] == ["Speaker 1", "Speaker 2"]


class TestReading:
    def test_ballots_are_private(self) -> None:
        at = vote(A, B, C, phases=STRAW).play()
        assert not any("better supported." in render_prompt_text(prompt) for _, prompt in at.calls_made)


class TestWhatDecides:
    def test_without_a_ballot_the_debate_pauses(self) -> None:
        at = vote(LOST, LOST).play()
        assert at.status == "paused"
        assert status_reason(at.debate).startswith("0 of 2 answered in round 2 (voting), 1 needed.")
        at.script = task_script({"ballot": A})
        assert build_verdict(at.add_events(Resumed()).play().debate).outcome == "leaning"

    def test_a_straw_poll_decides_nothing_and_the_last_vote_does(self) -> None:
        def script(call: Call) -> ScriptAnswer:
            return A if call.round == 2 else B

        at = vote(A, A, phases=STRAW)
        at.script = task_script({"ballot": script})
        at.play_through_round(2)
        assert at.debate.verdict is None
        at.play()
        assert [entered.phase for entered in at.debate.rounds] == [
            "opening",
            "voting",
            "rebuttal",
            "voting 2",
        ]
        found = build_verdict(at.debate)
        assert (found.winner, found.reasoning) == ("Speaker 2", "Speaker 2 was better supported.")
        assert found.ballots == ["stance 2: 2 votes"]
        assert len(at.debate.ballots) == 4

    def test_a_ballot_of_an_earlier_vote_is_no_vote(self) -> None:
        at = vote(A, A, phases=STRAW)
        at.script = task_script({"ballot": lambda c: PROSE if (c.seat, c.round) == ("Speaker 1", 4) else A})
        found = build_verdict(at.play().debate)
        assert found.votes[0] == "Speaker 1 (vendor 0/model) abstains: it gave no usable ballot"
        assert found.ballots == ["stance 1: 1 vote", "missing: 1"]

    def test_a_straw_poll_without_ballots_stops_nothing(self) -> None:
        at = vote(A, A, phases=STRAW)
        at.script = task_script({"ballot": lambda c: LOST if c.round == 2 else A})
        assert at.play().status == "concluded"

    def test_where_there_are_judges_the_vote_is_told_and_does_not_decide(self) -> None:
        at = vote(B, B, phases=["opening", "voting", "verdict"]).play()
        found = build_verdict(at.debate)
        assert found.winner == "Speaker 1"
        assert found.ballots == ["stance 2: 2 votes"]
        lost = vote(LOST, LOST, phases=["opening", "voting", "verdict"]).play()
        assert lost.status == "concluded"
        assert build_verdict(lost.debate).ballots == []

    def test_a_talk_concluded_during_a_straw_poll_is_not_taken_up_again(self) -> None:
        at = vote(A, B, phases=STRAW).play_to_round(2)
        at.intervene("conclude", reason="enough")
        at.play()
        assert [entered.phase for entered in at.debate.rounds] == ["opening", "voting", "voting 2"]
        assert at.debate.ended
        assert at.debate.ended.reason == "request: concluded on request"
