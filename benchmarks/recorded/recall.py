"""How well earlier debates are recalled: 200 planted questions in 40 subjects, five wordings each.

Usage: python -m benchmarks recall

Nothing here is measured on models. Each subject has a thing, what is done to it, and an aim; a wording names some of
them or their synonyms, in one of five sentences. Asked is a sixth wording of each subject: how many of the five debates
on it are among the first five (recall at 5), how much of what is found is on it or shares both words (precision), and
how many of 20 questions on other subjects find anything. The stub of an embedding counts words, synonyms alike, with
noise: what a real one does at best.
"""

import random
import sys
from collections.abc import Sequence
from math import hypot
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import anyio

from server.debate.facts.events import Usage
from server.engine.database.memory import recall
from server.engine.debates import DebateManager
from tests.support.engines import open_engine, run_debate

THINGS = (
    "billing/invoicing",
    "queue/broker",
    "database/storage",
    "login/authentication",
    "search/lookup",
    "cache/buffer",
    "scheduler/timetable",
    "office/premises",
    "logo/emblem",
    "salary/pay",
)
CHANGES = ["rewrite/rebuild", "buy/purchase", "outsource/delegate", "delay/postpone"]
AIMS = ["cost/price", "speed/latency", "safety/security", "people/hiring"]
SENTENCES = (
    "Should we {change} the {thing} for its {aim}?",
    "Is it right to {change} {thing}, given {aim}?",
    "{thing}: {change} it now or later?",
    "Does {aim} speak for it that we {change} our {thing}?",
    "Who decides whether to {change} the {thing}?",
    "Do we {change} the {thing} this year because of {aim}?",
)
UNRELATED = "Which {} flower grows {} beside a {} river?"
DIMENSIONS = 64


def list_subjects() -> list[tuple[str, str, str]]:
    return [
        (thing, change, AIMS[(n + m) % 4])
        for n, thing in enumerate(THINGS)
        for m, change in enumerate(CHANGES)
    ]


def word_question(subject: tuple[str, str, str], sentence: str, chance: random.Random) -> str:
    thing, change, aim = (chance.choice(words.split("/")) for words in subject)
    return sentence.format(thing=thing, change=change, aim=aim)


def embed_text(text: str) -> tuple[float, ...]:
    """Counts of words, synonyms alike, with noise that follows from the text."""
    places = {word: n for n, words in enumerate((*THINGS, *CHANGES, *AIMS)) for word in words.split("/")}
    noise = random.Random(text)  # noqa: S311
    vector = [noise.gauss(0, 0.15) for _ in range(DIMENSIONS)]
    for word in text.lower().replace(":", " ").replace(",", " ").replace("?", " ").split():
        if word in places:
            vector[places[word]] += 1.0
    return tuple(vector) if hypot(*vector) else (1.0,) * DIMENSIONS


async def embed(texts: Sequence[str]) -> tuple[list[tuple[float, ...]], Usage]:
    return [embed_text(text) for text in texts], Usage(model="stub", cost_usd="0")


async def measure(manager: DebateManager, by_meaning: bool) -> str:
    chance = random.Random(2)  # noqa: S311
    manager.store.embed = embed if by_meaning else None
    hits, found, seconds = 0, 0, 0.0
    for subject in list_subjects():
        question = word_question(subject, SENTENCES[5], chance)
        started = perf_counter()
        recalled = await recall(manager.store, question, limit=5, with_dry_runs=True)
        seconds += perf_counter() - started
        same = {*subject[0].split("/")}, {*subject[1].split("/")}
        for one in recalled:
            words = {
                *one.recalled.question.lower().replace(":", " ").replace(",", " ").replace("?", " ").split()
            }
            hits += bool(words & same[0]) and bool(words & same[1])
        found += len(recalled)
    noise = [UNRELATED.format(f"colour{n}", f"season{n}", f"land{n}") for n in range(20)]
    wrong = [await recall(manager.store, question, limit=5, with_dry_runs=True) for question in noise]
    count = len(list_subjects())
    name = "words and meaning" if by_meaning else "words"
    return (
        f"| {name} | {hits / (5 * count):.2f} | {hits / max(found, 1):.2f} | {sum(map(bool, wrong))} of 20 | "
        f"{1000 * seconds / count:.0f} ms |"
    )


async def run() -> None:
    chance = random.Random(1)  # noqa: S311
    with TemporaryDirectory() as folder:
        async with open_engine(Path(folder) / "debates.db") as manager:
            for subject in list_subjects():
                for sentence in SENTENCES[:5]:
                    await run_debate(
                        manager, question=word_question(subject, sentence, chance), models=["scripted"]
                    )
            print("| by | recall at 5 | precision | unrelated that find something | a question |")
            print("| --- | --- | --- | --- | --- |")
            for by_meaning in (False, True):
                print(await measure(manager, by_meaning))


def main(arguments: Sequence[str]) -> None:
    if arguments:
        sys.exit(f"usage: python -m benchmarks recall\n{__doc__}")
    print(__doc__.partition("Usage")[0] + __doc__.partition("recall\n")[2].strip(), end="\n\n")
    anyio.run(run)
