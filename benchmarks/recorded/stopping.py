"""What ending a talk by belief takes and saves, on recorded beliefs of judges of debates after every round.

Usage: python -m benchmarks stopping BELIEFS.csv

The file has a row for each belief: `debate`, `debaters`, `format`, `judge`, `round` (0: before the talk) and
`p_correct`, the belief in the right one of two answers. The live judges of debates between people are replayed by the
product's rule.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from server.debate.ballots.convergence import find_stop_reason
from server.debate.ballots.waves import MIN_ROUNDS

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class StopRow:
    debates: int
    accuracy: Fraction  # of the answer that leads at the end; a tie counts one half
    rounds: Fraction  # mean, of talk


def read_beliefs(path: Path) -> list[list[Fraction]]:
    """The beliefs in the right answer after each round of talk, by debate."""
    found: dict[str, list[tuple[int, Fraction]]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            is_told = (row["judge"], row["format"], row["debaters"]) == ("live", "debate", "human")
            if is_told and int(row["round"]) > 0:
                found[row["debate"]].append((int(row["round"]), Fraction(row["p_correct"])))
    return [[belief for _, belief in sorted(rounds)] for rounds in found.values()]


def find_last_round(beliefs: Sequence[Fraction]) -> int:
    """The round after which the talk ends, by the belief in the answer that leads after each round.

    Of recorded beliefs nothing else is known: something new may have been said, and nothing is open.
    """
    for number, belief in enumerate(beliefs, start=1):
        is_sure = find_stop_reason(belief, None, is_anything_new=True, is_anything_open=False)
        if number >= MIN_ROUNDS and is_sure:
            return number
    return len(beliefs)


def replay_stops(debates: Sequence[Sequence[Fraction]], *, has_rule: bool) -> StopRow:
    rounds = [
        find_last_round([max(belief, 1 - belief) for belief in beliefs]) if has_rule else len(beliefs)
        for beliefs in debates
    ]
    last = [beliefs[number - 1] for beliefs, number in zip(debates, rounds, strict=True)]
    right = sum((Fraction(belief > HALF) + Fraction(belief == HALF) / 2 for belief in last), Fraction(0))
    return StopRow(len(debates), right / len(debates), Fraction(sum(rounds), len(debates)))


def main(arguments: Sequence[str]) -> None:
    if len(arguments) != 1:
        sys.exit(f"usage: python -m benchmarks stopping BELIEFS.csv\n{__doc__}")
    debates = read_beliefs(Path(arguments[0]))
    print("| talk | debates | accuracy | rounds |\n| --- | --- | --- | --- |")
    for name, has_rule in (("to its end", False), ("ended by belief", True)):
        row = replay_stops(debates, has_rule=has_rule)
        print(f"| {name} | {row.debates} | {float(row.accuracy):.3f} | {float(row.rounds):.2f} |")
