"""Judges who misbehave on purpose, and debates that they judge. They get the text of their prompt and nothing else."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.open import open_debate
from server.debate.machine.render import render
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels
from server.debate.views.verdict import build_verdict
from tests.support.simulation import (
    DebateSimulation,
    build_ballot,
    build_request,
    render_prompt_text,
    simulate,
)

SEEDS = range(2)
NAMES = ("Ada", "Ben", "Cleo", "Dov")
STANCES = ("Keep the old one", "Write a new one", "Buy one", "Do without")
DIFFERENT = ("openai/gpt-5", "anthropic/claude", "mistral/large", "gemini/pro", "deepseek/chat")
PANELS = {
    "one": DIFFERENT[:1],
    "three of one model": DIFFERENT[:1] * 3,
    "three models": DIFFERENT[:3],
    "five of one model": DIFFERENT[:1] * 5,
    "five models": DIFFERENT,
}
PLEA = {"name": "plea", "instruction": "Plead."}
REPEATED = {"name": "rebuttal", "repeat_from": "opening", "limit": 2}
ARGUED = {"name": "argumentation", "repeats": True}
TURNED: dict[str, dict[str, Any]] = {
    "advocates": {},
    "full": {},
    "verdict": {"speaking": "together"},
    "a tribunal": {"phases": ["opening", "cross_examination", PLEA, "verdict"]},
    "messages last": {"phases": ["opening", "cross_examination", "verdict"]},
    "a block": {"phases": ["opening", REPEATED, "verdict"]},
    "a vote between": {"phases": ["opening", "voting", "rebuttal", "verdict"]},
    "a closing round": {"phases": ["opening", ARGUED, "closing", "verdict"], "max_rounds": 3},
}
"""Formats, with options, whose first and last rounds of talk are written together."""
SEQUENTIAL: dict[str, dict[str, Any]] = {
    "one after the other": {},
    "handoff": {},
    "advocates": {"speaking": "declared"},
}
MARKER = "according to the audit"


@dataclass(frozen=True)
class PromptText:
    """What a model can see: the positions to choose from, and the turns with the side that made each."""

    text: str

    @property
    def positions(self) -> dict[str, str]:
        """Stance by key, as listed in the last words."""
        runs: list[dict[str, str]] = [{}]
        for line in self.text.splitlines():
            if found := re.fullmatch(r"(\w+)\. (.+)", line):
                runs[-1][found[1]] = found[2]
            elif runs[-1]:
                runs.append({})
        return next(run for run in reversed(runs) if run)

    @property
    def keys(self) -> list[str]:
        return list(self.positions)

    @property
    def turns(self) -> list[tuple[str, str]]:
        """(key, text) of each turn. A message belongs to who sent it."""
        parts = re.split(r"^\[(.+)\]$", self.text, flags=re.MULTILINE)[1:]
        blocks = [
            (re.match(r"\w*", heading), body) for heading, body in zip(parts[::2], parts[1::2], strict=True)
        ]
        quoted = [
            (word[0], "\n".join(re.findall(r"^> .*", body, re.MULTILINE))) for word, body in blocks if word
        ]
        return [(key, body) for key, body in quoted if key in self.keys]

    def count_characters(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for key, body in self.turns:
            counts[key] += len(body)
        return counts


Judge = Callable[[PromptText, str], str]
"""From the text of a prompt, and the name of the model that reads it, to a key."""


def choose_longest(prompt: PromptText, _model: str) -> str:
    counts = prompt.count_characters()
    return max(counts, key=lambda key: counts[key])


def choose_fixed(prompt: PromptText, _model: str) -> str:
    return min(prompt.keys, key=lambda key: sha256(key.encode()).digest())


BIASED: dict[str, Judge] = {
    "the first listed": lambda prompt, _: prompt.keys[0],
    "the last listed": lambda prompt, _: prompt.keys[-1],
    "the middle": lambda prompt, _: prompt.keys[len(prompt.keys) // 2],
    "a fixed key": choose_fixed,
    "the alphabetically first key": lambda prompt, _: min(prompt.keys),
    "the side that spoke first": lambda prompt, _: prompt.turns[0][0],
    "the side that spoke last": lambda prompt, _: prompt.turns[-1][0],
    "the first of equally long sides": choose_longest,
}
BY_LABEL = (
    "the first listed",
    "the last listed",
    "the middle",
    "a fixed key",
    "the alphabetically first key",
)
BY_PLACE_OF_TURN = ("the side that spoke first", "the side that spoke last")
BY_CONTENT: dict[str, Judge] = {
    "a word in a turn": lambda prompt, _: next(key for key, body in prompt.turns if MARKER in body),
    "a word in a stance": lambda prompt, _: next(
        key for key, stance in prompt.positions.items() if "new" in stance
    ),
}


def answer_finding(prompt: PromptText, winner: str) -> str:
    beliefs = {key: 96 if key == winner else 1 for key in prompt.keys}
    return json.dumps(
        {"reasoning": "So it is.", "beliefs": beliefs, "winner": winner, "verdict": f"{winner} it is."}
    )


def answer_talk(debate: Debate, call: Call, prompt: PromptText, speeches: dict[str, str]) -> str:
    """A turn of a debater, of one length for all unless `speeches` has a longer one."""
    speech = speeches.get(call.seat, f"Point {sha256(call.key.encode()).hexdigest()[:12]} stands.")
    following = debate.names[(debate.names.index(call.seat) + 1) % len(debate.names)]
    match call.task:
        case "message":
            return json.dumps({"to": side_labels(debate)[following], "kind": "question", "text": speech})
        case "ballot":
            return json.dumps(build_ballot(prompt.keys[0], "So it is."))
        case "argument" if debate.round_phase(call.round).order == "handoff":
            return json.dumps({"response": speech, "next_agent_name": following})
    return speech


def hold(
    format_name: str = "advocates",
    *,
    judge: Judge,
    seed: int = 1,
    sides: Sequence[int] = (0, 1),
    panel: Sequence[str] = DIFFERENT[:3],
    speeches: dict[str, str] | None = None,
    interrupted: str = "",
    max_rounds: int = 0,
    **options: Any,
) -> DebateSimulation:
    """A debate to its end, with labels as drawn. `sides`: which of the names debate, in that order.

    `interrupted`: a debater whose first answer is empty, and who is asked again after a challenge.
    """
    judges = options.pop("judges", {})
    options |= {} if judges is None else {"judges": {"models": list(panel), **judges}}
    request = build_request(
        format=format_name if format_name in FORMATS else "verdict",
        debaters=[{"name": NAMES[n], "stance": STANCES[n], "model": f"vendor{n}/debater"} for n in sides],
        options=options,
        max_rounds=max_rounds,
    )
    at = simulate(open_debate(request, models=["vendor/m"], seed=seed))

    def reply(call: Call) -> str:
        prompt = PromptText(render_prompt_text(render(at.debate, call)))
        if call.task == "judgment" or (call.task == "ballot" and call.seat not in at.debate.names):
            winner = judge(prompt, call.model)
            is_vote = call.task == "ballot"
            return json.dumps(build_ballot(winner)) if is_vote else answer_finding(prompt, winner)
        if call.seat == interrupted and call.attempt == 1:
            at.intervene("challenge", text="What does it cost?")
            return ""
        return answer_talk(at.debate, call, prompt, speeches or {})

    at.script = reply
    return at.play()


def list_cautions(at: DebateSimulation) -> str:
    return " ".join(build_verdict(at.debate).cautions)


def assert_nobody_won(debates: Iterable[DebateSimulation]) -> None:
    for at in debates:
        found = build_verdict(at.debate)
        assert found.outcome in ("contested", "undecided"), (found.votes, at.debate.setup.labels)
        assert (found.winner, found.winner_stance) == ("", "")
        assert not re.search("wins|won|it is|prevail", found.verdict)
