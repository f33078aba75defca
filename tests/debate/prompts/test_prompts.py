import re
from typing import Any

import pytest

from server.debate.commands.formats import FORMATS
from server.debate.facts.config import Debater
from server.debate.facts.interventions import NoteAdded
from server.debate.prompts.render import render
from server.debate.prompts.response_schemas import json_instruction
from server.debate.prompts.transcript import stance_tag
from server.debate.prompts.wording import (
    COMMON_RULES,
    ORDER_INSTRUCTIONS,
    PHASE_INSTRUCTIONS,
    phase_instruction,
)
from server.debate.rules.decide import Call
from tests.support.simulation import (
    DebateSimulation,
    ScriptAnswer,
    build_debaters,
    build_setup,
    default_script,
    render_finding,
    render_prompt_text,
    simulate,
)

pytestmark = pytest.mark.requirement("D19")

UNUSUAL = [
    {"name": "Zebulon", "stance": "build it"},
    {"name": "Quirina", "stance": "buy it"},
    {"name": "Xanthippe", "stance": "wait"},
]


def note(text: str, *, number: int = 1, to: str = "") -> NoteAdded:
    return NoteAdded(text=text, round=number, to=to)


def last_line(prompt_text: str) -> str:
    return prompt_text.rpartition("\n")[2]


def render_prompts(at: DebateSimulation) -> list[str]:
    """The prompts of all the questions that are to be put now."""
    return [render_prompt_text(render(at.debate, call)) for call in at.pending_calls()]


def blocks(prompt_text: str) -> list[str]:
    """The turns and notes of a prompt, in its order, as (heading, first quoted line)."""
    return re.findall(r"^\[(?:[A-Z] \d\.1|note to everybody)\]\n> (.*)$", prompt_text, re.MULTILINE)


COMPLETE = f"""\
{COMMON_RULES["advocate"]}
# Question
> Should a small team write its own scheduler?

# Document 1
> Costs https://example.org
>
> It costs
> 100.

# Positions
> A. yes
> B. no never

# Round 1: opening
Written without seeing each other. {PHASE_INSTRUCTIONS["opening"]}

[A: yes]
[A 1.1]
> Yes.
> Truly.

[B: no never]
[B 1.1]
> No.
> Truly.

[note to everybody]
> Mind the costs.

# Round 2: rebuttal
Written without seeing each other. {PHASE_INSTRUCTIONS["rebuttal"]}

To be followed:
> Be kind.
You are A. Your position: yes
The question: "Should a small team write its own scheduler?"
Talk round 2 of at most 2. Numbered points in plain prose, at most 180 words."""


class TestLayout:
    def test_a_complete_prompt(self) -> None:
        request: dict[str, Any] = {
            "debaters": [{"name": "Ada", "stance": "yes"}, {"name": "Bob", "stance": "no\nnever"}],
            "documents": [{"title": "Costs", "text": "It costs\n100.", "url": "https://example.org"}],
            "options": {"instructions": "Be kind.", "seed": 1},
        }
        at = simulate(
            build_setup(**request), script=lambda call: f"{'Yes' if call.seat == 'Ada' else 'No'}.\nTruly."
        )
        at.play_through_round(1).add_events(note("Mind the costs.")).play_to_round(2)
        assert [m.role for m in render(at.debate, at.pending_calls()[0]).messages] == ["system", "user"]
        assert render_prompts(at)[0] == COMPLETE

    def test_without_documents_their_heading_is_absent(self) -> None:
        (prompt, _) = render_prompts(simulate().play_to_round(1))
        assert "# Document" not in prompt

    def test_every_phase_of_every_format_has_a_text(self) -> None:
        for name, row in FORMATS.items():
            at = simulate(build_setup(format=name)).play()
            for phase in row.phases:
                assert phase_instruction(phase)
                assert any(
                    f": {phase.name}\n{phase_instruction(phase)}\n" in render_prompt_text(prompt)
                    for _, prompt in at.calls_made
                )

    def test_a_phase_without_a_text_has_its_heading(self) -> None:
        first = FORMATS["verdict"].phases[0].model_copy(update={"name": "duel"})
        opened = build_setup(format="verdict").model_copy(
            update={"phases": (first, FORMATS["verdict"].phases[1])}
        )
        (prompt,) = render_prompts(simulate(opened).play_to_round(1))
        assert "# Round 1: duel\nSpoken one after the other.\n\nYou are A. " in prompt

    def test_judges_answer_in_json_of_a_bounded_schema(self) -> None:
        at = simulate().play_to_round(3)
        prompt = render(at.debate, at.pending_calls()[0])
        assert last_line(render_prompt_text(prompt)) == json_instruction("judgment", ("A", "B"))
        assert prompt.schema is not None
        properties = prompt.schema["properties"]
        assert list(properties) == prompt.schema["required"]
        assert properties["beliefs"]["required"] == ["A", "B", "none"]
        assert properties["winner"] == {"anyOf": [{"type": "string", "enum": ["A", "B"]}, {"type": "null"}]}
        assert all("maxLength" in properties[name] for name in ("reasoning", "verdict"))

    def test_debaters_answer_in_prose(self) -> None:
        at = simulate().play_to_round(1)
        assert render(at.debate, at.pending_calls()[0]).schema is None

    def test_a_long_stance_is_shortened_where_it_is_a_tag(self) -> None:
        assert stance_tag(Debater(name="a", stance="s" * 40, model="m")) == "s" * 40
        assert stance_tag(Debater(name="a", stance="s" * 41, model="m")) == "s" * 39 + "…"


@pytest.mark.parametrize("leads", [False, True], ids=["alone", "led"])
@pytest.mark.parametrize("name", FORMATS)
def test_prompts_say_truly_how_the_turns_of_a_phase_come_about(name: str, leads: bool) -> None:
    at = simulate(build_setup(format=name, options={"moderator": {"opens": True}} if leads else {})).play()
    read = max((render_prompt_text(prompt) for _, prompt in at.calls_made), key=len)
    for phase in at.debate.setup.phases:
        if phase.is_talk and phase.wants == "argument":
            (text,) = re.findall(rf"^# Round \d+: {phase.name}\n(.+)", read, re.MULTILINE)
            assert [order for order, words in ORDER_INSTRUCTIONS.items() if words in text] == [phase.order]


def test_rounds_of_talk_are_counted_apart_from_those_of_votes() -> None:
    at = simulate(build_setup(format="oxford", options={"moderator": {"opens": True}})).play()
    first, second = at.prompts("Proponent")
    assert "# Round 2: opening" in first
    assert "Talk round 1 of at most 2." in first
    assert "Talk round 2 of at most 2." in second
    opening = "This is the first round of talk: let everybody speak."
    assert [opening in prompt for prompt in at.prompts("moderator")] == [True, False]


@pytest.mark.requirement("C7")
class TestTheBrief:
    def test_advocates_do_not_concede_in_public(self) -> None:
        at = simulate().play()
        rules = COMMON_RULES["advocate"]
        assert all(prompt.messages[0].content == rules for _, prompt in at.calls_made)
        assert "defend their position to the end; in public they concede a point of it at most" in rules

    @pytest.mark.requirement("C15")
    @pytest.mark.parametrize("name", ["settle", "round_robin"])
    def test_the_members_of_a_panel_may_change_their_minds(self, name: str) -> None:
        at = simulate(build_setup(format=name)).play()
        rules = COMMON_RULES["panel"]
        assert all(prompt.messages[0].content == rules for _, prompt in at.calls_made)
        assert "change their mind where an argument in the transcript compels" in rules
        assert "concede a point" not in rules

    def test_turns_are_tagged_with_their_stance(self) -> None:
        at = simulate(build_setup(debaters=UNUSUAL)).play_to_round(2)
        prompt = render_prompts(at)[0]
        assert all(f"\n[{letter}: {stance}]\n[{letter} 1.1]\n> " in prompt for letter, stance in WITH_LETTERS)


WITH_LETTERS = [("A", "build it"), ("B", "buy it"), ("C", "wait")]


class TestAnonymity:
    @pytest.mark.requirement("C7", "C9")
    @pytest.mark.parametrize("name", FORMATS)
    def test_names_are_only_in_prompts_that_ask_for_one(self, name: str) -> None:
        at = simulate(build_setup(format=name, debaters=UNUSUAL), malformed_first_reply)
        at.play_to_round(1).add_events(note("Go on."), note("To you.", to="Quirina")).play()
        assert {call.attempt for call, _ in at.calls_made} == {1, 2}
        for call, prompt in at.calls_made:
            chooses = call.task in ("closing", "deliverable") or (call.task, name) == ("argument", "handoff")
            read = transcript_of(render_prompt_text(prompt)) if chooses else str(prompt)
            assert not any(debater["name"] in read for debater in UNUSUAL)

    @pytest.mark.requirement("C9")
    def test_judges_see_names_without_anonymization(self) -> None:
        at = simulate(build_setup(debaters=UNUSUAL, options={"judges": {"anonymize": False}})).play()
        for call, prompt in at.calls_made:
            seen = {
                1: "A is Zebulon; B is Quirina; C is Xanthippe.",
                2: "A is Quirina; B is Xanthippe; C is Zebulon.",
            }
            text = render_prompt_text(prompt)
            assert seen[call.reading] in text if call.reading else "Zebulon" not in text

    def test_models_are_in_no_prompt(self) -> None:
        at = simulate(build_setup(["vendor/secret"]), malformed_first_reply).play()
        assert not any("secret" in str(prompt) for _, prompt in at.calls_made)


def malformed_first_reply(call: Call) -> ScriptAnswer:
    """Every first reply is bad."""
    if call.attempt == 1:
        return "Well, A." if call.task in ("judgment", "ballot", "message", "closing") else ""
    return default_script(call)


def transcript_of(prompt_text: str) -> str:
    """A prompt without its last words."""
    return prompt_text.rpartition("\n\n")[0]


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

    @pytest.mark.requirement("C2")
    def test_in_declared_order_debaters_see_turns_as_recorded(self) -> None:
        at = simulate(
            build_setup(format="verdict", debaters=build_debaters(6)), lambda call: f"By {call.seat[-1]}."
        ).play_to_round(2)
        spoken = [f"By {n}." for n in range(1, 7)]
        assert blocks(render_prompts(at)[0]) == spoken

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
            assert last_line(prompt).startswith("Answer with JSON only: ")

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

    @pytest.mark.parametrize("name", FORMATS)
    def test_a_note_made_before_the_first_round_is_shown_in_it(self, name: str) -> None:
        at = simulate(build_setup(format=name)).add_events(note("Mind the costs.", number=0)).play()
        assert all(render_prompt_text(prompt).count("> Mind the costs.") == 1 for _, prompt in at.calls_made)

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


class TestReadings:
    def readings(self, name: str, **options: object) -> dict[int, list[str]]:
        """Both readings of two rounds of four turns, as the numbers of their speakers."""
        opened = build_setup(
            format=name, debaters=build_debaters(4), options={"judges": {"both_orders": True, **options}}
        )
        at = simulate(opened, lambda c: render_finding() if c.reading else f"{c.round}{c.seat[-1]}").play()
        return {c.reading: blocks(render_prompt_text(p)) for c, p in at.calls_made if c.reading}

    @pytest.mark.requirement("C9")
    def test_the_second_reading_turns_rounds_that_were_written_together(self) -> None:
        read = self.readings("second_opinion")
        assert read[2] == [*read[1][1:4], read[1][0], *read[1][5:8], read[1][4]]
        assert sorted(read[1]) == SPOKEN

    @pytest.mark.requirement("C9")
    def test_rounds_that_were_written_together_are_read_in_the_order_drawn(self) -> None:
        at = simulate(build_setup(debaters=build_debaters(4))).play_to_round(3)
        drawn = [f"{entered.round}{seat[-1]}" for entered in at.debate.rounds[:2] for seat in entered.order]
        assert self.readings("second_opinion")[1] == drawn
        assert drawn != sorted(drawn)
        assert self.readings("second_opinion", shuffle=False)[1] == SPOKEN

    @pytest.mark.requirement("C22")
    def test_turns_that_answer_each_other_keep_their_order_in_both_readings(self) -> None:
        assert self.readings("verdict") == {1: SPOKEN, 2: SPOKEN}


SPOKEN = ["11", "12", "13", "14", "21", "22", "23", "24"]


@pytest.mark.requirement("C22")
def test_judges_are_told_what_is_true_of_the_record_they_read() -> None:
    (reading, _) = simulate(build_setup(format="full")).play().prompts("judge 1")
    assert "The turns of rounds 1, 4 and 6 were written without seeing each other; their order" in reading
    assert "The turns of rounds 2 and 3 were made one after the other and stand in that order." in reading
    assert "The messages of round 5 were written without seeing each other; each stands with its" in reading
    assert "What was first said in the last turns could not be answered" in reading
    assert "Left out: the ballots of round 7." in reading

    (reading, _) = simulate(build_setup()).play().prompts("judge 1")
    assert "What was first said in the last turns could not be answered" in reading
    assert "No turn is left out." in reading

    first, last = simulate(build_setup(format="oxford")).play().prompts("judge 1")
    assert "You are in the audience. Say in percent how likely" in first
    assert "You are in the audience. The turns of rounds 2 and 3 were written without seeing" in last
    assert "Left out: the ballots of round 1. Say in percent how likely" in last

    at = simulate(build_setup(format="verdict")).play(lambda debate: len(debate.turns) == 3)
    at.intervene("conclude")
    (reading, _) = at.play().prompts("judge 1")
    assert "Left out: turns in round 2 that were never made." in reading


def test_rendering_a_debate_again_gives_the_same_bytes() -> None:
    def prompts() -> list[object]:
        return [
            prompt
            for _, prompt in simulate(build_setup(debaters=UNUSUAL), malformed_first_reply).play().calls_made
        ]

    assert prompts() == prompts()
