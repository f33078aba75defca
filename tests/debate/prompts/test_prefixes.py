"""Prompts of a debate share their beginnings: that is what providers' caches live on."""

from itertools import pairwise
from typing import Any

import pytest

from server.debate.commands.formats import FORMATS
from server.debate.facts.interventions import NoteAdded
from server.debate.prompts.render import render
from server.debate.rules.decide import Call
from tests.support.simulation import (
    DebateSimulation,
    ScriptAnswer,
    build_setup,
    default_script,
    render_prompt_text,
    simulate,
)

pytestmark = pytest.mark.requirement("N11")

UNUSUAL = [
    {"name": "Zebulon", "stance": "build it"},
    {"name": "Quirina", "stance": "buy it"},
    {"name": "Xanthippe", "stance": "wait"},
]
LED: dict[str, Any] = {"moderator": {"opens": True, "closes": True}, "referee": True}
"""Everybody there can be at a table, but for the judges."""


def long_turn(call: Call) -> ScriptAnswer:
    return (
        default_script(call)
        if call.task not in ("argument", "answer")
        else f"{default_script(call)} ".ljust(1200, "x")
    )


def fumbling(call: Call) -> ScriptAnswer:
    """Every first reply is bad."""
    if call.attempt == 1:
        return "Well, A." if call.reading else ""
    return default_script(call)


def body(prompt_text: str) -> str:
    """A prompt without its last words."""
    return prompt_text.rpartition("\n\n")[0]


def shared(sooner: str, later: str) -> int:
    """The length of the beginning that two prompts have in common."""
    pairs = enumerate(zip(sooner, later, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(sooner), len(later)))


def rendered(at: DebateSimulation) -> list[str]:
    return [render_prompt_text(render(at.debate, call)) for call in at.pending_calls()]


@pytest.mark.parametrize("options", [{}, LED], ids=["alone", "led"])
@pytest.mark.parametrize("name", FORMATS)
def test_in_a_round_each_prompt_goes_on_from_those_before_it(name: str, options: dict[str, Any]) -> None:
    at = simulate(build_setup(format=name, debaters=UNUSUAL, options=options), long_turn).play()
    groups: dict[tuple[int, int, bool], list[str]] = {}
    for call, prompt in at.calls_made:
        # Debaters do not read each other's messages, and who leads or judges does.
        groups.setdefault((call.round, call.reading, call.seat in at.debate.names), []).append(
            render_prompt_text(prompt)
        )
    for group in groups.values():
        assert all(body(later).startswith(body(sooner)) for sooner, later in pairwise(group))


def test_those_who_write_together_are_told_the_same_but_for_their_last_words() -> None:
    at = simulate(build_setup(debaters=UNUSUAL, options={"judges": {"count": 3}}), long_turn).play()
    for number in (1, 2, 3):
        for reading in (0, 1, 2):
            group = [
                render_prompt_text(p) for c, p in at.calls_made if (c.round, c.reading) == (number, reading)
            ]
            assert len({body(prompt) for prompt in group}) <= 1


@pytest.mark.parametrize("name", FORMATS)
def test_a_seat_is_asked_with_the_beginning_it_was_asked_with_before(name: str) -> None:
    rounds = 0 if name in KEPT else 3
    at = simulate(build_setup(format=name, debaters=UNUSUAL, max_rounds=rounds), long_turn).play()
    for seat in (debater["name"] for debater in UNUSUAL):
        prompts = at.prompts(seat)
        assert len(prompts) > 1
        assert all(later.startswith(body(sooner)) for sooner, later in pairwise(prompts))
        kept = sum(shared(*pair) for pair in pairwise(prompts))
        assert kept >= KEPT.get(name, 0.99) * sum(map(len, prompts[:-1]))


KEPT = {"handoff": 0.95, "full": 0.95}
"""What share of a prompt the next one keeps, where the last words are more than a line."""


def test_the_first_reading_goes_on_from_what_the_debaters_were_told() -> None:
    at = simulate(build_setup(debaters=UNUSUAL, max_rounds=3), long_turn).play()
    first_reading = next(render_prompt_text(prompt) for call, prompt in at.calls_made if call.reading == 1)
    assert all(first_reading.startswith(body(prompt)) for prompt in at.prompts("Quirina"))


def test_what_is_particular_to_a_seat_stands_at_the_end() -> None:
    asked = [
        {"name": "Ada", "stance": "yes", "role": "an economist", "system_prompt": "Use figures."},
        {"name": "Bob", "stance": "no"},
    ]
    at = simulate(build_setup(debaters=asked)).play_to_round(1)
    ada, bob = rendered(at.add_events(NoteAdded(text="Be brief.", round=1, to="Ada")))
    assert body(ada) == body(bob)
    assert ada.removeprefix(body(bob)) == (
        "\n\nYour role: an economist\nUse figures.\nA note for you alone:\n> Be brief.\nYou are A. Speak."
    )


@pytest.mark.requirement("D3")
def test_who_is_asked_again_is_told_why_after_everything_else() -> None:
    at = simulate(script=fumbling).play()
    again = [(render_prompt_text(prompt), call) for call, prompt in at.calls_made if call.attempt == 2]
    first = {
        (call.round, call.seat, call.reading): render_prompt_text(p)
        for call, p in at.calls_made
        if call.attempt == 1
    }
    assert len(again) == 6
    for prompt, call in again:
        why = "the reply holds no JSON object" if call.reading else "the model said nothing"
        assert prompt == first[call.round, call.seat, call.reading] + (
            f"\nYour previous reply could not be used: {why}. Answer again, as asked."
        )
