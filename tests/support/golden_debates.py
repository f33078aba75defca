"""The debates of `tests/golden`, played and written by this release."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from server.debate.analysis.debates import build_standing
from server.debate.analysis.records import JudgeRecord
from server.debate.commands.fork import fork
from server.debate.commands.intervene import InterventionRequest, build_intervention
from server.debate.commands.open import add_prices, add_prompt_functions, add_windows, open_debate
from server.debate.commands.positions import build_revision
from server.debate.commands.requests import ChangesInput
from server.debate.facts.config import LedgerExtract, Price, Window
from server.debate.facts.escalation import MirrorOpened
from server.debate.facts.events import Event, Lookup, Opened, Paused, Researched, Resumed
from server.debate.facts.interventions import InterventionFact
from server.debate.replies.extract import build_failure
from server.debate.rules.decide import Call
from server.debate.rules.transitions import replay
from storage.journal import encode_canonical, genesis_hash, link_hash
from tests.support.paths import GOLDEN
from tests.support.simulation import (
    MIRROR_ID,
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_ballot,
    build_request,
    build_usage,
    default_script,
    label_positions,
    render_finding,
    simulate,
    task_script,
)
from tests.support.simulation import build_setup as build_lettered_setup

PARENT_ID = "k3x9w2m4p7qr"

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


def build_setup(models: Sequence[str] = ("scripted",), **fields: Any) -> Opened:
    return label_positions(build_lettered_setup(models, **fields))


def answer_opinion(call: Call) -> ScriptAnswer:
    """Replies of every kind: good, empty, too late, unreadable."""
    key = (call.seat, call.round, call.attempt)
    if key == ("Ada", 1, 1):
        return " "
    if key == ("Çelik", 3, 1):
        return ProviderFailure("timeout")
    if call.seat == "judge 2":
        return render_finding(
            "Z" if call.attempt == 1 and call.reading == 1 else "A" if call.reading == 1 else None
        )
    if call.reading:
        return render_finding("Bob", call.reading, reasoning='Żółć: "so"\n\ttabs, 🧪 and \\ too.')
    return f"{call.seat} in round {call.round}.\n\n# Not a heading\n1.5 · 2 = 3, \u202eand so on."


def answer_verdict(call: Call) -> ScriptAnswer:
    if call.reading:
        return f"```json\n{render_finding(None)}\n```"
    return ProviderFailure("timeout") if (call.seat, call.round) == ("Opponent", 1) else "Because."


def intervene(
    simulation: DebateSimulation, action: str, *, text: str = "", to: str = "", reason: str = ""
) -> DebateSimulation:
    return simulation.add_events(
        *build_intervention(
            simulation.debate, action, InterventionRequest(text=text, to=to, reason=reason)
        ).events
    )


def play_opinion() -> list[Event]:
    at = simulate(
        build_setup(["vendor/a", "vendor/b"], max_rounds=3, run=True, **TEAM), answer_opinion
    ).play_through_round(1)
    intervene(at, "inject", text="Mind the costs.", reason="they forget")
    intervene(at, "inject", text="Name a price.", to="Ada")
    intervene(at, "pause", reason="lunch")
    intervene(at, "resume").play()
    intervene(at, "outcome", to="none", reason="Nobody knows yet.")
    return intervene(at, "outcome", to="Ada", reason="Żółć: it was bought.").events


def play_verdict() -> list[Event]:
    """A provider fails and the debate pauses; it is resumed, and concluded after the round."""
    at = simulate(build_setup(format="verdict", max_rounds=4), answer_verdict).play()
    intervene(at, "resume", reason="the provider is back")
    at.script = lambda call: answer_verdict(call) if call.reading else "Because."
    return intervene(at.play_through_round(1), "conclude", reason="enough").play().events


def play_positions() -> list[Event]:
    """Positions are named, and put into other words, before anybody speaks."""
    said = {
        "kind": "open",
        "positions": ["Buy it", "Żółć: lease it", "日本語で待つ"],
        "assumption": "A year.",
    }
    at = simulate(
        build_setup(["vendor/a", "vendor/b"], question="Which one?", max_rounds=1, options={"framing": True}),
        task_script({"framing": said}),
    ).play(lambda debate: debate.framed is not None)
    at.add_events(*build_revision(at.debate, {"Debater 1": "Buy it in spring"}).events)
    return at.play().events


def play_default_positions() -> list[Event]:
    """A question that could not be framed."""
    prose = task_script({"framing": "Buy it."})
    return simulate(build_setup(max_rounds=1, options={"framing": True}), prose).play().events


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
    options = {"handoff": "text", "limits": {"max_turns": 4}}
    return simulate(build_setup(format="handoff", options=options), answer_handoff).play().events


def play_default_plan() -> list[Event]:
    """A moderator that never answers: all debaters speak in the declared order."""
    silent = task_script({"opening": ProviderFailure("timeout")})
    options = {"moderator": {"opens": True}}
    return simulate(build_setup(format="verdict", max_rounds=1, options=options), silent).play().events


def play_oxford() -> list[Event]:
    """An audience of three: one moves, one stays, one abstains first."""

    def vote(call: Call) -> dict[str, Any]:
        first = {"judge 1": "A", "judge 2": "B", "judge 3": None}
        return build_ballot(first[call.seat] if call.round == 1 else "B", "Żółć.")

    return simulate(build_setup(format="oxford"), task_script({"ballot": vote})).play().events


def play_blocks() -> list[Event]:
    """A block of phases that is held until its vote finds consensus by a rule, by a process that lost its code."""

    def vote(call: Call) -> dict[str, Any]:
        own = {"Ada": "A", "Bob": "B", "Çelik": "C"}[call.seat]
        return build_ballot(own if call.round == 3 else "B", "Żółć.")

    repeated = {"name": "voting", "repeat_from": "argumentation", "until": "consensus", "limit": 3}
    rule = {"kind": "supermajority", "threshold": "3/4", "method": "schulze", "weights": {"Ada": "3/2"}}
    options = {"phases": ["opening", "argumentation", repeated], "voting": rule}
    opened = build_setup(["vendor/a", "vendor/b"], debaters=TEAM["debaters"], options=options)
    opened = add_prompt_functions(opened.model_copy(update={"has_predicate": True}), ["Bob"])
    at = simulate(
        opened, task_script({"ballot": vote}), prompt_functions={"Bob": lambda _, seat: f"Żółć, {seat}."}
    )
    at.play_through_round(1).prompt_functions = {}
    return at.play().events


def find_price(name: str) -> Price:
    return Price(model=name, input="0.000001", output="0.000002")


def open_limited_debate() -> Opened:
    """With limits of every kind, and a judge that the ledger knows."""
    options = {
        "judges": {"models": ["vendor/j", "vendor/k"], "quorum": 2},
        "fallback_models": ["vendor/spare"],
        "quorum": 1,
        "limits": {"max_calls": 90, "max_cost_usd": 2.5, "max_seconds": 900, "round_timeout": 60},
        "seed": 7,
    }
    opened = open_debate(
        build_request(format="verdict", max_rounds=2, options=options),
        models=["vendor/a", "vendor/b"],
        seed=7,
        find_price=find_price,
    )
    known = build_standing(JudgeRecord("vendor/j", 30, 29, 27, 2))
    ledger = LedgerExtract(
        position=60, standings=(known,), calibrated_items=30, scale="0.8", intercept="-0.1"
    )
    return opened.model_copy(update={"ledger": ledger})


def play_interventions() -> list[Event]:
    """A debate with limits of every kind and every intervention."""
    price = find_price("vendor/new")
    at = simulate(
        open_limited_debate(), lambda call: render_finding("A") if call.reading else "Because."
    ).play_to_round(1)
    at.add_events(
        build_failure(
            at.pending_calls()[0], "late", "vendor/a had not answered when the 60 s of the round were over"
        )
    )
    at.play_through_round(1)
    at.add_events(
        Paused(
            cause="daily_budget",
            reason="the day's budget: 9 of 9 calls made today. It goes on tomorrow (UTC).",
            until="2026-12-02T00:00:00.000Z",
        ),
        Resumed(),
    )
    for action, request in (
        ("challenge", InterventionRequest(text="Żółć: who pays?", to="Opponent")),
        (
            "extend",
            InterventionRequest(
                rounds=1, limits={"max_calls": 120, "on_budget": "pause"}, reason="close to the end"
            ),
        ),
        ("instruct", InterventionRequest(text="Answer in one sentence.", to="Proponent")),
        ("weights", InterventionRequest(weights={"judge 1": "3/2"})),
        ("threshold", InterventionRequest(threshold="2/3")),
        ("replace_model", InterventionRequest(to="judge 2", model="vendor/new", price=price)),
        ("retract", InterventionRequest(to="Opponent", round=1)),
    ):
        at.add_events(*build_intervention(at.debate, action, request).events)
    return at.play().events


def play_ballots() -> list[Event]:
    """A debate with private ballots of every wave, of which those after the second round end the talk."""

    def ballot(call: Call) -> dict[str, Any]:
        moved = {"moved_by": "B 1", "new_point": None, "open_point": "Żółć?" if call.round == 1 else None}
        return build_ballot("A", "日本語で待つ", percent=60 if call.slot_index == 100 else 91) | moved

    options = {"ballots": "rounds", "stop": "on"}
    opened = build_setup(["openai/gpt-5", "anthropic/claude-4"], max_rounds=4, options=options)
    return simulate(opened, task_script({"ballot": ballot})).play().events


def play_observed() -> list[Event]:
    """A debate with an observer, a straw man of two places, and a mark that the accused contests."""
    turns = {"Proponent": "Żółć: wait until June.", "Opponent": "So never — they say “never”. 日本語で。"}

    def speak(call: Call) -> str:
        return turns[call.seat] if call.round == 1 else "As I said.\nCONTEST 1: I asked, and did not say so."

    never = {"pattern": "straw man", "speaker": "Opponent", "words": 'they say "never"', "why": "Żółć."}
    marks = [
        never | {"of": "Proponent", "original_words": "wait until June"},
        never | {"words": "nobody said this"},
    ]
    script = task_script(
        {"argument": speak, "observation": lambda c: {"marks": marks if c.round == 1 else []}}
    )
    options = {"observer": {"shown": True, "prompt": "Mind the straw men."}}
    return simulate(build_setup(format="verdict", options=options), script).play().events


def play_digested() -> list[Event]:
    """A document that the window does not hold: its digest with a quote, a passage, and a request for nothing."""
    text = "".join(f"[page {n}]\nŻółć of line {n}: it was closed for {n} weeks.\n" * 24 for n in range(1, 25))
    turns = {
        "Proponent": "“it was closed for 7 weeks” (doc 1)\n[read doc 1: page 7]",
        "Opponent": "[read doc 1: 日本]",
    }
    digest = {
        "summary": "Closures, by 日本語.",
        "quotes": ["it was closed for 7 weeks", "nobody wrote this here"],
    }
    script = task_script({"argument": lambda call: turns[call.seat], "digest": digest})
    opened = build_setup(format="verdict", documents=[{"title": "Closures", "text": text.strip()}])
    return simulate(add_windows(opened, [Window(model="scripted", tokens=6_000)]), script).play().events


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


def play_hollow() -> list[Event]:
    """All come over to one position without a reason, are challenged in a round more, and one of them goes back."""

    def ballot(call: Call) -> dict[str, Any]:
        is_back = call.seat == "Opponent" and call.round > 1
        choice = "A" if call.seat == "Proponent" or (call.slot_index == 101 and not is_back) else "B"
        extra = {"moved_by": None, "new_point": "Żółć." if call.round > 1 else None, "open_point": None}
        return build_ballot(choice, "日本語で", percent=60) | extra

    options = {"challenges": "challenge", "ballots": "rounds"}
    opened = build_setup(["vendor/a", "vendor/b"], format="settle", max_rounds=1, options=options)
    return simulate(opened, task_script({"ballot": ballot})).play().events


def play_skipped() -> list[Event]:
    """A debate whose blind ballots agree."""
    options = {"ballots": "blind", "skip_if_agreed": True}
    opened = build_setup(["openai/gpt-5", "anthropic/claude-4"], options=options)
    return simulate(opened, task_script({"ballot": build_ballot("A", "Żółć.", percent=95)})).play().events


def play_mirrored() -> list[Event]:
    """A debate that more judges leave open, and whose mirror agrees with two of them."""
    options = {
        "mirror": "if_contested",
        "judges": {"models": ["vendor/j", "vendor/k"], "reserve": ["vendor/r"]},
    }
    found = {"judge 1": "A", "judge 2": "B", "judge 3": None}
    script = task_script({"judgment": lambda call: render_finding(found[call.seat])})
    at = simulate(build_setup(["openai/gpt-5", "anthropic/claude-4"], options=options), script).play()
    at.play_mirror(task_script({"judgment": lambda _: render_finding("B")}))
    return at.play().events


def play_without_mirror() -> list[Event]:
    """A debate that somebody concludes while its mirror is held."""
    script = task_script({"judgment": lambda _: render_finding("A")})
    at = simulate(build_setup(format="verdict", max_rounds=1, options={"mirror": True}), script).play()
    at.add_events(MirrorOpened(round=at.debate.round, debate_id=MIRROR_ID, because="request"))
    at.intervene("conclude")
    return at.play().events


def play_breakpoints() -> list[Event]:
    """A debate that stops at a failure, at a share of its budget and before its verdict, and goes on each time."""
    options = {
        "pause_when": ["failure", "budget:0.4", "verdict"],
        "limits": {"max_calls": 10},
        "judges": {"models": ["vendor/j"]},
    }

    lost = [ProviderFailure("timeout")]
    script = task_script({"argument": lambda call: lost.pop() if lost else default_script(call)})
    at = simulate(build_setup(format="verdict", max_rounds=2, options=options), script)
    while at.play().debate.paused:
        at.add_events(Resumed(reason="read"))
    return at.events


def play_fork() -> list[Event]:
    """A fork of the debate with interventions, with other judges and a changed stance."""
    at = DebateSimulation(replay(play_interventions()), events=play_interventions())
    other = {"judges": {"models": ["vendor/z"]}, "stances": {"Opponent": "日本語で待つ"}}
    opened, past = fork(PARENT_ID, at.debate, at.log, 1, ChangesInput.model_validate(other))
    events: list[Event] = [add_prices(opened, find_price), *past]
    forked = DebateSimulation(
        replay(events), lambda call: render_finding("B") if call.reading else "So.", events=events
    )
    return forked.play().events


def render_entries(stream: str, events: Iterable[Event]) -> list[str]:
    head = genesis_hash(stream)
    lines = []
    for seq, event in enumerate(events, start=1):
        at = f"2026-12-01T10:{seq // 60:02}:{seq % 60:02}.{seq:03}Z"
        actor = "alice" if isinstance(event, Opened | InterventionFact | Paused | Resumed) else "counterpoint"
        body = event.model_dump(mode="json")
        head = link_hash(head, encode_canonical(seq, at, actor, body))
        entry = {"stream": stream, "seq": seq, "at": at, "actor": actor, "body": body, "hash": head.hex()}
        lines.append(json.dumps(entry, ensure_ascii=False))
    return lines


JOURNALS: dict[str, dict[str, Callable[[], list[Event]]]] = {
    "": {"opinion": play_opinion, "verdict": play_verdict},
    "_formats": {
        "led": play_moderated,
        "handoff": play_handoff,
        "without a plan": play_default_plan,
        "oxford": play_oxford,
        "blocks": play_blocks,
        "observed": play_observed,
        "digested": play_digested,
        "messages": play_messages,
        "hollow": play_hollow,
        "ballots": play_ballots,
        "skipped": play_skipped,
        "mirrored": play_mirrored,
        "without_mirror": play_without_mirror,
        "positions": play_positions,
        "without positions": play_default_positions,
    },
    "_interventions": {"steered": play_interventions, "held": play_breakpoints, "forked": play_fork},
}
"""The debates of each file, by its suffix and the stream."""


def render_journal(suffix: str) -> str:
    """A file of debates as this release writes them."""
    lines = [line for stream, play in JOURNALS[suffix].items() for line in render_entries(stream, play())]
    return "".join(line + "\n" for line in lines)


def write_journals(release: str) -> None:
    for suffix in JOURNALS:
        (GOLDEN / f"journal_{release}{suffix}.jsonl").write_text(render_journal(suffix), encoding="utf-8")


if __name__ == "__main__":
    write_journals(sys.argv[1])
