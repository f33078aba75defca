"""Who is shown what: names, models, turns, instructions and notes."""

from typing import Any

import pytest

from server.debate.ballots.waves import is_private_ballot
from tests.support.prompt_texts import UNUSUAL, blocks, last_line, malformed_first_reply, note, render_prompts
from tests.support.simulation import ARGUED_FORMATS, build_setup, render_prompt_text, simulate

pytestmark = pytest.mark.requirement("D19")


class TestAnonymity:
    @pytest.mark.requirement("C7", "C9")
    @pytest.mark.parametrize("name", ARGUED_FORMATS)
    def test_no_prompt_holds_the_name_of_a_seat(self, name: str) -> None:
        at = simulate(build_setup(format=name, debaters=UNUSUAL), malformed_first_reply)
        at.play_to_round(1).add_events(note("Go on."), note("To you.", to="Quirina")).play()
        assert {call.attempt for call, _ in at.calls_made} == {1, 2}
        for call, prompt in at.calls_made:
            assert not any(debater["name"] in str(prompt) for debater in UNUSUAL), call

    @pytest.mark.requirement("C9")
    def test_judges_see_names_without_anonymization(self) -> None:
        at = simulate(build_setup(debaters=UNUSUAL, options={"judges": {"anonymize": False}})).play()
        for call, prompt in at.calls_made:
            seen = {
                1: "A1 is Zebulon; B1 is Quirina; C1 is Xanthippe.",
                2: "A1 is Quirina; B1 is Xanthippe; C1 is Zebulon.",
            }
            text = render_prompt_text(prompt)
            assert seen[call.reading] in text if call.reading else "Zebulon" not in text

    def test_models_are_in_no_prompt(self) -> None:
        at = simulate(build_setup(["vendor/secret"]), malformed_first_reply).play()
        assert not any("secret" in str(prompt) for _, prompt in at.calls_made)


class TestWhoSeesWhat:
    def test_debaters_who_write_together_do_not_see_each_other(self) -> None:
        at = simulate().play_to_round(2)
        before = render_prompts(at)
        calls = at.pending_calls()
        at.add_events(at.answer(calls[0]))
        assert render_prompts(at) == before[1:]
        assert len(blocks(before[1])) == 2

    @pytest.mark.requirement("C2")
    def test_in_declared_order_later_speakers_see_earlier_turns(self) -> None:
        at = simulate(build_setup(format="verdict", debaters=UNUSUAL)).play_to_round(1)
        for seen in range(3):
            assert len(blocks(render_prompts(at)[0])) == seen
            at.add_events(at.answer(at.pending_calls()[0]))

    def test_a_role_and_a_system_prompt_reach_only_their_seat(self) -> None:
        request = [
            {"name": "Ada", "stance": "yes", "role": "the economist", "system_prompt": "Use figures."},
            {"name": "Bob", "stance": "no", "role": "the engineer", "system_prompt": "Use diagrams."},
        ]
        at = simulate(build_setup(debaters=request)).play()
        for own, other, seat in [("figures", "diagrams", "Ada"), ("diagrams", "figures", "Bob")]:
            assert all(own in prompt and other not in prompt for prompt in at.prompts(seat))
        assert not any("economist" in p or "figures" in p for p in at.prompts("judge 1"))

    def test_the_judges_prompt_reaches_only_judges(self) -> None:
        at = simulate(build_setup(options={"judges": {"prompt": "Ask who pays."}})).play()
        assert all(
            ("Ask who pays." in render_prompt_text(prompt)) == (call.reading > 0)
            for call, prompt in at.calls_made
        )

    def test_a_seats_prompt_may_replace_the_steps_of_its_task_and_not_the_shape_of_its_answer(self) -> None:
        own = {"prompt": "Find for the cheaper one.", "replaces_task": True}
        at = simulate(build_setup(options={"judges": own})).play()
        for prompt in at.prompts("judge 1"):
            assert "Find for the cheaper one." in prompt
            assert "You are a judge." not in prompt
            assert "No turn is left out." in prompt or "Left out: " in prompt
            assert last_line(prompt).startswith("Answer with JSON only: ")

    def test_a_moderators_prompt_may_replace_its_steps(self) -> None:
        own = {"prompt": "Let the shy one begin.", "replaces_task": True}
        at = simulate(build_setup(format="verdict", options={"moderator": own})).play()
        for prompt in at.prompts("moderator"):
            assert "Let the shy one begin." in prompt
            assert "You are the moderator" not in prompt

    def test_who_has_a_prompt_in_place_of_its_steps_is_still_told_who_it_is(self) -> None:
        team = [
            {"name": name, "stance": name, "role": "clerk", "system_prompt": "Mine.", "replaces_task": True}
            for name in ("Ada", "Bob")
        ]
        at = simulate(build_setup(format="full", debaters=team)).play()
        told = {
            (call.task, render_prompt_text(prompt))
            for call, prompt in at.calls_made
            if call.seat == "Ada" and not is_private_ballot(call.slot_index)
        }
        for task, text in told:
            if task == "ballot":
                assert "You were A1, and do not vote as such." in text
            else:
                assert "You are A1. Your position: Ada\nYour role: clerk" in text
        assert {task for task, _ in told} == {"argument", "message", "answer", "ballot"}

    def test_an_audience_with_a_prompt_of_its_own_is_told_how_the_record_is_ordered_where_there_is_one(
        self,
    ) -> None:
        own = {"prompt": "Vote.", "replaces_task": True}
        at = simulate(build_setup(format="oxford", options={"judges": own})).play()
        told = ["silence about it counts against nobody." in prompt for prompt in at.prompts("voter 1")]
        assert told == [False, True]

    @pytest.mark.requirement("C14")
    def test_instructions_reach_the_seats_that_have_no_prompt_of_their_own(self) -> None:
        own = {"name": "Ada", "stance": "yes", "system_prompt": "Use figures."}
        request: dict[str, Any] = {
            "format": "verdict",
            "debaters": [own, {"name": "Bob", "stance": "no", "role": "engineer"}],
            "options": {
                "instructions": "Be kind.",
                "moderator": {"opens": True, "closes": True, "prompt": "Be strict."},
                "referee": {},
                "judges": {"prompt": "Ask who pays."},
                "synthesizer": True,
            },
        }
        at = simulate(build_setup(**request)).play()
        instructed = {
            call.seat
            for call, prompt in at.calls_made
            if "\nTo be followed:\n> Be kind.\n" in render_prompt_text(prompt)
        }
        assert instructed == {"Bob", "referee", "synthesizer"}
        assert {call.seat for call, _ in at.calls_made} - instructed == {"Ada", "moderator", "judge 1"}
        assert all("\nTo be followed:\n> Be strict.\n" in prompt for prompt in at.prompts("moderator"))


class TestNotes:
    def test_a_note_to_all_is_in_every_later_prompt(self) -> None:
        at = simulate().play_through_round(1).add_events(note("Mind the costs.")).play()
        for call, prompt in at.calls_made:
            is_told = "[note to everybody]\n> Mind the costs." in render_prompt_text(prompt)
            assert is_told == (call.round > 1)

    def test_a_note_made_during_a_round_is_in_the_later_prompts_of_it(self) -> None:
        at = simulate(build_setup(format="verdict")).play_to_round(1)
        at.add_events(at.answer(at.pending_calls()[0]), note("Mind the costs.")).play()
        assert ["Mind the costs." in render_prompt_text(prompt) for _, prompt in at.calls_made] == [True] * 5

    def test_a_note_to_one_debater_is_in_no_other_prompt(self) -> None:
        at = simulate().play_through_round(1).add_events(note("Mind the costs.", to="Opponent")).play()
        for call, prompt in at.calls_made:
            assert ("> Mind the costs." in render_prompt_text(prompt)) == (
                call.seat == "Opponent" and call.round > 1
            )
