"""Debates by their phases: led, handed on, before an audience, in blocks, and with messages."""

import json
from typing import Any

from server.debate.commands.setup.open import add_prompt_functions
from server.debate.facts.answers import Lookup, Researched
from server.debate.facts.events import Event
from server.debate.rules.calls import Call
from tests.support.golden_plays.setups import TEAM, build_setup
from tests.support.simulation import (
    ProviderFailure,
    ScriptAnswer,
    build_ballot,
    build_usage,
    render_finding,
    simulate,
    task_script,
)


def answer_moderated(call: Call) -> ScriptAnswer:
    """Replies in a debate with moderator, referee, ballots, judges and an output schema."""
    letter = {"Ada": "B", "Bob": "C", "Çelik": "Ada"}.get(call.seat, "")
    replies: dict[str, Any] = {
        "opening": {"next_speakers": ["A", "Bob", "Ada"], "briefing": "It cost 100.", "new_angle": None},
        "message": {"to": letter, "kind": "critique", "text": f"{call.seat} asks for Żółć."},
        "ballot": build_ballot(None if call.seat == "Bob" else "C", "It was never answered."),
        "deliverable": {"decision": "日本語で待つ", "sure": 0.5},
    }
    if call.task == "closing":
        return f"SUMMARY: Round {call.round} was held.\n**STATUS:** continue\nDECISION:"
    if call.task in replies:
        return json.dumps(replies[call.task])
    return render_finding("C") if call.task == "judgment" else f"{call.seat} in round {call.round}."


def play_moderated() -> list[Event]:
    options = {
        **TEAM["options"],
        "moderator": {"opens": True, "closes": True, "tools": ["wiki"]},
        "referee": True,
        "output_schema": {"type": "object", "required": ["decision"]},
        "phases": ["opening", "cross_examination", "voting", "verdict"],
    }
    at = simulate(
        build_setup(["vendor/a"], format="verdict", **{**TEAM, "options": options}), answer_moderated
    ).play_to_round(1)
    lookups = (
        Lookup(tool="wiki/search", arguments='{"q": "Żółć"}', result="Line one\n日本語", milliseconds=12),
        Lookup(tool="wiki/search", arguments="{", failed="the arguments are no JSON"),
    )
    at.add_events(
        Researched(seen=2, seat="moderator", round=1, lookups=lookups, usage=build_usage("vendor/own"))
    )
    return at.play().events


def answer_handoff(call: Call) -> ScriptAnswer:
    if call.task == "judgment":
        return render_finding("B")
    return f"{call.seat} speaks.\nTransition to {'nobody' if call.round == 2 else 'neutral'}."


def play_handoff() -> list[Event]:
    options = {"limits": {"max_turns": 4}}
    return simulate(build_setup(format="handoff", options=options), answer_handoff).play().events


def play_default_plan() -> list[Event]:
    """A moderator that never answers: all debaters speak in the declared order."""
    silent = task_script({"opening": ProviderFailure("timeout")})
    options = {"moderator": {"opens": True}}
    return simulate(build_setup(format="verdict", max_rounds=1, options=options), silent).play().events


def play_oxford() -> list[Event]:
    """An audience of three: one moves, one stays, one abstains first."""

    def vote(call: Call) -> dict[str, Any]:
        first = {"voter 1": "A", "voter 2": "B", "voter 3": None}
        return build_ballot(first[call.seat] if call.round == 1 else "B", "Żółć.")

    return simulate(build_setup(format="oxford"), task_script({"ballot": vote})).play().events


def play_blocks() -> list[Event]:
    """A block of phases that is held until its vote finds consensus by a rule, by a process that lost its code."""

    def vote(call: Call) -> dict[str, Any]:
        own = {"Ada": "A", "Bob": "B", "Çelik": "C"}[call.seat]
        return build_ballot(own if call.round == 3 else "B", "Żółć.")

    repeated = {"name": "voting", "repeat_from": "argumentation", "until": "consensus", "limit": 3}
    rule = {"kind": "supermajority", "threshold": "3/4", "weights": {"Ada": "3/2"}}
    options = {"phases": ["opening", "argumentation", repeated], "voting": rule}
    opened = build_setup(["vendor/a", "vendor/b"], debaters=TEAM["debaters"], options=options)
    opened = add_prompt_functions(opened.model_copy(update={"has_predicate": True}), ["Bob"])
    at = simulate(
        opened, task_script({"ballot": vote}), prompt_functions={"Bob": lambda _, seat: f"Żółć, {seat}."}
    )
    at.play_through_round(1).prompt_functions = {}
    return at.play().events


def play_messages() -> list[Event]:
    """Messages beside turns: one is answered, and the answer to the other fails."""

    def speak(call: Call) -> str:
        to = "Opponent" if call.seat == "Proponent" else "Proponent"
        return f"Żółć.\nMESSAGE TO {to}, critique: 日本語で?" if call.round == 1 else "So."

    def answer(call: Call) -> ScriptAnswer:
        return "Yes." if call.seat == "Opponent" else ProviderFailure("timeout")

    phases = [{"name": "opening", "messages": True}, "rebuttal", "verdict"]
    script = task_script({"argument": speak, "answer": answer})
    return simulate(build_setup(options={"phases": phases}), script).play().events
