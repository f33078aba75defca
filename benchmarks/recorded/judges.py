"""What learnt weights and pooled beliefs are worth on recorded judgments, beside the published numbers.

Usage: python -m benchmarks judges LLMBAR.csv [BELIEFS.csv]

LLMBAR.csv is the file of `labels`. Every panel of judges of different models is counted twice: weights are learnt on
one half of the items and told on the other. BELIEFS.csv has the beliefs of judges of debates: `debate`, `format`,
`debaters`, `judge`, `kind` ("final" is used) and `p_correct`, the belief in the right answer.
"""

import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

from benchmarks.recorded.labels import Judge, list_panels
from server.debate.analysis.evaluation import Panel, count_item, evaluate_panel, score_winner
from server.debate.analysis.judgments import Judgment, Reading
from server.debate.analysis.records import JudgeRecord, count_record

Items = Mapping[str, Mapping[Judge, Judgment]]

PUBLISHED = {  # (seats, weights, label): (share, accuracy); of all items, of which this file may hold a part
    (1, "equal", "leaning"): (0.61, 0.750),
    (1, "learnt", "decided"): (0.28, 0.897),
    (1, "learnt", "leaning"): (0.08, 0.786),
    (2, "equal", "decided"): (0.31, 0.834),
    (3, "equal", "decided"): (0.19, 0.888),
    (3, "equal", "leaning"): (0.29, 0.816),
    (3, "learnt", "decided"): (0.50, 0.906),
    (3, "learnt", "leaning"): (0.26, 0.861),
    (5, "equal", "decided"): (0.26, 0.930),
    (5, "equal", "leaning"): (0.23, 0.731),
    (5, "learnt", "decided"): (0.53, 0.934),
    (5, "learnt", "leaning"): (0.30, 0.860),
}
LABELLED = (0, 5, 10, 20, 40, 200)
REPEATS, PANELS = 3, 4


def read_judgments(path: Path) -> Items:
    items: dict[str, dict[Judge, Judgment]] = defaultdict(dict)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            judge = row["judge"], row.get("prompt") or ""
            readings = Reading(1, row["winner_given_order"]), Reading(2, row["winner_swapped_order"])
            name = " ".join(judge)
            # Its model is a family of its own, as in the published numbers.
            items[row["item"]][judge] = Judgment(row["item"], name, row["gold"], readings, judge[0])
    return items


def learn(items: Items, names: Iterable[str]) -> dict[str, JudgeRecord]:
    by_judge: dict[str, list[Judgment]] = defaultdict(list)
    for name in names:
        for judgment in items[name].values():
            by_judge[judgment.judge].append(judgment)
    return {judge: count_record(judge, given) for judge, given in by_judge.items()}


def build_panel(judges: Sequence[Judge], records: Mapping[str, JudgeRecord]) -> Panel:
    names = {" ".join(judge): judge[0] for judge in judges}
    return Panel({name: records.get(name, JudgeRecord(name)) for name in names}, names)


def split(names: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """(learnt on, told on), both ways."""
    halves = list(names[::2]), list(names[1::2])
    return [halves, (halves[1], halves[0])]


def measure_labels(items: Items, size: int, *, is_learnt: bool) -> dict[str, tuple[float, float]]:
    """(share, accuracy) of each label over all panels of this size."""
    judges = sorted({judge for given in items.values() for judge in given})
    found: Counter[str] = Counter()
    right: Counter[str] = Counter()
    rounds = split(list(items)) if is_learnt else [([], list(items))]
    for learnt_on, told_on in rounds:
        records = learn(items, learnt_on)
        for judges_asked in list_panels(judges, size):
            panel = build_panel(judges_asked, records)
            for name in told_on:
                given = [items[name][judge] for judge in judges_asked]
                count = count_item(given, panel)
                found[count.outcome] += 1
                right[count.outcome] += count.ahead == given[0].gold
    return {label: (found[label] / found.total(), right[label] / found[label]) for label in found}


def print_labels(items: Items) -> None:
    print("| seats | weights | label | share | right | published share | published right |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    measured: dict[tuple[int, str], dict[str, tuple[float, float]]] = {}
    for (seats, weights, label), (share, accuracy) in PUBLISHED.items():
        key = seats, weights
        if key not in measured:
            measured[key] = measure_labels(items, seats, is_learnt=weights == "learnt")
        own = measured[key].get(label, (0.0, 0.0))
        print(
            f"| {seats} | {weights} | `{label}` | {own[0]:.2f} | {own[1]:.3f} | {share:.2f} | {accuracy:.3f} |"
        )


def print_curve(items: Items) -> None:
    """Accuracy by the number of labelled items, of five judges, of two, and of these with three bad ones."""
    judges = sorted({judge for given in items.values() for judge in given})
    print("\nForced accuracy by labelled items (an item without a winner counts one half):\n")
    print("| labelled items | five judges | two judges | the two and three that are always wrong |")
    print("| --- | --- | --- | --- |")
    for number in LABELLED:
        scores: Counter[str] = Counter()
        for repeat in range(REPEATS):
            chance = Random(repeat)  # noqa: S311  (samples, the same each time)
            names = sorted(items)
            chance.shuffle(names)
            for asked in chance.sample(list(list_panels(judges, 5)), PANELS):
                misled = {name: mislead(items[name], asked[:3]) for name in names}
                scores["all"] += 2 * len(names[number:])
                scores["five"] += score_panel(items, names, number, asked)
                scores["two"] += score_panel(items, names, number, asked[3:])
                scores["misled"] += score_panel(misled, names, number, asked)
        cells = [f"{scores[name] / scores['all']:.3f}" for name in ("five", "two", "misled")]
        print(f"| {number} | {' | '.join(cells)} |")


def score_panel(items: Items, names: Sequence[str], number: int, asked: Sequence[Judge]) -> int:
    """Forced accuracy in halves: weights are learnt on the first `number` items and told on the others."""
    panel, score = build_panel(asked, learn(items, names[:number])), 0
    for name in names[number:]:
        given = [items[name][judge] for judge in asked]
        count = count_item(given, panel)
        score += score_winner(count.ahead if count.outcome in ("decided", "leaning") else "", given[0].gold)
    return score


def mislead(given: Mapping[Judge, Judgment], judges: Sequence[Judge]) -> dict[Judge, Judgment]:
    """The judgments on an item, with these judges naming the wrong side in both orders."""
    return {judge: turn_wrong(one) if judge in judges else one for judge, one in given.items()}


def turn_wrong(judgment: Judgment) -> Judgment:
    side = "2" if judgment.gold == "1" else "1"
    readings = Reading(1, side), Reading(2, side)
    return Judgment(judgment.item, judgment.judge, judgment.gold, readings, judgment.family)


def read_beliefs(path: Path, formats: Sequence[str], debaters: Sequence[str]) -> dict[str, list[Judgment]]:
    """The final beliefs on each debate that two or more judges read."""
    found: dict[str, list[Judgment]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["kind"] == "final" and row["format"] in formats and row["debaters"] in debaters:
                reading = Reading(1, "right", Fraction(row["p_correct"]), "wrong")
                found[row["debate"]].append(Judgment(row["debate"], row["judge"], "right", (reading,)))
    return {name: given for name, given in found.items() if len(given) > 1}


def print_pooling(path: Path) -> None:
    print("\n(1 - belief in the right answer) squared, on debates that two judges or more read:\n")
    print("| debates | items | one judge | plain mean | pooled | published |")
    print("| --- | --- | --- | --- | --- | --- |")
    every = ("human", "ai"), ("human",)
    for title, formats, debaters in (
        ("debates of people", ("debate",), every[1]),
        ("all debates", ("debate",), every[0]),
    ):
        items = read_beliefs(path, formats, debaters)
        single = [(1 - float(one.readings[0].belief or 0)) ** 2 for given in items.values() for one in given]
        means = [
            sum(float(one.readings[0].belief or 0) for one in given) / len(given) for given in items.values()
        ]
        pooled = sum(
            evaluate_panel(given, Panel({one.judge: JudgeRecord(one.judge) for one in given})).pooled.brier
            for given in items.values()
        ) / len(items)
        mean = sum((1 - share) ** 2 for share in means) / len(means)
        print(
            f"| {title} | {len(items)} | {sum(single) / len(single):.3f} | {mean:.3f} | {pooled:.3f} | "
            ".122, .088, .084; at most .090 |"
        )


def main(arguments: Sequence[str]) -> None:
    if len(arguments) not in (1, 2):
        sys.exit("Usage: python -m benchmarks judges LLMBAR.csv [BELIEFS.csv]")
    items = read_judgments(Path(arguments[0]))
    print(f"{len(items)} items.\n")
    print_labels(items)
    print_curve(items)
    if len(arguments) == 2:
        print_pooling(Path(arguments[1]))
