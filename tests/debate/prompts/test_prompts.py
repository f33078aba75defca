"""A prompt as a whole: its layout, the text of each phase, and the common rules."""

import re
from typing import Any

import pytest

from server.debate.facts.setup.seats import Debater
from server.debate.machine.render import render
from server.debate.prompts.response_schemas import json_instruction
from server.debate.prompts.transcript import stance_tag
from server.debate.prompts.wording import (
    COMMON_RULES,
    ORDER_INSTRUCTIONS,
    PHASE_INSTRUCTIONS,
)
from tests.support.prompt_texts import UNUSUAL, last_line, note, render_prompts
from tests.support.simulation import ARGUED_FORMATS, build_setup, render_prompt_text, simulate

pytestmark = pytest.mark.requirement("D19")

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
> A1. yes
> B1. no never

# Round 1: opening
Written without seeing each other. {PHASE_INSTRUCTIONS["opening"]}

[A1: yes]
[A1 1.1]
> Yes.
> Truly.

[B1: no never]
[B1 1.1]
> No.
> Truly.

[note to everybody]
> Mind the costs.

# Round 2: rebuttal
Written without seeing each other. {PHASE_INSTRUCTIONS["rebuttal"]}

To be followed:
> Be kind.
You are A1. Your position: yes
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

    def test_judges_answer_in_json_of_a_bounded_schema(self) -> None:
        at = simulate().play_to_round(3)
        prompt = render(at.debate, at.pending_calls()[0])
        assert last_line(render_prompt_text(prompt)) == json_instruction("judgment", ("A1", "B1"))
        assert prompt.schema is not None
        properties = prompt.schema["properties"]
        assert list(properties) == prompt.schema["required"]
        assert properties["beliefs"]["required"] == ["A1", "B1", "none"]
        assert properties["winner"] == {"anyOf": [{"type": "string", "enum": ["A1", "B1"]}, {"type": "null"}]}
        assert all("maxLength" in properties[name] for name in ("reasoning", "verdict"))

    def test_debaters_answer_in_prose(self) -> None:
        at = simulate().play_to_round(1)
        assert render(at.debate, at.pending_calls()[0]).schema is None

    def test_a_long_stance_is_shortened_where_it_is_a_tag(self) -> None:
        assert stance_tag(Debater(name="a", stance="s" * 40, model="m")) == "s" * 40
        assert stance_tag(Debater(name="a", stance="s" * 41, model="m")) == "s" * 39 + "…"


@pytest.mark.parametrize("leads", [False, True], ids=["alone", "led"])
@pytest.mark.parametrize("name", ARGUED_FORMATS)
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


WITH_LETTERS = [("A1", "build it"), ("B1", "buy it"), ("C1", "wait")]
