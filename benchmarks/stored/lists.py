"""Thousands of debates on the disk: pages of lists and searches over stdio."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.processes.children import OUR_SERVER, Server, build_environment
from benchmarks.stored.texts import TextGenerator
from benchmarks.table import Measurement, Samples, percentile, shorten
from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.summaries import build_stream_summary
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from storage.sqlite import SqliteStorage
from storage.storage import Storage

DEBATE_COUNT = shorten(10_000, 100)
MANY = shorten(60_000, 200)
BATCH = shorten(200, 20)
REPEATS = shorten(200)
TIMESTAMP = "2026-01-01T00:00:00.000Z"
RARE_WORD = "quokka"  # in one debate of a hundred
MAX_PAGE_MS = 20

MIDDLE = "the middle"
PAGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("newest debates", {}),
    ("a page from the middle", {"cursor": MIDDLE}),
    ("of a status that none has", {"status": "truncated"}),
    ("a word that all have", {"query": "common"}),
    ("a word that all have, page from the middle", {"query": "common", "cursor": MIDDLE}),
    ("a word that one in 100 has", {"query": RARE_WORD}),
    ("two words that all have", {"query": "should common"}),
    ("the beginning of most words", {"query": "w"}),
    ("a word that all have, a status that none has", {"query": "common", "status": "truncated"}),
)


async def hold_debates(count: int) -> Sequence[DebateSnapshot]:
    """Finished debates of 2 debaters, 500 characters a turn."""
    texts = TextGenerator(seed=1, length=500)
    model = ScriptedModel(texts.reply, record_requests=False)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=str(Path(folder) / "a.db"))
        async with open_manager(settings, {"fine": model}, environ={}) as manager:
            request = DebateRequest.model_validate(
                {"question": "Why?", "format": "verdict", "models": ["fine"], "run": True}
                | {"debaters": [{"name": "Ada", "stance": "now"}, {"name": "Ben", "stance": "later"}]}
            )
            begun = [await manager.start(request, actor="benchmark") for _ in range(count)]
            return [await manager.follow(snapshot.id, wait=600) for snapshot in begun]


async def fill_journal(storage: Storage, count: int) -> None:
    # What is said does not depend on the question: the debates of a batch differ, those of two batches do not.
    held = await hold_debates(BATCH)
    for start in range(0, count, BATCH):
        appends = []
        for number, snapshot in enumerate(held, start=start):
            rare = f" {RARE_WORD}" if number % 100 == 0 else ""
            setup = snapshot.debate.setup.model_copy(
                update={"question": f"Should we do number {number}{rare}?"}
            )
            events = [setup, *(entry.event for entry in snapshot.entries[1:])]
            appends.append(
                storage.journal.append(
                    f"stored{number:06}",
                    after=0,
                    at=TIMESTAMP,
                    actor="benchmark",
                    bodies=[event.model_dump(mode="json") for event in events],
                    summary=build_stream_summary(
                        replace(snapshot.debate, changed_setup=setup), events, snapshot.entries, {}
                    ),
                )
            )
        await asyncio.gather(*appends)


@asynccontextmanager
async def closing_storage(path: Path) -> AsyncIterator[SqliteStorage]:
    storage = await SqliteStorage.open(path)
    try:
        yield storage
    finally:
        await storage.close()


async def measure_many_lists() -> list[Measurement]:
    return await measure_lists(MANY)


async def measure_lists(count: int = DEBATE_COUNT) -> list[Measurement]:
    """Pages of lists and searches over so many debates."""
    lines, bare = [], Samples()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        started = perf_counter()
        async with closing_storage(path) as storage:
            await fill_journal(storage, count)
        filled = (perf_counter() - started) / count
        environ = build_environment(COUNTERPOINT_DB=str(path), COUNTERPOINT_MODELS="scripted")
        async with Server.start(*OUR_SERVER, environ=environ) as server:
            await server.initialize()
            for _ in range(REPEATS):
                with bare.measure(server.read_cpu):
                    await server.request("ping")
            for name, page in PAGES:
                arguments = page | {"cursor": str(count // 2)} if "cursor" in page else page
                found = await server.call_tool("find_debates", **arguments)
                ours = Samples()
                for _ in range(REPEATS):
                    with ours.measure(server.read_cpu):
                        await server.call_tool("find_debates", **arguments)
                lines.append(build_page_row(count, name, ours, bare, f"{len(found['debates'])} rows"))
            ours = Samples()
            for _ in range(REPEATS):
                with ours.measure(server.read_cpu):
                    await server.request("resources/list")
            lines.append(build_page_row(count, "`resources/list`", ours, bare))
    lines[0].details += f"; {filled * 1000:.1f} ms to write each debate"
    return lines


def build_page_row(count: int, name: str, ours: Samples, bare: Samples, details: str = "") -> Measurement:
    return Measurement(
        f"{count:,} debates: {name}, p99 of {len(ours.wall)}",
        percentile(ours.wall, 0.99) * 1000,
        "ms",
        MAX_PAGE_MS,
        ours=ours,
        bare=bare,
        bare_name="`ping`",
        details=details,
    )
