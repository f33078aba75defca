"""Large amounts: 10,000 debates on the disk, a debate of 1,500 events, the verdict of a big debate."""

import asyncio
import json
import random
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.measurements import Measurement, format_ms, format_spread, median, percentile
from server.compose import open_manager
from server.debate.commands.open import open_debate
from server.debate.commands.requests import DebateRequest
from server.debate.facts.config import Debater
from server.debate.facts.events import Event, Usage
from server.debate.facts.state import Debate
from server.debate.replies.extract import Reply
from server.debate.replies.interpret import interpret
from server.debate.rules.decide import Ask, Record, decide
from server.debate.rules.transitions import apply
from server.engine.database.store import DebateStore, build_stream_summary
from server.engine.debates import DebateManager, utc_now
from server.engine.queries import list_debates
from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from server.tools.results import build_tool_result, build_verdict_result
from server.tools.texts import format_verdict_result
from storage.journal import Journal
from storage.sqlite import SqliteJournal

DEBATE_COUNT = 10_000
EVENT_COUNT = 1_500
TIMESTAMP = "2026-01-01T00:00:00.000Z"
VOCABULARY_SIZE = 4_000
RARE_WORD = "quokka"  # in one debate of a hundred


@dataclass
class DebateGenerator:
    """Plays debates without a clock or a model.

    Seeded texts, with word frequencies as in natural language.
    """

    rng: random.Random
    turn_length: int

    def generate_text(self) -> str:
        words = (
            f"w{min(int(self.rng.paretovariate(0.7)), VOCABULARY_SIZE)}" for _ in range(self.turn_length // 4)
        )
        return " ".join(("common", *words))[: self.turn_length]

    def generate_events(self, debate: Debate, max_events: int = 10**9) -> tuple[Debate, list[Event]]:
        """Returns the debate at its end or after `max_events` events, and its events."""
        events: list[Event] = [debate.setup]
        while len(events) < max_events:
            step = decide(debate)
            new: Sequence[Event] = ()
            if isinstance(step, Record):
                new = step.events
            elif isinstance(step, Ask):
                usage = Usage(model="scripted", input_tokens=1000, output_tokens=100)
                answers = [
                    (call, build_finding("for") if call.reading else self.generate_text())
                    for call in step.calls
                ]
                new = [interpret(debate, call, Reply(text, usage)) for call, text in answers]
            else:
                break
            for event in new[: max_events - len(events)]:
                debate = apply(debate, event)
                events.append(event)
        return debate, events


def build_finding(winner: str, length: int = 0, filler: str = "because ") -> str:
    return json.dumps(
        {
            "reasoning": (filler * max(length, 1))[: max(length, 40)],
            "verdict": (filler * max(length, 1))[: max(length, 40)],
            "winner": winner,
            "margin": 2,
        }
    )


async def fill_journal(journal: Journal) -> None:
    """10,000 finished debates of 2 debaters and 2 rounds, 500 characters a turn."""
    writer = DebateGenerator(random.Random(1), 500)  # noqa: S311  (texts, not secrets)
    for start in range(0, DEBATE_COUNT, 200):
        appends = []
        for number in range(start, start + 200):
            rare = f" {RARE_WORD}" if number % 100 == 0 else ""
            request = DebateRequest(
                question=f"Should we do number {number}{rare}?",
                options={"tags": ["stored"], "framing": False},
            )
            setup = open_debate(request, models=["scripted"], seed=number + 1)
            debate, events = writer.generate_events(apply(None, setup))
            appends.append(
                journal.append(
                    f"stored{number:06}",
                    after=0,
                    at=TIMESTAMP,
                    actor="benchmark",
                    bodies=[event.model_dump(mode="json") for event in events],
                    summary=build_stream_summary(debate, events, (), {}),
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


async def measure_lists() -> list[Measurement]:
    """Latency of pages of lists and searches over 10,000 debates."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        started = perf_counter()
        async with closing_journal(path) as journal:
            await fill_journal(journal)
        filled = perf_counter() - started
        async with open_manager(Settings(db=str(path)), environ={}) as manager:
            lines = [
                await measure_page(manager, name, repeats, **query)
                for name, repeats, query in (
                    ("newest debates", 200, {}),
                    ("a page of `resources/list`", 200, {"limit": 50}),
                    ("a page from the middle", 200, {"cursor": str(DEBATE_COUNT // 2)}),
                    ("of a status", 200, {"status": "concluded"}),
                    ("of a status that none has", 200, {"status": "truncated"}),
                    ("a word that all have", 200, {"query": "common"}),
                    (
                        "a word that all have, page from the middle",
                        200,
                        {"query": "common", "cursor": "5000"},
                    ),
                    ("a word that one in 100 has", 200, {"query": RARE_WORD}),
                    ("two words that all have", 200, {"query": "should common"}),
                    ("the beginning of most words", 100, {"query": "w"}),
                    (
                        "a word that all have, a status that none has",
                        50,
                        {"query": "common", "status": "truncated"},
                    ),
                )
            ]
    lines.append(Measurement("- writing the 10,000 debates, each", filled / DEBATE_COUNT * 1000, "ms"))
    return lines


async def measure_page(manager: DebateManager, name: str, repeats: int, **query: Any) -> Measurement:
    times = await time_repeatedly(lambda: list_debates(manager, **query), repeats)
    rows, _ = await list_debates(manager, **query)
    how = f"p50 {format_ms(median(times))}, longest {format_ms(max(times))}, {len(rows)} rows"
    return Measurement(f"10,000 debates: {name}, p99", percentile(times, 0.99) * 1000, "ms", 20, details=how)


async def measure_replay() -> list[Measurement]:
    """Load a debate of 1,500 events from the disk and check its chain."""
    request = DebateRequest.model_validate(
        {"question": "Which way?", "debaters": [{"name": f"D{n}", "stance": f"way {n}"} for n in range(10)]}
    )
    setup = open_debate(request, models=["scripted"], seed=1)
    # Longer than any format allows; a stored debate may be.
    debate = apply(None, setup.model_copy(update={"max_rounds": EVENT_COUNT}))
    writer = DebateGenerator(random.Random(1), 1200)  # noqa: S311  (texts, not secrets)
    after, events = writer.generate_events(debate, EVENT_COUNT)
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
            store = DebateStore(journal, utc_now)
            times = await time_repeatedly(lambda: store.load("long"), 25)
            reads = await time_repeatedly(lambda: journal.read("long"), 25)
            snapshot = await store.load("long")
    assert len(snapshot.entries) == EVENT_COUNT
    how = f"{format_spread(times)}; of this reading and checking the chain {format_spread(reads)}"
    return [
        Measurement("replay of 1,500 events, chain checked", median(times) * 1000, "ms", 100, details=how)
    ]


async def time_repeatedly(action: Callable[[], Awaitable[Any]], repeats: int) -> list[float]:
    times = []
    await action()
    for _ in range(repeats):
        started = perf_counter()
        await action()
        times.append(perf_counter() - started)
    return times


async def measure_verdict_text() -> list[Measurement]:
    """Size of the text of `get_verdict` after 26 debaters, 4 rounds and 9 verbose judges who disagree."""
    return [
        await measure_verdict_variant("", "because of what was said "),
        await measure_verdict_variant(", in Chinese", "因为辩论中已经说明的理由"),
    ]


async def measure_verdict_variant(name: str, filler: str) -> Measurement:
    def script(request: Request) -> str:
        if request.prompt.schema:
            return build_finding(debaters[int(request.seat.removeprefix("judge ")) % 3].name, 4000, filler)
        return (filler * 400)[:4000]

    debaters = [
        Debater(name=f"{filler[:20]} {n}", stance=(filler * 20)[:300] + f"{n}", model="m") for n in range(26)
    ]
    request = DebateRequest.model_validate(
        {
            "question": (filler * 500)[:9000],
            "debaters": [debater.model_dump(exclude_defaults=True) for debater in debaters],
            "max_rounds": 4,
            "models": ["m"],
            "options": {"judges": {"count": 9}},
            "run": True,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=str(Path(folder) / "a.db"))
        async with open_manager(settings, {"m": ScriptedModel(script)}, environ={}) as manager:
            snapshot = await manager.follow((await manager.start(request, actor="benchmark")).id, wait=300)
            result = build_tool_result(await build_verdict_result(manager, snapshot), format_verdict_result)
    assert snapshot.status == "concluded"
    text = result.content[0].text  # type: ignore[union-attr]  # the first block is the text
    whole = len(json.dumps(result.structured_content, ensure_ascii=False).encode())
    how = f"{len(text):,} characters; beside it {whole:,} bytes of data"
    return Measurement(
        f"verdict text of 26 debaters and 9 judges{name}", len(text.encode()), "bytes", 4000, details=how
    )
