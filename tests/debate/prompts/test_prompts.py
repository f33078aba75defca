"""A prompt as a whole: its layout, the text of each phase, and the common rules."""

import re
from functools import cache
from typing import Any

import pytest

from server.debate.facts.setup.seats import Debater
from server.debate.machine.render import render
from server.debate.prompts.response_schemas import json_instruction
from server.debate.prompts.transcript import stance_tag
from server.debate.prompts.wording import (
    BRIEFS,
    CANDOUR,
    COMMON_RULES,
    LENGTH,
    ORDER_NOTES,
    PANEL_OPENING,
    POINTS,
    QUOTES,
    REBUTTAL_STEPS,
    RELATIONS,
)
from tests.support.prompt_texts import last_line, note, render_prompts
from tests.support.simulation import (
    ARGUED_FORMATS,
    DebateSimulation,
    build_setup,
    render_prompt_text,
    simulate,
)

pytestmark = pytest.mark.requirement("D19")

COMPLETE = f"""\
{COMMON_RULES}
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
Written without seeing each other.

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
Written without seeing each other.

# Your task
To be followed:
> Be kind.
You are A1. Your position: yes
{BRIEFS["advocate"]}
{REBUTTAL_STEPS}
{CANDOUR} {LENGTH.format(words=180)} This is the last round of talk.
{POINTS}
{RELATIONS.format(example="B1 1.1")}
{QUOTES}"""


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

    def test_a_long_stance_is_shortened_where_it_is_a_tag(self) -> None:
        assert stance_tag(Debater(name="a", stance="s" * 40, model="m")) == "s" * 40
        assert stance_tag(Debater(name="a", stance="s" * 41, model="m")) == "s" * 39 + "…"


@cache
def play_format(name: str, *, is_led: bool) -> DebateSimulation:
    return simulate(build_setup(format=name, options={"moderator": {"opens": True}} if is_led else {})).play()


@pytest.mark.parametrize("is_led", [False, True], ids=["alone", "led"])
@pytest.mark.parametrize("name", ARGUED_FORMATS)
def test_prompts_say_truly_how_the_turns_of_a_phase_come_about(name: str, is_led: bool) -> None:
    at = play_format(name, is_led=is_led)
    read = max((render_prompt_text(prompt) for _, prompt in at.calls_made), key=len)
    for phase in at.debate.setup.phases:
        if phase.is_talk and phase.wants == "argument":
            (text,) = re.findall(rf"^# Round \d+: {phase.name}\n(.+)", read, re.MULTILINE)
            assert [order for order, words in ORDER_NOTES.items() if words in text] == [phase.order]


def test_rounds_of_talk_are_counted_apart_from_those_of_votes() -> None:
    at = simulate(build_setup(format="oxford", options={"moderator": {"opens": True}})).play()
    first, second = at.prompts("Proponent")
    assert "# Round 2: opening" in first
    assert "After this, at most 1 round of talk." in first
    assert "This is the last round of talk." in second
    opening = "It is the first round of talk: let everybody speak."
    assert [opening in prompt for prompt in at.prompts("moderator")] == [True, False]


@pytest.mark.requirement("C7")
class TestTheBrief:
    def test_advocates_defend_their_position_to_the_end_and_never_against_the_truth(self) -> None:
        at = simulate().play()
        for prompt in at.prompts("Proponent"):
            assert "Defend your position to the end, but never against the truth: if you cannot" in prompt
            assert "say what of the position still stands" in prompt

    @pytest.mark.requirement("C15")
    @pytest.mark.parametrize("name", ["settle", "round_robin"])
    def test_the_members_of_a_panel_may_change_their_minds(self, name: str) -> None:
        at = simulate(build_setup(format=name)).play()
        first, second, *_ = at.prompts("Proponent")
        assert PANEL_OPENING in first
        assert "Change your mind" not in first  # nobody has said anything yet
        assert BRIEFS["panel"].format(example="B1 1.1") in second
        assert "Defend" not in first + second

    def test_a_seat_that_defends_no_side_is_told_to_test_all(self) -> None:
        at = simulate(build_setup(format="handoff")).play()
        (first, *_) = at.prompts("Neutral")
        assert "You defend no side. Test all" in first
        assert "Defend your position" not in first


class TestWhatASeatIsTold:
    """Its own rules, and nothing else (requirement D19)."""

    def test_the_task_follows_from_what_was_said_before(self) -> None:
        at = simulate(build_setup(format="verdict")).play()
        case, others = "Begin with a paragraph", "Answer the strongest point"
        first, second = at.prompts("Proponent")
        answering, _ = at.prompts("Opponent")
        assert [case in prompt for prompt in (first, answering, second)] == [True, True, False]
        assert [others in prompt for prompt in (first, answering, second)] == [False, True, True]

    def test_the_grammar_of_points_stands_where_points_are_asked_for(self) -> None:
        at = simulate(build_setup(format="full")).play()
        asked = {"opening", "argumentation", "rebuttal"}
        for call, prompt in at.calls_made:
            is_asked = call.task == "argument" and at.debate.round_phase(call.round).name in asked
            assert ("points that begin with [1]" in render_prompt_text(prompt)) == is_asked

    @pytest.mark.parametrize("documents", [[], [{"title": "Costs", "text": "It costs 100."}]])
    def test_the_rules_of_documents_stand_where_there_is_one(self, documents: list[dict[str, str]]) -> None:
        at = simulate(build_setup(format="oxford", documents=documents)).play()
        for seat, rule in (("Proponent", "Quote documents word for word"), ("voter 1", "A checked quote")):
            assert (rule in at.prompts(seat)[-1]) == bool(documents)
        assert ("and by the documents" in at.prompts("voter 1")[0]) == bool(documents)
        assert "A checked quote" not in at.prompts("voter 1")[0]  # nobody has quoted anything

    @pytest.mark.parametrize("name", ARGUED_FORMATS)
    def test_the_question_stands_once_after_at_most_200_tokens_of_ours_before_a_task(self, name: str) -> None:
        at = play_format(name, is_led=True)
        for _, prompt in at.calls_made:
            text = render_prompt_text(prompt)
            assert text.count(at.debate.setup.question) == 1
            assert "no source" not in text
            before, _, _ = text.partition("# Your task")
            blocks = [line for line in before.split("\n") if line and not line.startswith((">", "["))]
            assert len(" ".join(blocks).split()) * 1.35 < 200

    def test_who_has_read_nothing_is_not_asked_what_moved_it(self) -> None:
        first, last = simulate(build_setup(format="oxford")).play().prompts("voter 1")
        assert "moved_by" not in first
        assert 'such as B1 3.1, or null"' in last

    def test_a_custom_phase_is_followed_by_its_seats_and_shown_to_others(self) -> None:
        phases = ["opening", {"name": "costs", "instruction": "Speak of costs."}, "verdict"]
        at = simulate(build_setup(format="verdict", options={"phases": phases})).play()
        shown, followed = "What is asked for in it:\n> Speak of costs.", "To be followed:\n> Speak of costs."
        _, costs = at.prompts("Proponent")
        reading, _ = at.prompts("judge 1")
        assert shown in costs
        assert followed in costs
        assert REBUTTAL_STEPS not in costs
        assert shown in reading
        assert followed not in reading
