"""How well earlier debates are recalled: 200 questions on 40 matters, written by hand.

Usage: python -m benchmarks recall [MODEL]

Of each matter there are debates on a question with the same words, with inflected ones, with synonyms, in German, and
on another matter in some of these words (`recall_cases.txt`). Asked is a sixth wording of each: how many of the four
debates on it are among the first five (recall at 5), by kind, and how much of what is found is one of them (precision).
Asked are also 40 questions on none of these matters: how many find anything. MODEL embeds texts, such as
openai/text-embedding-3-small; without it only words are compared.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

import anyio

from server.engine.database.memory import recall
from server.engine.debates import DebateManager
from tests.support.engines import open_engine, run_debate

KINDS = ("same words", "inflected", "synonyms", "German", "other matter")
CASES = Path(__file__).with_name("recall_cases.txt")
MOST = 5  # debates that are recalled


class Cases(NamedTuple):
    matters: list[tuple[str, ...]]  # what is asked, and a question of each kind
    unrelated: list[str]


def read_cases() -> Cases:
    matters, unrelated = CASES.read_text(encoding="utf-8").strip().split("\n\n")
    return Cases([tuple(row.split(" | ")) for row in matters.splitlines()], unrelated.splitlines())


async def measure(manager: DebateManager, cases: Cases, name: str) -> str:
    """A row of the table."""
    found, recalled, started = Counter[str](), 0, process_time()
    for asked, *planted in cases.matters:
        questions = await list_recalled(manager, asked)
        recalled += len(questions)
        found.update(kind for kind, question in zip(KINDS, planted, strict=True) if question in questions)
    unrelated = [await list_recalled(manager, question) for question in cases.unrelated]
    milliseconds = 1000 * (process_time() - started) / (len(cases.matters) + len(unrelated))
    *related, _ = KINDS
    hits, count = sum(found[kind] for kind in related), len(cases.matters)
    cells = [
        name,
        f"{hits / (len(related) * count):.2f}",
        f"{hits / max(recalled, 1):.2f}",
        *(f"{found[kind]} of {count}" for kind in KINDS),
        f"{sum(map(bool, unrelated))} of {len(unrelated)}",
        f"{milliseconds:.0f} ms",
    ]
    return f"| {' | '.join(cells)} |"


async def list_recalled(manager: DebateManager, question: str) -> set[str]:
    found = await recall(manager.store, question, limit=MOST, with_dry_runs=True)
    return {one.recalled.question for one in found}


async def run(model: str) -> None:
    cases = read_cases()
    with TemporaryDirectory() as folder:
        async with open_engine(Path(folder) / "debates.db", embeddings=model) as manager:
            planted = [question for _, *row in cases.matters for question in row]
            for seed, question in enumerate(planted):
                options = {"seed": seed}  # code words follow from it, which are words of the debate
                await run_debate(manager, question=question, models=["scripted"], options=options)
            columns = [
                "by",
                "recall at 5",
                "precision",
                *KINDS,
                "unrelated that find something",
                "CPU a question",
            ]
            print(f"| {' | '.join(columns)} |")
            print("| --- " * len(columns) + "|")
            if model:
                print(await measure(manager, cases, f"meaning, {model}"))
                manager.store.embed = None
            print(await measure(manager, cases, "words"))


def main(arguments: Sequence[str]) -> None:
    if len(arguments) > 1:
        sys.exit(f"usage: python -m benchmarks recall [MODEL]\n{__doc__}")
    anyio.run(run, arguments[0] if arguments else "")
