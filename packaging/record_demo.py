"""Holds the debate that `counterpoint demo` replays, and stores its record: `python packaging/record_demo.py`.

The product runs the debate as any other, in real time. Its turns, ballots and judgments were written beforehand and
stand in `demo.yaml`; the model `written` gives them as fast as they are read. Run it when records have another shape.
"""

import asyncio
import gzip
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent
CHARACTERS_PER_SECOND = 160
sys.path.insert(0, str(ROOT))

from server.cli.debates.demo import RECORDING  # noqa: E402  (the checkout is on the path only now)
from server.compose import open_manager  # noqa: E402
from server.debate.commands.requests import DebateRequest  # noqa: E402
from server.engine.transfer import export_debate  # noqa: E402
from server.models import OnText, Reply, Request, Usage  # noqa: E402
from server.settings import Settings  # noqa: E402

PLAY: dict[str, Any] = YAML(typ="safe").load((ROOT / "packaging" / "demo.yaml").read_text(encoding="utf-8"))
ONE, MANY = PLAY["positions"].values()
EVEN = 50  # percent


class Written:
    """Gives what is written above, as fast as it is read."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        text = self.find_text(request)
        for piece in re.findall(r"\S+\s*", text):
            await asyncio.sleep(len(piece) / CHARACTERS_PER_SECOND)
            if on_text:
                on_text(piece)
        usage = Usage(model="written", input_tokens=0, output_tokens=0, cost_usd="0", milliseconds=0)
        return Reply(text, usage)

    def find_text(self, request: Request) -> str:
        summary = request.prompt.summary
        if summary.task == "argument":
            points = PLAY["turns"][request.seat][summary.round - 1]
            return "\n".join(f"{number}. {point}" for number, point in enumerate(points, 1)).format(**LABELS)
        label = next(label for label, stance in summary.positions if stance == ONE)
        other = next(label for label, stance in summary.positions if stance == MANY)
        if summary.task == "ballot":
            return self.write_ballot(request, label, other)
        return self.write_judgment(request, label, other)

    def write_ballot(self, request: Request, label: str, other: str) -> str:
        is_blind = "moved_by" not in (request.prompt.schema or {})["properties"]
        wave = 0 if is_blind else min(request.prompt.summary.round, 2)
        percent, position = PLAY["ballots"][request.seat][wave]
        moved = f"{LABELS['Ada' if request.seat == 'Ben' else 'Ben']} {wave}.1" if wave else None
        return json.dumps(
            {
                "position": position,
                "beliefs": {label: percent, other: 95 - percent, "none": 5},
                "would_check": "How often the boundary moves in the next two months.",
                "moved_by": moved,
                "new_point": None,
                "open_point": None,
            }
        )

    def write_judgment(self, request: Request, label: str, other: str) -> str:
        number = int(request.seat.rpartition(" ")[2])
        judgment = PLAY["judgments"][number - 1]
        percent = judgment["percents"][READINGS.setdefault(request.seat, 0)]
        READINGS[request.seat] += 1
        better = label if percent >= EVEN else other
        cited = [f"{label} 1.1", f"{label} 2.1", f"{other} 1.1"] if better == label else [f"{other} 2.3"]
        return json.dumps(
            {
                "reasoning": judgment["reasoning"],
                "criteria": {
                    "support": label,
                    "response": better,
                    "relevance": "even",
                    "consequences": label,
                },
                "beliefs": {label: percent, other: 95 - percent, "none": 5},
                "winner": better,
                "cited": cited,
                "verdict": judgment["verdict"],
                "would_change": judgment["would_change"],
                "common_position": "",
            }
        )


LABELS: dict[str, str] = {}
READINGS: dict[str, int] = {}


async def record() -> dict[str, Any]:
    request = DebateRequest.model_validate(
        {
            "question": PLAY["question"],
            "debaters": [
                {"name": name, "stance": stance, "model": "written"}
                for name, stance in PLAY["positions"].items()
            ],
            "documents": [{"title": "situation.md", "text": PLAY["document"]}],
            "max_rounds": 2,
            "options": {
                "ballots": "rounds",
                "judges": {"models": ["written"] * 3},
                "seed": 7,
                "stop": "off",
            },
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=str(Path(folder) / "demo.db"))
        async with open_manager(settings, {"written": Written()}) as manager:
            snapshot = await manager.start(request, actor="demo")
            setup = snapshot.debate.setup
            LABELS.update(zip((one.name for one in setup.debaters), setup.labels, strict=True))
            while not snapshot.debate.ended:
                manager.run_to_end(snapshot)
                snapshot = await manager.follow(snapshot.id, wait=60)
            return await export_debate(manager, snapshot.id)


if __name__ == "__main__":
    found = asyncio.run(record())
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    RECORDING.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(
        f"{RECORDING}: {found['debate_id']}, {len(found['entries'])} entries, {RECORDING.stat().st_size} bytes"
    )
