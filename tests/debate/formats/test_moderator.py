"""A moderator who opens the rounds: who speaks, on which facts, from what angle, and for how long."""

import json
from typing import Any

import pytest

from server.debate.facts.answers import DefaultPlanUsed
from server.debate.facts.events import Ended, Failed, RoundOpened
from server.debate.machine.decide import decide
from server.debate.machine.interpret import interpret
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.seats.referee import Audited
from server.debate.views.state import status_reason
from server.debate.views.verdict import build_result
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    build_usage,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C3")

ONE, TWO, THREE = (f"Speaker {n}" for n in (1, 2, 3))
PLAN: dict[int, dict[str, Any]] = {
    1: {"next_speakers": [THREE, ONE], "briefing": "It costs 100.", "new_angle": None, "done": False},
    2: {"next_speakers": [TWO, ONE, TWO], "briefing": None, "new_angle": "Who pays?", "done": False},
    3: {"next_speakers": [ONE], "briefing": None, "new_angle": None, "done": True},
}


def moderated(plan: dict[int, Any] | None = None, rounds: int = 5, **options: Any) -> DebateSimulation:
    made = build_setup(
        format="verdict", debaters=build_debaters(3), max_rounds=rounds, options={"moderator": {}, **options}
    )
    plans = PLAN if plan is None else plan
    return simulate(made, task_script({"opening": lambda c: plans.get(c.round, plans[max(plans)])}))


def opens(said: object) -> RoundOpened | Failed:
    at = moderated().play_to_round(2)
    (call,) = at.pending_calls()
    reply = said if isinstance(said, str) else json.dumps(said)
    event = interpret(at.debate, call, Reply(reply, build_usage()))
    assert isinstance(event, RoundOpened | Failed)
    return event


def refused(said: object) -> str:
    event = opens(said)
    assert isinstance(event, Failed)
    return event.detail


def spoken(at: DebateSimulation) -> list[list[str]]:
    return [
        [turn.seat for turn in at.debate.transcript_turns(number)]
        for number in range(1, at.debate.talk_round_count + 1)
    ]


class TestTheOrder:
    def test_those_speak_who_are_chosen_in_the_order_chosen_some_of_them_twice(self) -> None:
        at = moderated().play()
        assert spoken(at) == [[THREE, ONE], [TWO, ONE, TWO], [ONE]]
        assert [turn.slot_index for turn in at.debate.turns if turn.round == 2] == [0, 0, 1]

    def test_who_speaks_twice_sees_what_was_said_in_between(self) -> None:
        at = moderated().play()
        prompts = [render_prompt_text(p) for c, p in at.calls_made if (c.seat, c.round) == (TWO, 2)]
        first, second = (at.debate.transcript_turns(2)[index].text for index in (0, 1))
        assert first not in prompts[0]
        assert first in prompts[1]
        assert second in prompts[1]

    @pytest.mark.parametrize("names", [["A1", "c1"], ["stance 1", "STANCE 3"], ["speaker 1", " Speaker 3."]])
    def test_speakers_are_known_by_letter_stance_and_name(self, names: list[str]) -> None:
        event = opens({"next_speakers": names, "done": False})
        assert isinstance(event, RoundOpened)
        assert event.next_speakers == (ONE, THREE)


@pytest.mark.requirement("C3", "C12")
class TestDone:
    def test_a_round_with_done_still_runs_and_then_the_talk_ends(self) -> None:
        at = moderated().play()
        assert spoken(at)[2] == [ONE]
        assert at.debate.rounds[-1].because == "moderator_done"
        assert at.debate.ended == Ended(ending="concluded", cause="moderator_done")

    def test_done_with_nobody_ends_the_talk_at_once(self) -> None:
        at = moderated({1: PLAN[1], 2: {"next_speakers": [], "done": True}}).play()
        assert spoken(at) == [[THREE, ONE], []]
        assert at.debate.ended == Ended(ending="concluded", cause="moderator_done")

    def test_nothing_is_looked_back_on_where_nobody_spoke(self) -> None:
        plan = {1: PLAN[1], 2: {"next_speakers": None, "done": True}}
        at = moderated(plan, referee=True, moderator={"opens": True, "closes": True}).play()
        assert [audited.round for audited in at.debate.find_readings(Audited)] == [1]
        assert [closed.round for closed in at.debate.round_summaries] == [1, 2]


@pytest.mark.requirement("C4")
class TestRefused:
    def test_an_unknown_name_is_told_with_the_names_there_are(self) -> None:
        assert refused({"next_speakers": [ONE, "Zoe"]}) == (
            'next_speakers: nobody here is called "Zoe". Known: A1, B1, C1'
        )

    @pytest.mark.parametrize("said", [{"next_speakers": []}, {"next_speakers": None, "done": None}, {}])
    def test_nobody_without_done_is_refused(self, said: dict[str, Any]) -> None:
        assert refused(said) == (
            "next_speakers is empty although done is false: name who speaks. Known: A1, B1, C1"
        )

    def test_nobody_is_refused_as_long_as_nothing_was_said(self) -> None:
        at = moderated({1: {"next_speakers": [], "done": True}}).play_to_round(1)
        event = interpret(
            at.debate, at.pending_calls()[0], Reply('{"next_speakers": [], "done": true}', build_usage())
        )
        assert isinstance(event, Failed)
        assert event.detail.startswith("next_speakers is empty although nobody has spoken yet. Known: A1")

    def test_a_crowd_of_speakers_is_refused(self) -> None:
        assert refused({"next_speakers": [ONE] * 7}) == "next_speakers has 7 labels, and 6 are allowed"
        assert isinstance(opens({"next_speakers": [ONE] * 6}), RoundOpened)

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ("Speaker 1, please.", "the reply holds no JSON object"),
            ([ONE], "the answer: Input should be a valid dictionary"),
            ({"next_speakers": [1]}, "next_speakers.0: Input should be a valid string"),
            ({"next_speakers": [ONE], "done": "later"}, "done: Input should be a valid boolean"),
        ],
    )
    def test_what_cannot_be_read_is_refused(self, said: object, why: str) -> None:
        assert refused(said).startswith(why)

    @pytest.mark.requirement("D3")
    @pytest.mark.parametrize("answer", ["Well.", ProviderFailure("timeout")])
    def test_a_moderator_who_gives_up_is_stood_in_for_on_record(self, answer: ScriptAnswer) -> None:
        at = moderated(rounds=1)
        at.script = task_script({"opening": lambda _: answer})
        at.play()
        (opened,) = at.debate.round_plans
        assert opened == DefaultPlanUsed(
            round=1,
            next_speakers=(ONE, TWO, THREE),
            reason="the moderator gave no usable answer, so everybody speaks as declared",
        )
        assert spoken(at) == [[ONE, TWO, THREE]]
        assert at.status == "concluded"
        assert len(at.debate.failures) in (1, 2)

    def test_nobody_stands_in_where_the_talk_is_being_concluded(self) -> None:
        at = moderated().play_to_round(2)
        at.script = task_script({"opening": lambda _: ProviderFailure("timeout")})
        call = at.pending_calls()[0]
        at.add_events(at.answer(call))
        made = decide(at.debate)
        assert isinstance(made.events[0], DefaultPlanUsed)  # type: ignore[union-attr]  # it is a Record
        assert not at.pending_calls()


@pytest.mark.requirement("C5")
class TestBriefing:
    def test_those_who_speak_see_the_briefing_and_the_angle_each_on_its_own(self) -> None:
        at = moderated().play()
        briefing = "[the moderator's briefing for this round]\n> It costs 100."
        angle = "[the moderator asks this round to focus on]\n> Who pays?"
        for call, prompt in at.calls_made:
            if call.task == "argument":
                told = render_prompt_text(prompt).partition(f"# Round {call.round}: ")[2]
                assert (briefing in told, angle in told) == (call.round == 1, call.round == 2)

    def test_a_moderator_is_told_whom_it_called_by_label_and_how_many_rounds_are_left(self) -> None:
        at = moderated({1: PLAN[1], 2: PLAN[2], 3: {"next_speakers": [], "done": True}}, rounds=4).play()
        last = at.prompts("moderator")[2].rpartition("\n\n")[2]
        assert "\nYou called in round 1 C1, A1; in round 2 B1, A1, B1.\n" in last
        assert "Speaker" not in last
        assert "Rounds left after this one: 1." in last


@pytest.mark.requirement("C11")
class TestDecisions:
    def test_a_decision_is_read_by_those_names_too(self) -> None:
        event = opens({"nextSpeakers": [ONE], "newAngle": "Who pays?", "done": True})
        assert isinstance(event, RoundOpened)
        assert (event.next_speakers, event.new_angle, event.done) == ((ONE,), "Who pays?", True)


@pytest.mark.requirement("C20")
def test_the_result_keeps_what_the_moderator_said_of_every_round() -> None:
    def closing(call: Call) -> dict[str, Any]:
        return {
            "summary": f"So far {call.round}.",
            "status": "CONTINUE",
            "decision": f"Not yet, {call.round}.",
        }

    at = moderated(moderator={"opens": True, "closes": True})
    at.script = task_script({"opening": {"next_speakers": [ONE, TWO]}, "closing": closing})
    found = build_result(at.play().debate)["moderator_summaries"]
    assert found == [
        {"round": n, "summary": f"So far {n}.", "settled": False, "decision": f"Not yet, {n}."}
        for n in range(1, at.debate.held_round_count + 1)
    ]
    assert len(found) > 1
    at = moderated(moderator={"opens": True, "closes": True}, visibility={"hide_from_client": ["moderator"]})
    at.script = task_script({"opening": {"next_speakers": [ONE, TWO]}, "closing": closing})
    assert build_result(at.play().debate)["moderator_summaries"] == []


def test_a_debater_whose_place_comes_twice_is_one_voice() -> None:
    def script(call: Call) -> ScriptAnswer:
        return (
            ProviderFailure("timeout", "gone")
            if call.seat == ONE
            else task_script({"opening": PLAN[2]})(call)
        )

    at = moderated()
    at.script = script
    assert at.play().status == "paused"
    assert status_reason(at.debate).startswith("1 of 2 answered in round 1 (argumentation), 2 needed.")
