"""The texts of prompts, taken apart, and debates whose names and replies stand out in them."""

import re

from server.debate.facts.interventions import NoteAdded
from server.debate.machine.render import render
from server.debate.rules.calls import Call
from tests.support.simulation import DebateSimulation, ScriptAnswer, default_script, render_prompt_text

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
    return re.findall(r"^\[(?:[A-Z]1 \d\.1|note to everybody)\]\n> (.*)$", prompt_text, re.MULTILINE)


def malformed_first_reply(call: Call) -> ScriptAnswer:
    """Every first reply is bad."""
    if call.attempt == 1:
        return "Well, A." if call.task in ("judgment", "ballot", "message", "closing") else ""
    return default_script(call)
