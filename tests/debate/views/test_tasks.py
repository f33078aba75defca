"""Debates for those who look closely: every question with what became of it, and events by their names."""

from collections import Counter

import pytest

from server.debate.facts.answers import Researched, Usage
from server.debate.facts.events import Paused, Resumed
from server.debate.facts.interventions import NoteAdded
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.events import build_event_row, event_names
from server.debate.views.rounds import list_tasks
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    build_usage,
    default_script,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C16")

TALK_TASKS = ("argument", "opening", "closing", "audit", "message", "answer")
EVERY_TASK = (*TALK_TASKS, "ballot", "judgment", "deliverable")


def rows(at: DebateSimulation) -> list[tuple[int, str, str, str]]:
    return [(row["round"], row["seat"], row["task"], row["state"]) for row in list_tasks(at.debate)]


class TestTasks:
    def test_a_task_says_who_when_what_became_of_it_and_how_long_it_took(self) -> None:
        used = Usage(model="vendor/m-2026", milliseconds=1234, attempts=2)
        at = simulate(script=lambda _: Reply("So.", used)).play_through_round(1)
        assert list_tasks(at.debate)[0] == {
            "round": 1,
            "phase": "opening",
            "seat": "Proponent",
            "task": "argument",
            "state": "done",
            "model": "vendor/m-2026",
            "milliseconds": 1234,
            "attempts": 2,
            "detail": "",
        }

    def test_what_is_under_way_is_open_and_what_failed_says_why(self) -> None:
        def script(call: Call) -> ScriptAnswer:
            lost = ProviderFailure("timeout", "no answer in 120 s")
            return lost if call.seat == "Speaker 1" else default_script(call)

        at = simulate(build_setup(format="verdict", debaters=build_debaters(3)), script).play_to_round(1)
        assert rows(at) == [(1, "Speaker 1", "argument", "open")]
        at.step()
        assert rows(at) == [(1, "Speaker 1", "argument", "failed"), (1, "Speaker 2", "argument", "open")]
        failed = list_tasks(at.debate)[0]
        assert (failed["model"], failed["detail"], failed["milliseconds"]) == (
            "scripted",
            "no answer in 120 s",
            0,
        )

    def test_a_second_attempt_is_told(self) -> None:
        at = simulate(script=lambda _: "").play_to_round(1)
        at.add_events(at.answer(at.pending_calls()[0]))
        assert [(row["state"], row["attempts"]) for row in list_tasks(at.debate)] == [
            ("failed", 1),
            ("open", 2),
            ("open", 1),
        ]

    def test_every_kind_of_task_is_there_round_by_round(self) -> None:
        options = {"moderator": {"opens": True, "closes": True}, "referee": True, "synthesizer": True}
        at = simulate(build_setup(format="full", options=options)).play()
        tasks = Counter(row["task"] for row in list_tasks(at.debate))
        assert tasks == dict(zip(EVERY_TASK, (10, 5, 6, 6, 2, 2, 2, 2, 1), strict=True))
        numbers = [row["round"] for row in list_tasks(at.debate)]
        assert numbers == sorted(numbers)
        assert {row["state"] for row in list_tasks(at.debate)} == {"done"}

    def test_every_kind_of_task_can_fail(self) -> None:
        options = {
            "moderator": {"opens": True, "closes": True},
            "referee": True,
            "synthesizer": True,
            "judges": {"count": 2},
        }
        lost = ProviderFailure("timeout")
        voted = build_setup(format="full", debaters=build_debaters(3), options=options)

        def script(call: Call) -> ScriptAnswer:
            spared = call.seat in ("Speaker 1", "Speaker 2") and call.task in ("argument", "message")
            return default_script(call) if spared or call.seat == "judge 1" else lost

        at = simulate(voted, script).play_on()
        assert {row["task"] for row in list_tasks(at.debate) if row["state"] == "failed"} == set(EVERY_TASK)

    def test_a_hand_off_that_could_not_be_used_is_a_task_of_its_own(self) -> None:
        at = simulate(build_setup(format="handoff", max_rounds=2)).play_to_round(2)
        assert rows(at)[:2] == [(1, "Proponent", "argument", "done"), (1, "Proponent", "handoff", "failed")]

    def test_what_nobody_was_asked_for_is_no_task(self) -> None:
        at = simulate().add_events(NoteAdded(text="x"), Paused(reason="lunch"), Resumed())
        assert rows(at) == []


@pytest.mark.requirement("D21")
class TestNames:
    def names(self, at: DebateSimulation) -> list[str]:
        return [name for entry in at.log for name in build_event_row(at.debate, entry)["names"]]

    def test_a_debate_tells_its_beginning_its_phases_its_messages_its_votes_and_its_end(self) -> None:
        talk = ["phase_start", "agent_message", "agent_message", "phase_end"]
        verdict = ["phase_start", "vote", "vote", "consensus", "verdict", "phase_end"]
        assert self.names(simulate().play()) == ["debate_start", *talk, *talk, *verdict, "debate_end"]

    def test_what_goes_wrong_and_what_callers_do_has_names_too(self) -> None:
        at = simulate(
            build_setup(format="handoff", max_rounds=2), task_script({"judgment": ProviderFailure("timeout")})
        )
        at.add_events(NoteAdded(text="x"), Paused(reason="lunch"), Resumed()).play_to_round(1)
        at.add_events(Researched(seen=1, seat="Proponent", round=1, lookups=(), usage=build_usage())).play()
        assert self.names(at) == [
            *("debate_start", "intervention", "debate_pause", "debate_resume", "phase_start", "research"),
            *("agent_message", "agent_error", "handoff", "phase_end", "phase_start", "agent_message"),
            *("phase_end", "phase_start", "agent_error", "agent_error", "debate_pause"),
        ]

    def test_those_who_lead_speak_too(self) -> None:
        options = {"moderator": {"opens": True, "closes": True}, "referee": True, "synthesizer": True}
        at = simulate(build_setup(format="verdict", max_rounds=1, options=options)).play()
        told = {entry.event.kind: event_names(at.debate, entry.event) for entry in at.log}
        for kind in ("round_opened", "round_closed", "audited", "synthesized"):
            assert told[kind] == ["agent_message"]
