"""Prompts of a debate share their beginnings: that is what providers' caches live on."""

from itertools import pairwise
from typing import Any

import pytest

from server.debate.facts.interventions import NoteAdded
from server.debate.prompts.wording import BRIEFS, CANDOUR, CASE_STEPS, LENGTH, POINTS
from server.debate.rules.calls import Call
from tests.support.prompt_texts import UNUSUAL, malformed_first_reply, render_prompts
from tests.support.simulation import (
    ARGUED_FORMATS,
    ScriptAnswer,
    build_setup,
    default_script,
    render_prompt_text,
    simulate,
)

pytestmark = pytest.mark.requirement("N11")

LED: dict[str, Any] = {"moderator": {"opens": True, "closes": True}, "referee": True}
"""Everybody there can be at a table, but for the judges."""


def long_turn(call: Call) -> ScriptAnswer:
    return (
        default_script(call)
        if call.task not in ("argument", "answer")
        else f"{default_script(call)} ".ljust(1200, "x")
    )


def body(prompt_text: str) -> str:
    """A prompt without its last words."""
    return prompt_text.rpartition("\n\n")[0]


@pytest.mark.parametrize("options", [{}, LED], ids=["alone", "led"])
@pytest.mark.parametrize("name", ARGUED_FORMATS)
def test_in_a_round_each_prompt_extends_the_previous_ones(name: str, options: dict[str, Any]) -> None:
    at = simulate(build_setup(format=name, debaters=UNUSUAL, options=options), long_turn).play()
    groups: dict[tuple[int, int, bool], list[str]] = {}
    for call, prompt in at.calls_made:
        # Debaters do not read each other's messages, and who leads or judges does.
        groups.setdefault((call.round, call.reading, call.seat in at.debate.names), []).append(
            render_prompt_text(prompt)
        )
    for group in groups.values():
        assert all(body(later).startswith(body(earlier)) for earlier, later in pairwise(group))


@pytest.mark.parametrize("name", ARGUED_FORMATS)
def test_the_prompt_of_a_seat_extends_its_previous_prompt(name: str) -> None:
    rounds = 0 if name in ("handoff", "full") else 3
    at = simulate(build_setup(format=name, debaters=UNUSUAL, max_rounds=rounds), long_turn).play()
    for seat in (debater["name"] for debater in UNUSUAL):
        prompts = at.prompts(seat)
        assert len(prompts) > 1
        assert all(later.startswith(body(earlier)) for earlier, later in pairwise(prompts))
        talk = [
            prompt for prompt in prompts if "# Round 5" not in prompt
        ]  # before messages, which two alone read
        assert all(len(prompt) - len(body(prompt)) < MOST_LAST_WORDS for prompt in talk)


MOST_LAST_WORDS = 1_500
"""Characters that a prompt of a debater does not share with the next one."""


def test_the_first_reading_extends_the_prompts_of_the_debaters() -> None:
    at = simulate(build_setup(debaters=UNUSUAL, max_rounds=3), long_turn).play()
    first_reading = next(render_prompt_text(prompt) for call, prompt in at.calls_made if call.reading == 1)
    assert all(first_reading.startswith(body(prompt)) for prompt in at.prompts("Quirina"))


def test_only_the_end_of_a_prompt_depends_on_the_seat() -> None:
    debaters = [
        {"name": "Ada", "stance": "yes", "role": "an economist", "system_prompt": "Use figures."},
        {"name": "Bob", "stance": "no"},
    ]
    at = simulate(build_setup(debaters=debaters)).play_to_round(1)
    ada, bob = render_prompts(at.add_events(NoteAdded(text="Be brief.", round=1, to="Ada")))
    assert body(ada) == body(bob)
    assert ada.removeprefix(body(bob)) == (
        "\n\n# Your task\nTo be followed:\n> Use figures.\nA note for you alone:\n> Be brief.\n"
        "You are A1. Your position: yes\nYour role: an economist\n"
        f"{BRIEFS['advocate']}\n{CASE_STEPS}\n"
        f"{CANDOUR} {LENGTH.format(words=180)} After this, at most 1 round of talk.\n{POINTS}"
    )


def test_a_seat_with_a_role_and_no_stance_is_told_of_no_position() -> None:
    debaters = [{"name": "Ada", "role": "engineer"}, {"name": "Bob", "role": "buyer"}]
    at = simulate(build_setup(format="round_robin", debaters=debaters)).play()
    ada, bob = (at.prompts(name)[0] for name in ("Ada", "Bob"))
    assert "\nYou are A1. Your role: engineer\n" in ada
    assert "\nYou are B1. Your role: buyer\n" in bob
    assert "Your position" not in ada + bob


@pytest.mark.requirement("D3")
def test_a_repeated_call_gives_the_reason_at_the_end() -> None:
    at = simulate(script=malformed_first_reply).play()
    again = [(render_prompt_text(prompt), call) for call, prompt in at.calls_made if call.attempt == 2]
    first = {
        (call.round, call.seat, call.reading): render_prompt_text(p)
        for call, p in at.calls_made
        if call.attempt == 1
    }
    assert len(again) == 6
    for prompt, call in again:
        problem = "the reply is prose"
        unclear = f"{problem}: answer with JSON, and with one of A1, B1 or null"
        detail = unclear if call.reading else "the model said nothing"
        assert prompt == first[call.round, call.seat, call.reading] + (
            f"\nYour previous reply could not be used: {detail}. Answer again, as asked."
        )
