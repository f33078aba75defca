import pytest

from server.debate.facts.events import Paused, Resumed
from server.debate.facts.interventions import NoteAdded, TalkConcluded
from server.debate.interventions.registry import ACTIONS
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.events import build_event_row, build_interventions
from server.debate.views.rounds import build_analysis, build_round
from tests.support.simulation import (
    DebateSimulation,
    ScriptAnswer,
    build_setup,
    build_usage,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("D2")


def plain_script(call: Call) -> ScriptAnswer:
    return render_finding() if call.reading else f"{call.seat} in {call.round}"


def play_debate(**request: object) -> DebateSimulation:
    return simulate(build_setup(**request), plain_script).play()  # type: ignore[arg-type]  # whatever a proposal may hold


class TestInterventions:
    def test_interventions_record_actor_time_and_reason(self) -> None:
        at = simulate().add_events(NoteAdded(text="Mind.", to="Opponent", reason="they forget"))
        at.play_to_round(1).add_events(Paused(reason="lunch"), Resumed(reason="back"))
        at.play_through_round(1).add_events(TalkConcluded(reason="enough"))
        found = build_interventions(at.stored())
        assert (found["settings"]["paused"], found["settings"]["concluding"]) == (False, True)
        assert found["settings"]["actions"] == ACTIONS
        assert [(row["action"], row["reason"], row["text"], row["to"]) for row in found["log"]] == [
            ("inject", "they forget", "Mind.", "Opponent"),
            ("pause", "lunch", "", ""),
            ("resume", "back", "", ""),
            ("conclude", "enough", "", ""),
        ]
        assert found["log"][0]["seq"] == 2
        assert found["log"][0]["actor"] == "tester"
        assert found["log"][0]["at"] == at.log[1].at


class TestAnalysis:
    def test_it_counts_by_round_debater_and_judge(self) -> None:
        def script(call: Call) -> ScriptAnswer:
            is_last = (call.seat, call.round) == ("Opponent", 2)
            return Reply(str(plain_script(call)) + " More." * is_last, build_usage(), cut=is_last)

        at = simulate(script=script).play()
        counts = build_analysis(at.debate)
        assert counts["rounds"] == [
            {"round": 1, "phase": "opening", "turns": 2, "judgments": 0, "failures": 0},
            {"round": 2, "phase": "rebuttal", "turns": 2, "judgments": 0, "failures": 0},
            {"round": 3, "phase": "verdict", "turns": 0, "judgments": 2, "failures": 0},
        ]
        assert counts["debaters"] == {
            "Proponent": {"turns": 2, "words": 6, "cut": 0, "failures": 0},
            "Opponent": {"turns": 2, "words": 7, "cut": 1, "failures": 0},
        }
        assert counts["judges"] == {
            "judge 1": [
                {"reading": 1, "winner": "Proponent", "margin": 2},
                {"reading": 2, "winner": "Proponent", "margin": 2},
            ]
        }


class TestRounds:
    def test_a_round_is_its_turns_its_judgments_and_its_failures(self) -> None:
        at = play_debate()
        first, last = build_round(at.debate, 1), build_round(at.debate, 3)
        assert (first["round"], first["phase"], first["because"], first["over"]) == (1, "opening", "", True)
        assert [turn["agent"] for turn in first["turns"]] == list(at.debate.rounds[0].order)
        assert first["judgments"] == []
        assert (last["phase"], last["because"], last["over"], last["turns"]) == (
            "verdict",
            "max_rounds: the last round was held",
            True,
            [],
        )
        assert last["judgments"] == [
            {
                "seat": "judge 1",
                "slot_index": reading,
                "winner": "Proponent",
                "margin": 2,
                "verdict": "It is not worth it.",
                "reasoning": "Costs were never answered.",
                "criteria": {},
                "cited": [],
            }
            for reading in (1, 2)
        ]


class TestRecord:
    def test_an_event_row_has_the_event_and_its_place_in_the_chain(self) -> None:
        at = simulate().play_to_round(1)
        assert build_event_row(at.debate, at.log[1]) == {
            "seq": 2,
            "at": "2026-12-01T10:00:02.000Z",
            "actor": "tester",
            "hash": f"{2:064x}",
            "names": ["phase_start"],
            "kind": "phase_entered",
            "phase": "opening",
            "round": 1,
            "order": list(at.debate.rounds[0].order),
            "because": "",
            "detail": "",
        }
