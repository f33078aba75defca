"""Large amounts: 10,000 debates on the disk, a debate of 1,500 events, the verdict of a big debate."""

import asyncio
import json
import random
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.report import Line, median, ms, percentile, spread
from server.compose import open_hall
from server.debate.commands.open import open_debate
from server.debate.commands.requests import Proposal
from server.debate.facts.config import Debater
from server.debate.facts.events import Event, Usage
from server.debate.facts.state import Debate
from server.debate.replies.extract import Reply
from server.debate.replies.interpret import interpret
from server.debate.rules.decide import Ask, Record, decide
from server.debate.rules.transitions import apply
from server.engine.debates import Hall
from server.engine.queries import page
from server.engine.runner import body, heading
from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from server.tools.kit.results import finding
from storage.journal import Journal

DEBATES = 10_000
EVENTS = 1_500
AT = "2026-01-01T00:00:00.000Z"
VOCABULARY = 4_000
RARE = "quokka"  # in one debate of a hundred


@dataclass
class Writer:
    """Plays debates without a clock or a model: texts by a seed, of words as frequent as in a language."""

    draw: random.Random
    chars: int

    def text(self) -> str:
        words = (f"w{min(int(self.draw.paretovariate(0.7)), VOCABULARY)}" for _ in range(self.chars // 4))
        return " ".join(("common", *words))[: self.chars]

    def play(self, debate: Debate, most: int = 10**9) -> tuple[Debate, list[Event]]:
        """(the debate at its end, or after `most` events, and what happened)."""
        events: list[Event] = [debate.setup]
        while len(events) < most:
            step = decide(debate)
            new: Sequence[Event] = ()
            if isinstance(step, Record):
                new = step.events
            elif isinstance(step, Ask):
                usage = Usage(model="scripted", input_tokens=1000, output_tokens=100)
                said = [(call, finding_for("A") if call.reading else self.text()) for call in step.calls]
                new = [interpret(debate, call, Reply(text, usage)) for call, text in said]
            else:
                break
            for event in new[: most - len(events)]:
                debate = apply(debate, event)
                events.append(event)
        return debate, events


def finding_for(letter: str, length: int = 0, filler: str = "because ") -> str:
    return json.dumps(
        {
            "reasoning": (filler * max(length, 1))[: max(length, 40)],
            "verdict": (filler * max(length, 1))[: max(length, 40)],
            "winner": letter,
            "margin": 2,
        }
    )


async def fill(journal: Journal) -> None:
    """10,000 finished debates of 2 debaters and 2 rounds, 500 characters a turn."""
    writer = Writer(random.Random(1), 500)  # noqa: S311  (texts, not secrets)
    for start in range(0, DEBATES, 200):
        appends = []
        for number in range(start, start + 200):
            rare = f" {RARE}" if number % 100 == 0 else ""
            asked = Proposal(question=f"Should we do number {number}{rare}?", options={"tags": ["stored"]})
            setup = open_debate(asked, models=["scripted"], seed=number + 1)
            debate, events = writer.play(apply(None, setup))
            appends.append(
                journal.append(
                    f"stored{number:06}",
                    after=0,
                    at=AT,
                    actor="benchmark",
                    bodies=[body(event) for event in events],
                    heading=heading(debate, events, ()),
                )
            )
        await asyncio.gather(*appends)


async def stored() -> list[Line]:
    """Any page of a list or a search among 10,000 debates."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_hall(Settings(db=str(Path(folder) / "a.db")), environ={}) as hall:
            begun = perf_counter()
            await fill(hall.journal)
            filled = perf_counter() - begun
            lines = [
                await page_line(hall, name, repeats, **asked)
                for name, repeats, asked in (
                    ("newest debates", 200, {}),
                    ("a page of `resources/list`", 200, {"limit": 50}),
                    ("a page from the middle", 200, {"cursor": str(DEBATES // 2)}),
                    ("of a status", 200, {"status": "concluded"}),
                    ("of a status that none has", 200, {"status": "truncated"}),
                    ("a word that all have", 200, {"query": "common"}),
                    (
                        "a word that all have, page from the middle",
                        200,
                        {"query": "common", "cursor": "5000"},
                    ),
                    ("a word that one in 100 has", 200, {"query": RARE}),
                    ("two words that all have", 200, {"query": "should common"}),
                    ("the beginning of most words", 100, {"query": "w"}),
                    (
                        "a word that all have, a status that none has",
                        50,
                        {"query": "common", "status": "truncated"},
                    ),
                )
            ]
    lines.append(Line("- writing the 10,000 debates, each", filled / DEBATES * 1000, "ms"))
    return lines


async def page_line(hall: Hall, name: str, repeats: int, **asked: Any) -> Line:
    times = await repeated(lambda: page(hall.journal, **asked), repeats)
    rows, _ = await page(hall.journal, **asked)
    how = f"p50 {ms(median(times))}, longest {ms(max(times))}, {len(rows)} rows"
    return Line(f"10,000 debates: {name}, p99", percentile(times, 0.99) * 1000, "ms", 20, how=how)


async def replay() -> list[Line]:
    """A debate of 1,500 events, from the disk to the state, its chain checked."""
    asked = Proposal.model_validate(
        {"question": "Which way?", "debaters": [{"name": f"D{n}", "stance": f"way {n}"} for n in range(10)]}
    )
    setup = open_debate(asked, models=["scripted"], seed=1)
    # Longer than any format allows, which a record is free to be.
    debate = apply(None, setup.model_copy(update={"max_rounds": EVENTS}))
    writer = Writer(random.Random(1), 1200)  # noqa: S311  (texts, not secrets)
    after, events = writer.play(debate, EVENTS)
    with tempfile.TemporaryDirectory() as folder:
        async with open_hall(Settings(db=str(Path(folder) / "a.db")), environ={}) as hall:
            await hall.journal.append(
                "long",
                after=0,
                at=AT,
                actor="benchmark",
                bodies=[body(event) for event in events],
                heading=heading(after, events, ()),
            )
            times = await repeated(lambda: hall.case("long"), 25)
            reads = await repeated(lambda: hall.journal.read("long"), 25)
            case = await hall.case("long")
    assert len(case.log) == EVENTS
    how = f"{spread(times)}; of this reading and checking the chain {spread(reads)}"
    return [Line("replay of 1,500 events, chain checked", median(times) * 1000, "ms", 100, how=how)]


async def repeated(do: Callable[[], Awaitable[Any]], repeats: int) -> list[float]:
    times = []
    await do()
    for _ in range(repeats):
        begun = perf_counter()
        await do()
        times.append(perf_counter() - begun)
    return times


async def verdict() -> list[Line]:
    """The text of `get_verdict` after 26 debaters, 4 rounds and 9 wordy judges who disagree."""
    return [
        await verdict_line("", "because of what was said "),
        await verdict_line(", in Chinese", "因为辩论中已经说明的理由"),
    ]


async def verdict_line(name: str, filler: str) -> Line:
    def script(request: Request) -> str:
        if request.prompt.schema:
            return finding_for("ABC"[int(request.seat.removeprefix("judge ")) % 3], 4000, filler)
        return (filler * 400)[:4000]

    debaters = [
        Debater(name=f"{filler[:20]} {n}", stance=(filler * 20)[:300] + f"{n}", model="m") for n in range(26)
    ]
    asked = Proposal.model_validate(
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
        async with open_hall(settings, {"m": ScriptedModel(script)}, environ={}) as hall:
            case = await hall.follow((await hall.start(asked, actor="benchmark")).id, wait=300)
    assert case.status == "concluded"
    result = finding(case, working=False)
    text = result.content[0].text  # type: ignore[union-attr]  # the first block is the text
    whole = len(json.dumps(result.structured_content, ensure_ascii=False).encode())
    how = f"{len(text):,} characters; beside it {whole:,} bytes of data"
    return Line(f"verdict text of 26 debaters and 9 judges{name}", len(text.encode()), "bytes", 4000, how=how)
