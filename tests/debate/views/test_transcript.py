"""Transcripts and the raw result: which turns stand in them, and in which order."""

import pytest

from server.debate.views.state import visible_turns
from server.debate.views.verdict import build_result, build_verdict
from tests.support.plain_debates import over
from tests.support.simulation import (
    QUESTION,
    build_debaters,
    build_setup,
    render_finding,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C11", "D2")


class TestTranscript:
    def test_it_is_every_turn_with_round_phase_agent_and_stance(self) -> None:
        at = over()
        assert [turn.model_dump() for turn in visible_turns(at.debate)][-1:] == [
            {
                "round": 2,
                "phase": "rebuttal",
                "agent": at.debate.rounds[1].order[-1],
                "stance": at.debate.debater(at.debate.rounds[1].order[-1]).stance,
                "text": f"{at.debate.rounds[1].order[-1]} in 2",
                "act": "argument",
                "to": "",
                "retracted": False,
                "unanswered": False,
            }
        ]
        assert len(visible_turns(at.debate)) == 4

    def test_turns_that_answer_one_another_stand_as_they_were_spoken(self) -> None:
        at = over(format="verdict", debaters=build_debaters(6))
        assert [turn.agent for turn in visible_turns(at.debate, 2)] == [f"Speaker {n}" for n in range(1, 7)]

    def test_the_raw_result_is_rounds_question_transcript_verdict_and_decisions(self) -> None:
        at = over()
        answer = build_verdict(at.debate).answer
        assert build_result(at.debate) == {
            "answer": answer.model_dump(exclude_defaults=True),
            "rounds": 2,
            "question": QUESTION,
            "transcript": [turn.model_dump(exclude_defaults=True) for turn in visible_turns(at.debate)],
            "verdict": {
                "verdict": "It is not worth it.",
                "winner": "Proponent",
                "winner_stance": "for",
                "reasoning": "Costs were never answered.",
                "outcome": "leaning",
            },
            "moderator_decisions": [],
            "moderator_summaries": [],
        }

    @pytest.mark.requirement("C8", "C20")
    def test_a_null_winner_is_a_synthesis_and_its_verdict_the_position_that_was_made(self) -> None:
        finding = render_finding(None, recommendation="Half now, the rest in May.")
        judges = {"models": ["a/x", "b/y", "c/z"]}
        at = simulate(build_setup(options={"judges": judges}), task_script({"judgment": finding})).play()
        assert build_result(at.debate)["verdict"] == {
            "verdict": "Half now, the rest in May.",
            "winner": None,
            "winner_stance": "",
            "reasoning": "It is not worth it.",
            "outcome": "synthesis",
        }
        found = build_verdict(at.debate)
        assert (found.winner, found.winner_stance, found.ahead) == ("", "", "")
        assert found.votes[0].startswith("judge 1 (a/x): a position made of the others, margin ")
        assert (found.panel.support, found.dissent) == ("1", [])
