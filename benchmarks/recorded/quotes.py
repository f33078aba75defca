"""Whether quotes of documents are told from those that changed a character, on recorded debates between people.

Usage: python -m benchmarks quotes DEBATES.jsonl.gz

A line of the file is a debate: `source`, the document, and `turns`, each with `parts` that are a `text` or a `quote`
of the source. Quotes are written into the turns as debaters of the product write them.
"""

import gzip
import json
import random
import string
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from server.debate.documents.quotes import find_quote, find_quotes, find_span, is_long_enough

MUTANTS = 20
"""Of each quote."""


@dataclass
class QuoteCounts:
    debates: int = 0
    quotes: int = 0  # that are long enough to be looked up
    found: int = 0
    misplaced: int = 0  # found at a place that does not hold them
    mutants: int = 0
    mistaken: int = 0  # mutants that were found
    milliseconds: float = 0.0  # of finding the quotes


def read_debates(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def write_turn(parts: Iterable[dict[str, str]]) -> str:
    """The turn as text, with a reference after each quote."""
    return "".join(f"“{part['quote']}” (doc 1)" if "quote" in part else part["text"] for part in parts)


def mutate(quote: str, chance: random.Random) -> str:
    """The quote with one letter or digit changed into another."""
    place = chance.choice([index for index, letter in enumerate(quote) if letter.isalnum()])
    others = (string.ascii_letters + string.digits).replace(quote[place], "")
    return quote[:place] + chance.choice(others) + quote[place + 1 :]


def count_quotes(debates: Iterable[dict[str, Any]]) -> QuoteCounts:
    counts, chance = QuoteCounts(), random.Random(0)  # noqa: S311  (the same mutants every time)
    for debate in debates:
        counts.debates += 1
        source = debate["source"]
        for turn in debate["turns"]:
            given = [part["quote"] for part in turn["parts"] if is_long_enough(part.get("quote", ""))]
            counts.quotes += len(given)
            start = perf_counter()
            places = [(quote, find_quote(quote, source)) for quote in find_quotes(write_turn(turn["parts"]))]
            counts.milliseconds += (perf_counter() - start) * 1000
            for quote, place in places:
                counts.found += place is not None
                held = source[place.start : place.end] if place else quote.text
                counts.misplaced += held.split() != quote.text.split()
            mutants = [mutate(quote, chance) for quote in given for _ in range(MUTANTS)]
            counts.mutants += len(mutants)
            counts.mistaken += sum(find_span(mutant, source) is not None for mutant in mutants)
    return counts


def main(arguments: Sequence[str]) -> None:
    if len(arguments) != 1:
        sys.exit(f"usage: python -m benchmarks quotes DEBATES.jsonl.gz\n{__doc__}")
    counts = count_quotes(read_debates(Path(arguments[0])))
    print("| debates | quotes | found | at another place | mutants | found | ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print(
        f"| {counts.debates} | {counts.quotes} | {counts.found} | {counts.misplaced} | {counts.mutants:,} "
        f"| {counts.mistaken} | {counts.milliseconds:.0f} |"
    )
