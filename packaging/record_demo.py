"""Holds the debate that `counterpoint demo` replays, and stores its record: `python packaging/record_demo.py`.

The product runs the debate as any other, in real time. Its answers and reviews were written beforehand, and stand
in `demo.yaml`; two models give them as fast as they are read. Run it when records have another shape.
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
CHARACTERS_PER_SECOND = 400
MODELS = ("written-1", "written-2")
sys.path.insert(0, str(ROOT))

from server.cli.debates.demo import RECORDING  # noqa: E402  (the checkout is on the path only now)
from server.compose import open_manager  # noqa: E402
from server.debate.commands.requests import DebateRequest  # noqa: E402
from server.engine.transfer import export_debate  # noqa: E402
from server.models import OnText, Reply, Request, Usage  # noqa: E402
from server.settings import Settings  # noqa: E402

PLAY: dict[str, Any] = YAML(typ="safe").load((ROOT / "packaging" / "demo.yaml").read_text(encoding="utf-8"))
FIRST, SECOND = PLAY["answers"]


class Written:
    """Gives what is written above, as fast as it is read."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        text = self.find_text(request)
        for piece in re.findall(r"\S+\s*", text):
            await asyncio.sleep(len(piece) / CHARACTERS_PER_SECOND)
            if on_text:
                on_text(piece)
        usage = Usage(model=self.name, input_tokens=0, output_tokens=0, cost_usd="0", milliseconds=0)
        return Reply(text, usage)

    def find_text(self, request: Request) -> str:
        summary = request.prompt.summary
        if summary.task == "advice":
            return json.dumps(PLAY["answers"][request.seat])
        labels = dict(
            zip(("one", "two") if request.seat == FIRST else ("two", "one"), summary.choices, strict=True)
        )
        return json.dumps(fill(PLAY["reviews"][request.seat], labels))


def fill(value: Any, labels: dict[str, str]) -> Any:
    """The value with labels in place of "one" and "two", and of {one} and {two} in texts."""
    if isinstance(value, dict):
        return {name: fill(part, labels) for name, part in value.items()}
    if isinstance(value, list):
        return [fill(part, labels) for part in value]
    return labels.get(value, value.format(**labels)) if isinstance(value, str) else value


async def record() -> dict[str, Any]:
    request = DebateRequest.model_validate(
        {
            "question": PLAY["question"],
            "models": MODELS,
            "documents": [{"title": "situation.md", "text": PLAY["document"]}],
            "options": {"seed": 7, "effort": "standard"},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=str(Path(folder) / "demo.db"))
        async with open_manager(settings, {name: Written(name) for name in MODELS}) as manager:
            snapshot = await manager.start(request, actor="demo")
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
