"""Debates as pages on disk, for tests that look at them."""

import json
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio

from server.debate.facts.events import Recorded
from server.debate.machine.kinds import load
from server.debate.machine.transitions import replay
from server.debate.views.catalog import ViewSource
from server.engine.debates import DebateManager
from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from server.web.page import build_page
from server.web.record import Data, load_debate_data
from storage.streams import Entry
from tests.support.engines import open_engine, run_debate
from tests.support.paths import GOLDEN

T = TypeVar("T")


def say(text: str, request: Request) -> str:
    """One text in every place where a model's words stand."""
    if request.prompt.summary.task not in ("judgment", "ballot"):
        return text
    told = json.loads(build_reply_text(request))
    words = {name: text for name in ("verdict", "reasoning", "would_change", "position") if name in told}
    return json.dumps(told | words)


def load_page_data(folder: Path, text: str = "", **asked: Any) -> Data:
    """A debate held in a database of that folder, as data of its page. `text`: what its models say."""

    async def hold() -> Data:
        model = ScriptedModel(partial(say, text) if text else None)
        async with open_engine(folder / "debates.db", {"mine": model}) as manager:
            return await load_held(manager, **asked)

    return run_apart(hold)


def run_apart(operation: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What an operation returns, run in a thread of its own: a browser has an event loop in that of the tests."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, operation).result()


async def load_held(manager: DebateManager, **asked: Any) -> Data:
    snapshot = await run_debate(manager, **asked)
    return await load_debate_data(manager, snapshot.id)


def write_page(folder: Path, data: Data) -> Path:
    path = folder / "debate.html"
    path.write_text(build_page(data), encoding="utf-8", newline="")
    return path


def read_golden() -> Iterator[tuple[ViewSource, list[Entry]]]:
    """The debates of the golden journals, which hold every kind of event."""
    for path in sorted(GOLDEN.glob("journal_*.jsonl")):
        streams: dict[str, list[dict[str, Any]]] = {}
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            entry = json.loads(line)
            streams.setdefault(entry.pop("stream"), []).append(entry)
        for stream, kept in streams.items():
            stored = [Entry(**entry) for entry in kept]
            yield build_golden(stream, stored), stored


def build_golden(stream: str, stored: Sequence[Entry]) -> ViewSource:
    entries = tuple(Recorded(one.seq, one.at, one.actor, one.hash, load(one.body)) for one in stored)
    return ViewSource(stream, replay(entry.event for entry in entries), entries)
