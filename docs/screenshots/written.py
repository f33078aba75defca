"""A debate whose turns, ballots and findings are written in a file, run by the product like any other."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from server.models import OnText, Reply, Request, Usage

PRICES = {"atlas-large": (2.5, 10), "birch-27b": (0.3, 1.2), "cedar-pro": (0.6, 2.4), "dune-9": (1, 4)}
"""US dollars of a million tokens, read and written."""

TOKENS_PER_SECOND = {"atlas-large": 70, "birch-27b": 110, "cedar-pro": 95, "dune-9": 80}
TOKENS_PER_WORD = 1.35


@dataclass
class WrittenModel:
    """Answers for every seat that it has, in the time that a model of its speed takes, divided by `haste`."""

    name: str
    script: dict[str, Any]
    haste: float = 1.0

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        text = self.find_answer(request)
        read = round(sum(len(m.content.split()) for m in request.prompt.messages) * TOKENS_PER_WORD)
        written = round(len(text.split()) * TOKENS_PER_WORD)
        seconds = 0.4 + written / TOKENS_PER_SECOND[self.name]
        await anyio.sleep(seconds / self.haste)
        if on_text:
            on_text(text)
        price = PRICES[self.name]
        usage = Usage(
            model=self.name,
            input_tokens=read,
            cached_tokens=round(read * 0.6) if request.prompt.summary.round > 1 else 0,
            output_tokens=written,
            cost_usd=f"{(read * price[0] + written * price[1]) / 1_000_000:.6f}",
            milliseconds=round(seconds * 1000),
        )
        return Reply(text, usage)

    def find_answer(self, request: Request) -> str:
        summary, script = request.prompt.summary, self.script
        labels = {stance: label for label, stance in summary.positions}
        names = [debater["name"] for debater in script["debaters"]]
        stances = {debater["name"]: debater["stance"] for debater in script["debaters"]}
        if summary.task == "argument":
            return str(script["turns"][request.seat][summary.round - 1])
        if summary.task == "ballot":
            is_blind = "Nobody has spoken yet" in request.prompt.messages[-1].content
            polls = script["ballots"][request.seat]
            *beliefs, position, moved_by, check = polls[0 if is_blind else min(summary.round, len(polls) - 1)]
            shares = {labels[stances[name]]: percent for name, percent in zip(names, beliefs, strict=True)}
            mover = moved_by.partition(" ")[0]
            moved_by = moved_by.replace(mover, labels[stances[mover]]) if mover else "nothing"
            told = {"beliefs": shares, "position": position, "moved_by": moved_by, "would_check": check}
            return json.dumps(told)
        finding = script["judges"][request.seat]["readings"][self.find_reading(labels)]
        beliefs = {
            labels[stances[name]]: share for name, share in zip(names, finding["beliefs"], strict=True)
        }
        told = {key: finding[key] for key in ("cited", "verdict", "reasoning", "would_change")}
        return json.dumps({"winner": labels[stances[finding["for"]]], "beliefs": beliefs, **told})

    def find_reading(self, labels: dict[str, str]) -> int:
        """0 or 1: in a second reading the positions begin with another one."""
        return int(next(iter(labels)) != self.script["debaters"][0]["stance"])


def read_script() -> dict[str, Any]:
    return dict(json.loads(Path(__file__).with_name("checkout.json").read_text(encoding="utf-8")))


def build_models(script: dict[str, Any], haste: float = 1.0) -> dict[str, WrittenModel]:
    return {name: WrittenModel(name, script, haste) for name in PRICES}
