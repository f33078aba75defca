"""Debates in which it is planted what a position is worth and what a debater can do, for mirrors to find again."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from tests.support.biased_judges import PromptText

STANCES = {"Ada": "build it", "Ben": "buy it", "Cleo": "do without"}
JUDGES = ["openai/j", "mistral/j", "qwen/j"]


@dataclass
class Planted:
    """`worth`: points of a stance; `skill`: points of a debater. A judge sees both in what stands before it, no names.

    A lead of a point moves a judge's belief by 10 percent. `bias`: points that a judge, by model, gives a stance.
    """

    worth: Mapping[str, float] = field(default_factory=dict)
    skill: Mapping[str, float] = field(default_factory=dict)
    bias: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    samples: Mapping[str, float] = field(default_factory=dict)  # percent for a stance, of blind ballots
    delay: float = 0.0

    def build_models(self, debaters: Mapping[str, str], judges: list[str]) -> dict[str, ScriptedModel]:
        """The models of these seats, by name."""
        names = (*debaters.values(), *judges)
        return {
            name: ScriptedModel(partial(self.answer, name), delay=self.delay, name=name) for name in names
        }

    def answer(self, model: str, request: Request) -> str:
        task = request.prompt.summary.task
        if task == "argument":
            return f"It is so. Skill {self.skill.get(request.seat, 0)}."
        if task == "judgment":
            return self.judge(model, PromptText(request.prompt.messages[-1].content))
        if task == "ballot" and self.samples:
            return self.vote(PromptText(request.prompt.messages[-1].content))
        return build_reply_text(request)

    def judge(self, model: str, prompt: PromptText) -> str:
        skills = {key: re.findall(r"Skill (-?[\d.]+)\.", body) for key, body in prompt.turns}
        bias = self.bias.get(model, {})
        scores = {
            key: self.worth.get(stance, 0) + bias.get(stance, 0) + max(map(float, skills.get(key) or [0]))
            for key, stance in prompt.positions.items()
        }
        ranked = sorted(scores, key=lambda key: -scores[key])
        lead = min(round(10 * (scores[ranked[0]] - scores[ranked[1]])), 95)
        others = (100 - lead) // len(ranked)
        beliefs = dict.fromkeys(prompt.keys, others)
        beliefs[ranked[0]] += 100 - sum(beliefs.values())
        found: dict[str, Any] = {
            "winner": ranked[0] if lead else None,
            "verdict": "So.",
            "reasoning": "It is so.",
        }
        return json.dumps(found | {"beliefs": beliefs | {"none": 0}})

    def vote(self, prompt: PromptText) -> str:
        beliefs = {key: self.samples.get(stance, 0) for key, stance in prompt.positions.items()}
        none = 100 - sum(beliefs.values())
        return json.dumps({"beliefs": beliefs | {"none": none}, "position": "So.", "would_check": "That."})


def describe_debate(sides: int = 2, judges: list[str] | None = None, **options: Any) -> dict[str, Any]:
    """The arguments of a debate between Ada, Ben and Cleo, each on a model of its own."""
    names = list(STANCES)[:sides]
    return {
        "question": "What to do?",
        "format": "advocates",
        "debaters": [{"name": name, "stance": STANCES[name], "model": f"{name.lower()}/m"} for name in names],
        "options": {"ballots": "none", "judges": {"models": judges or JUDGES}, **options},
    }
