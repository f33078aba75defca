"""10,000 debates on the disk: pages of lists and searches. And the replay of a debate of 1,500 events."""

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.processes.children import OUR_SERVER, Server, build_environment
from benchmarks.stored.generated import DebateGenerator
from benchmarks.table import Measurement, Samples, median, percentile
from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.open import open_debate
from server.debate.rules.transitions import apply
from server.engine.database.store import DebateStore
from server.engine.database.summaries import build_stream_summary
from server.engine.debates import utc_now
from storage.contract.journal import Journal
from storage.sqlite import SqliteJournal

DEBATE_COUNT = 10_000
MANY = 100_000  # beyond the goal: it shows what grows
BATCH = 200
EVENT_COUNT = 1_500
TIMESTAMP = "2026-01-01T00:00:00.000Z"
RARE_WORD = "quokka"  # in one debate of a hundred
MAX_PAGE_MS = 20

MIDDLE = "the middle"
PAGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("newest debates", {}),
    ("a page from the middle", {"cursor": MIDDLE}),
    ("of a status", {"status": "concluded"}),
    ("of a status that none has", {"status": "truncated"}),
    ("a word that all have", {"query": "common"}),
    ("a word that all have, page from the middle", {"query": "common", "cursor": MIDDLE}),
    ("a long beginning of a word that all have", {"query": "commo"}),
    ("a word that all have, where none of them runs", {"query": "common", "status": "running"}),
    ("a word that one in 100 has", {"query": RARE_WORD}),
    ("two words that all have", {"query": "should common"}),
    ("the beginning of most words", {"query": "w"}),
    ("a word that all have, a status that none has", {"query": "common", "status": "truncated"}),
)
REPEATS = 50


async def fill_journal(journal: Journal, count: int) -> None:
    """Finished debates of 2 debaters and 2 rounds, 500 characters a turn."""
    writer = DebateGenerator(random.Random(1), 500)  # noqa: S311  (texts, not secrets)
    setup = open_debate(
        DebateRequest(question="Why?", options={"tags": ["stored"], "framing": False}),
        models=["scripted"],
        seed=1,
    )
    # What is said does not depend on the question: the debates of a batch differ, those of two batches do not.
    talks = [writer.generate_events(apply(None, setup)) for _ in range(BATCH)]
    for start in range(0, count, BATCH):
        appends = []
        for number, (debate, talk) in enumerate(talks, start=start):
            rare = f" {RARE_WORD}" if number % 100 == 0 else ""
            asked = setup.model_copy(update={"question": f"Should we do number {number}{rare}?"})
            events = [asked, *talk[1:]]
            appends.append(
                journal.append(
                    f"stored{number:06}",
                    after=0,
                    at=TIMESTAMP,
                    actor="benchmark",
                    bodies=[event.model_dump(mode="json") for event in events],
                    summary=build_stream_summary(replace(debate, setup=asked), events, (), {}),
                )
            )
        await asyncio.gather(*appends)


@asynccontextmanager
async def closing_journal(path: Path) -> AsyncIterator[SqliteJournal]:
    journal = await SqliteJournal.open(path)
    try:
        yield journal
    finally:
        await journal.close()


async def measure_many_lists() -> list[Measurement]:
    return await measure_lists(MANY)


async def measure_lists(count: int = DEBATE_COUNT) -> list[Measurement]:
    """Pages of lists and searches over so many debates, over stdio."""
    lines, bare = [], Samples()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        started = perf_counter()
        async with closing_journal(path) as journal:
            await fill_journal(journal, count)
        filled = (perf_counter() - started) / count
        environ = build_environment(COUNTERPOINT_DB=str(path), COUNTERPOINT_MODELS="scripted")
        async with Server.start(*OUR_SERVER, environ=environ) as server:
            await server.initialize()
            for _ in range(REPEATS):
                with bare.measure(server.read_cpu):
                    await server.request("ping")
            for name, page in PAGES:
                is_middle = page.get("cursor") == MIDDLE
                arguments = page | {"cursor": str(count // 2)} if is_middle else page
                samples, rows = await measure_page(server, arguments)
                lines.append(build_page_row(count, name, samples, bare, f"{rows} rows"))
            lines.append(build_page_row(count, "`resources/list`", await measure_resources(server), bare))
    lines.append(Measurement(f"- writing the {count:,} debates, each", filled * 1000, "ms"))
    return lines


async def measure_page(server: Server, arguments: dict[str, Any]) -> tuple[Samples, int]:
    samples = Samples()
    page = await server.call_tool("find_debates", **arguments)
    for _ in range(REPEATS):
        with samples.measure(server.read_cpu):
            page = await server.call_tool("find_debates", **arguments)
    return samples, len(page["debates"])


async def measure_resources(server: Server) -> Samples:
    samples = Samples()
    for _ in range(REPEATS):
        with samples.measure(server.read_cpu):
            await server.request("resources/list")
    return samples


def build_page_row(count: int, name: str, samples: Samples, bare: Samples, how: str = "") -> Measurement:
    return Measurement(
        f"{count:,} debates: {name}, p99",
        percentile(samples.wall, 0.99) * 1000,
        "ms",
        MAX_PAGE_MS if count == DEBATE_COUNT else None,
        ours=samples,
        bare=bare,
        bare_name="`ping`",
        details=how,
    )


async def measure_replay() -> list[Measurement]:
    """Load a debate of 1,500 events from the disk and check its chain, as the first call on it does."""
    request = DebateRequest.model_validate(
        {"question": "Which way?", "debaters": [{"name": f"D{n}", "stance": f"way {n}"} for n in range(10)]}
    )
    setup = open_debate(request, models=["scripted"], seed=1)
    # Longer than any format allows; a stored debate may be. Ballots, which older checkouts do not have, would end it.
    changes = {"max_rounds": EVENT_COUNT, "ballots": "none", "stop": "off"}
    known = {name: value for name, value in changes.items() if name in type(setup).model_fields}
    debate = apply(None, setup.model_copy(update=known))
    writer = DebateGenerator(random.Random(1), 1200)  # noqa: S311  (texts, not secrets)
    after, events = writer.generate_events(debate, EVENT_COUNT)
    loads, reads = Samples(), Samples()
    with tempfile.TemporaryDirectory() as folder:
        async with closing_journal(Path(folder) / "a.db") as journal:
            await journal.append(
                "long",
                after=0,
                at=TIMESTAMP,
                actor="benchmark",
                bodies=[event.model_dump(mode="json") for event in events],
                summary=build_stream_summary(after, events, (), {}),
            )
            for _ in range(15):
                store = DebateStore(journal, utc_now)  # a new one, which remembers nothing
                with loads.measure(process_time):
                    snapshot = await store.load("long")
                with reads.measure(process_time):
                    await journal.read("long")
    assert len(snapshot.entries) == EVENT_COUNT
    return [
        Measurement(
            "replay of 1,500 events, chain checked",
            median(loads.cpu) * 1000,
            "ms",
            ours=loads,
            bare=reads,
            bare_name="reading them and checking the chain",
        )
    ]
