"""Recorded debates between people as debates of the product: with their quotes, points and graph, and as pages.

Usage: python -m benchmarks pages DEBATES.jsonl.gz FOLDER [ID ...]

Every debate of the file is held by the product, with seats that say what people said, and a judge who finds as the
recorded one did. They are stored in FOLDER/debates.db; of the debates named, or of the first three, FOLDER has pages.
A line of the file is as in `quotes`, with `answers`, and `judge`: the beliefs after each round.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from benchmarks.recorded.quotes import read_debates, write_turn
from server.compose import open_manager
from server.debate.analysis.claims import find_graph
from server.debate.commands.interventions.request import InterventionRequest
from server.debate.commands.requests import DebateRequest
from server.debate.documents.evidence import count_quotes
from server.debate.documents.quotes import is_long_enough
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.models import ModelError, OnText, Reply, Request, Usage
from server.settings import Settings
from server.web.page import build_page
from server.web.sources import load_debate_data

PEOPLE = "people"
NAMES = ("Debater A", "Debater B")
DRAWN = 3


@dataclass
class RecordedPeople:
    """Says for each seat what somebody said; who said nothing in a round gives no answer."""

    held: dict[str, Any] = field(default_factory=dict)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        text = self.find_words(request)
        if on_text:
            on_text(text)
        return Reply(text, Usage(model=PEOPLE, cost_usd="0"))

    def find_words(self, request: Request) -> str:
        summary = request.prompt.summary
        if summary.task == "judgment":
            return write_finding(self.held, {stance: label for label, stance in summary.positions})
        said = [
            turn
            for turn in self.held["turns"]
            if turn["round"] == summary.round and NAMES[turn["side"]] == request.seat
        ]
        if not said:
            raise ModelError("empty", f"{request.seat} said nothing in this round of the recorded debate.")
        return write_turn(said[0]["parts"])


def write_finding(held: dict[str, Any], labels: dict[str, str]) -> str:
    """What the recorded judge believed in the end, as a judge of the product says it. `labels`: by stance."""
    if not held["judge"]:
        return json.dumps({"winner": None, "verdict": "No finding was recorded.", "reasoning": "-"})
    shares = held["judge"][-1]["belief"]
    percent = round(shares[0] * 100)
    told = ", ".join(f"after round {row['after_round']}: {row['belief'][0]:.0%}" for row in held["judge"])
    ahead = None if percent == 50 else held["answers"][percent < 50]
    return json.dumps(
        {
            "winner": labels[ahead] if ahead else None,
            "beliefs": dict(zip((labels[a] for a in held["answers"]), (percent, 100 - percent), strict=True)),
            "verdict": f"{('The first', 'The second')[percent < 50] if ahead else 'Neither'} of the two answers.",
            "reasoning": f"The recorded judge gave no words. Belief in the first answer {told}.",
        }
    )


def build_request(held: dict[str, Any]) -> DebateRequest:
    team = [
        {"name": name, "stance": stance, "model": PEOPLE}
        for name, stance in zip(NAMES, held["answers"], strict=True)
    ]
    options = {
        "judges": {"models": [PEOPLE], "both_orders": False},
        "effort": "quick",
        "framing": False,
        "quorum": 1,
        "seed": 1,
    }
    fields = {
        "question": held["question"],
        "format": "verdict",
        "debaters": team,
        "documents": [{"title": held["story"], "text": held["source"]}],
        "max_rounds": max(turn["round"] for turn in held["turns"]),
    }
    return DebateRequest.model_validate({**fields, "options": options})


async def hold_debate(manager: DebateManager, people: RecordedPeople, held: dict[str, Any]) -> DebateSnapshot:
    """A recorded debate, held again to its end."""
    people.held = held
    snapshot = await manager.start(build_request(held), actor="import")
    while not snapshot.debate.ended:
        if paused := snapshot.debate.paused:
            if paused.cause != "unheard":
                raise RuntimeError(f"{held['id']}: {paused.reason}")
            request = InterventionRequest(reason="that side was not there")
            snapshot, _ = await manager.intervene(snapshot.id, "resume", request, actor="import")
        snapshot = await manager.step(snapshot.id, wait=30)
    return snapshot


async def import_debates(path: Path, folder: Path, named: Sequence[str]) -> None:
    people = RecordedPeople()
    settings = Settings(db=str(folder / "debates.db"))
    totals = dict.fromkeys(("debates", "turns", "points", "links", "quotes", "found", "lost"), 0)
    async with open_manager(settings, {PEOPLE: people}, environ={}) as manager:
        for held in read_debates(path):
            held["answers"] = [" ".join(answer.split()) for answer in held["answers"]]
            snapshot = await hold_debate(manager, people, held)
            graph, (found, lost) = find_graph(snapshot.debate), count_quotes(snapshot.debate)
            parts = (part.get("quote", "") for turn in held["turns"] for part in turn["parts"])
            given = sum(map(is_long_enough, parts))
            sizes = (len(snapshot.debate.turns), len(graph.points), len(graph.links))
            counted = (1, *sizes, given, found, lost)
            totals = {name: totals[name] + value for name, value in zip(totals, counted, strict=True)}
            if held["id"] in named or (not named and totals["debates"] <= DRAWN):
                page = build_page(await load_debate_data(manager, snapshot.id))
                await anyio.Path(folder / f"{held['id']}.html").write_text(page, encoding="utf-8")
                print(f"{folder / held['id']}.html: {snapshot.id}", file=sys.stderr)
    print("| " + " | ".join(totals) + " |\n" + "| --- " * len(totals) + "|")
    print("| " + " | ".join(f"{value:,}" for value in totals.values()) + " |")


def main(arguments: Sequence[str]) -> None:
    if len(arguments) < 2:
        sys.exit(f"usage: python -m benchmarks pages DEBATES.jsonl.gz FOLDER [ID ...]\n{__doc__}")
    path, folder, *named = arguments
    Path(folder).mkdir(parents=True, exist_ok=True)
    anyio.run(import_debates, Path(path), Path(folder), named)
