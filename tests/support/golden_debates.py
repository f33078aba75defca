"""The debates that are kept in `tests/golden`, as this release plays and writes them."""

import json
from collections.abc import Iterable
from typing import Any

from server.debate.commands.fork import fork
from server.debate.commands.intervene import Wish, intervention
from server.debate.commands.open import open_debate
from server.debate.commands.requests import ChangesAsked
from server.debate.facts.config import Price
from server.debate.facts.events import Event, Intervened, Lookup, Opened, Paused, Researched, Resumed
from server.debate.replies.extract import failed
from server.debate.rules.decide import Call
from server.debate.rules.transitions import replay
from storage.journal import canonical, genesis, link
from tests.support.playing import Answer, Fails, Table, finding, paid, proposal, setup, table

TEAM: dict[str, Any] = {
    "debaters": [
        {"name": "Ada", "stance": "build it", "role": "economist", "system_prompt": "Use figures."},
        {"name": "Bob", "stance": "buy it", "model": "vendor/own"},
        {"name": "Çelik", "stance": "日本語で待つ"},
    ],
    "documents": [{"title": "Costs", "text": "Line one\nŻółć\u2028🧪", "url": "https://example.org/costs"}],
    "options": {
        "judges": {"models": ["vendor/j", "vendor/k"], "prompt": "Ask who pays."},
        "limits": {"turn_timeout": 60, "max_turn_tokens": 1500},
        "instructions": "Be kind.",
        "seed": 2026,
        "tags": ["golden", "schedulers"],
    },
}


def opinion(call: Call) -> Answer:
    """An answer of every kind: good, silent, too late, beside the point."""
    key = (call.seat, call.round, call.attempt)
    if key == ("Ada", 1, 1):
        return " "
    if key == ("Çelik", 3, 1):
        return Fails("timeout")
    if call.seat == "judge 2":
        return finding("Z" if call.attempt == 1 and call.reading == 1 else "A" if call.reading == 1 else None)
    if call.reading:
        return finding("b", call.reading, reasoning='Żółć: "so"\n\ttabs, 🧪 and \\ too.')
    return f"{call.seat} in round {call.round}.\n\n# Not a heading\n1.5 · 2 = 3, \u202eand so on."


def verdict(call: Call) -> Answer:
    if call.reading:
        return f"```json\n{finding(None)}\n```"
    return Fails("timeout") if (call.seat, call.round) == ("Opponent", 1) else "Because."


def steered(at: Table, action: str, *, text: str = "", to: str = "", reason: str = "") -> Table:
    return at.do(intervention(at.debate, action, Wish(text=text, to=to, reason=reason)).event)


def played_opinion() -> list[Event]:
    at = table(setup(["vendor/a", "vendor/b"], max_rounds=3, run=True, **TEAM), opinion).through(1)
    steered(at, "inject", text="Mind the costs.", reason="they forget")
    steered(at, "inject", text="Name a price.", to="Ada")
    steered(at, "pause", reason="lunch")
    return steered(at, "resume").play().events


def played_verdict() -> list[Event]:
    """A debater's provider fails and the debate pauses; it is resumed, and concluded after the round."""
    at = table(setup(format="verdict", max_rounds=4), verdict).play()
    steered(at, "resume", reason="the provider is back")
    at.script = lambda call: verdict(call) if call.reading else "Because."
    return steered(at.through(1), "conclude", reason="enough").play().events


def led(call: Call) -> Answer:
    """What everybody says in a debate that is led, audited, voted on, judged and put into a shape."""
    letter = {"Ada": "B", "Bob": "C", "Çelik": "Ada"}.get(call.seat, "")
    said: dict[str, Any] = {
        "opening": {"next_speakers": ["A", "Bob", "Ada"], "briefing": "It cost 100.", "new_angle": None},
        "message": {"to": letter, "kind": "critique", "text": f"{call.seat} asks for Żółć."},
        "ballot": {"choice": None if call.seat == "Bob" else "C", "reasoning": "It was never answered."},
        "deliverable": {"decision": "日本語で待つ", "sure": 0.5},
    }
    if call.task == "closing":
        return f"SUMMARY: Round {call.round} was held.\n**STATUS:** continue\nDECISION:"
    if call.task in said:
        return json.dumps(said[call.task])
    return finding("C") if call.task == "judgment" else f"{call.seat} in round {call.round}."


def played_led() -> list[Event]:
    asked = {
        **TEAM["options"],
        "moderator": {"opens": True, "closes": True, "tools": ["wiki"]},
        "referee": True,
        "output_schema": {"type": "object", "required": ["decision"]},
        "phases": ["opening", "cross_examination", "voting", "verdict"],
    }
    at = table(setup(["vendor/a"], format="verdict", **{**TEAM, "options": asked}), led).to_round(1)
    found = (
        Lookup(tool="wiki/search", arguments='{"q": "Żółć"}', result="Line one\n日本語", milliseconds=12),
        Lookup(tool="wiki/search", arguments="{", failed="the arguments are no JSON"),
    )
    at.do(Researched(seat="moderator", round=1, lookups=found, usage=paid("vendor/own")))
    return at.play().events


def handing(call: Call) -> Answer:
    if call.task == "judgment":
        return finding("B")
    return f"{call.seat} speaks.\nTransition to {'nobody' if call.round == 2 else 'neutral'}."


def played_handoff() -> list[Event]:
    options = {"handoff": "text", "limits": {"max_turns": 4}}
    return table(setup(format="handoff", options=options), handing).play().events


def played_steered() -> list[Event]:
    """A debate with limits of every kind, on which everything is done that can be done to one."""
    asked = {
        "judges": {"models": ["vendor/j", "vendor/k"], "quorum": 2},
        "fallback_models": ["vendor/spare"],
        "quorum": 1,
        "limits": {"max_calls": 90, "max_cost_usd": 2.5, "max_seconds": 900, "round_timeout": 60},
        "seed": 7,
    }
    price = Price(model="vendor/new", input="0.000001", output="0.000002")
    opened = open_debate(
        proposal(format="verdict", max_rounds=2, options=asked),
        models=["vendor/a", "vendor/b"],
        seed=7,
        price=lambda name: price.model_copy(update={"model": name}),
    )
    at = table(opened, lambda call: finding("A") if call.reading else "Because.").to_round(1)
    at.do(failed(at.calls()[0], "late", "vendor/a had not answered when the 60 s of the round were over"))
    at.through(1)
    at.do(
        Paused(reason="the day's budget: 9 of 9 calls made today", until="2026-12-02T00:00:00.000Z"),
        Resumed(),
    )
    for action, wish in (
        ("challenge", Wish(text="Żółć: who pays?", to="Opponent")),
        (
            "extend",
            Wish(rounds=1, limits={"max_calls": 120, "on_budget": "pause"}, reason="close to the end"),
        ),
        ("weights", Wish(weights={"judge 1": "3/2"})),
        ("threshold", Wish(threshold="2/3")),
        ("replace_model", Wish(to="judge 2", model="vendor/new", price=price)),
        ("retract", Wish(to="Opponent", round=1)),
    ):
        at.do(intervention(at.debate, action, wish).event)
    return at.play().events


def played_forked() -> list[Event]:
    """Another future of the steered debate, judged by others."""
    at = Table(replay(played_steered()), events=played_steered())
    other = {"judges": {"models": ["vendor/z"]}, "stances": {"Opponent": "日本語で待つ"}}
    opened, past = fork("steered", at.debate, at.log, 1, ChangesAsked.model_validate(other))
    events: list[Event] = [opened, *past]
    forked = Table(replay(events), lambda call: finding("B") if call.reading else "So.", events=events)
    return forked.play().events


def entries(stream: str, happened: Iterable[Event]) -> list[str]:
    head = genesis(stream)
    lines = []
    for seq, event in enumerate(happened, start=1):
        at = f"2026-12-01T10:{seq // 60:02}:{seq % 60:02}.{seq:03}Z"
        actor = "alice" if isinstance(event, Opened | Intervened | Paused | Resumed) else "counterpoint"
        body = event.model_dump(mode="json")
        head = link(head, canonical(seq, at, actor, body))
        entry = {"stream": stream, "seq": seq, "at": at, "actor": actor, "body": body, "hash": head.hex()}
        lines.append(json.dumps(entry, ensure_ascii=False))
    return lines


def written() -> str:
    """The debates as this release writes them."""
    played = {
        "opinion": played_opinion(),
        "verdict": played_verdict(),
        "led": played_led(),
        "handoff": played_handoff(),
        "steered": played_steered(),
        "forked": played_forked(),
    }
    return "".join(line + "\n" for stream, happened in played.items() for line in entries(stream, happened))
