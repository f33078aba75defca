"""What each label of a verdict has been worth on recorded judgments: shares and accuracy, by number of judges.

Usage: python -m benchmarks labels FILE.csv

The file has a row for each item and judge: `item`, `gold`, `judge` (its model), `prompt` (may be missing or empty),
and the winners that it named in the two orders, `winner_given_order` and `winner_swapped_order` (empty: none). Every
panel of judges of different models is counted by the rules of the product, with equal weights and clear margins.
"""

import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from math import isnan, nan
from pathlib import Path

from server.debate.votes.counting import Count, Seat, count_votes

PANEL_SIZES = (1, 2, 3, 5)
LABELS = ("decided", "leaning", "contested", "undecided")

Judge = tuple[str, str]
"""(model, prompt)."""


@dataclass(frozen=True, slots=True)
class Item:
    gold: str
    votes: Mapping[Judge, str]  # the side that both readings name; "" where they differ or name none


@dataclass(frozen=True, slots=True)
class LabelRow:
    judges: int
    label: str
    share: float  # of all panels and items
    accuracy: float  # of the side ahead; nan where nobody was


def read_items(path: Path) -> list[Item]:
    golds: dict[str, str] = {}
    votes: dict[str, dict[Judge, str]] = defaultdict(dict)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            first, second = row["winner_given_order"], row["winner_swapped_order"]
            golds[row["item"]] = row["gold"]
            votes[row["item"]][row["judge"], row.get("prompt") or ""] = first if first == second else ""
    return [Item(gold, votes[name]) for name, gold in golds.items()]


def list_panels(judges: Sequence[Judge], size: int) -> Iterator[tuple[Judge, ...]]:
    """Every panel of so many judges of different models."""
    by_model: dict[str, list[Judge]] = defaultdict(list)
    for judge in judges:
        by_model[judge[0]].append(judge)
    for models in combinations(sorted(by_model), size):
        yield from product(*(by_model[model] for model in models))


@cache  # every seat is of another model, so that a count depends on the votes alone
def count_panel(votes: tuple[str, ...]) -> Count:
    seats = [Seat(f"judge {n}", f"vendor {n}/model", side) for n, side in enumerate(votes, start=1)]
    return count_votes(seats)


def measure_labels(items: Sequence[Item]) -> list[LabelRow]:
    judges = sorted({judge for item in items for judge in item.votes})
    rows = []
    for size in PANEL_SIZES:
        found: Counter[str] = Counter()
        right: Counter[str] = Counter()
        ahead: Counter[str] = Counter()
        for panel in list_panels(judges, size):
            for item in items:
                count = count_panel(tuple(item.votes.get(judge, "") for judge in panel))
                found[count.outcome] += 1
                ahead[count.outcome] += bool(count.ahead)
                right[count.outcome] += count.ahead == item.gold
        for label in LABELS:
            if found[label]:
                accuracy = right[label] / ahead[label] if ahead[label] else nan
                rows.append(LabelRow(size, label, found[label] / found.total(), accuracy))
    return rows


def format_table(rows: Sequence[LabelRow]) -> str:
    """A Markdown table: a line for each number of judges."""
    cells = {(row.judges, row.label): row for row in rows}
    lines = [
        f"| judges | {' | '.join(f'`{label}`' for label in LABELS)} |",
        "| --- " * (len(LABELS) + 1) + "|",
    ]
    for size in dict.fromkeys(row.judges for row in rows):
        line = [str(size)]
        for label in LABELS:
            row = cells.get((size, label))
            worth = "" if row is None or isnan(row.accuracy) else f", right in {row.accuracy:.0%}"
            line.append(f"{row.share:.0%}{worth}" if row else "-")
        lines.append(f"| {' | '.join(line)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    if len(arguments) != 1:
        sys.exit("Usage: python -m benchmarks labels FILE.csv")
    items = read_items(Path(arguments[0]))
    print(f"{len(items)} items.\n\n{format_table(measure_labels(items))}")
