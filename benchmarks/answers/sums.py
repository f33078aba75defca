"""What graded answers come to: tables by arm, and differences of two arms with their intervals."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean

from benchmarks.answers.arms import Played
from benchmarks.answers.questions import FOUND, Found
from benchmarks.answers.sheets import Graded
from benchmarks.table import format_header, format_row
from server.evaluation.statistics import bootstrap

Sheets = Mapping[str, Sequence[Graded]]
"""Those of each arm."""


def sum_up(sheets: Iterable[Graded], played: Mapping[str, Mapping[str, Played]]) -> str:
    """The tables as Markdown. `played`: by arm and question, for what answers took."""
    by_arm: dict[str, list[Graded]] = defaultdict(list)
    for sheet in sheets:
        by_arm[sheet.arm].append(sheet)
    kinds = sorted({sheet.question.kind for row in by_arm.values() for sheet in row})
    scores = {arm: score_questions(row) for arm, row in by_arm.items()}
    rows: list[tuple[str, Callable[[str], str]]] = [
        ("answers", lambda arm: str(len(scores[arm]))),
        ("share of points", lambda arm: f"{fmean(scores[arm].values()):.3f}"),
        *((f"{found} found in one go", share_column(by_arm, found)) for found in FOUND),
        *((kind, kind_column(by_arm, kind)) for kind in kinds),
        ("errors in an answer", lambda arm: f"{count_lines(by_arm[arm], 'error'):.2f}"),
        ("harm in an answer", lambda arm: f"{count_lines(by_arm[arm], 'harm'):.2f}"),
        ("words", lambda arm: f"{fmean(sheet.words for sheet in by_arm[arm]):.0f}"),
        ("calls", lambda arm: average(played[arm].values(), lambda one: one.calls, ".1f")),
        ("tokens read", lambda arm: average(played[arm].values(), lambda one: one.input_tokens, ",.0f")),
        ("tokens written", lambda arm: average(played[arm].values(), lambda one: one.output_tokens, ",.0f")),
    ]
    arms = sorted(by_arm, key=[*played].index)
    table = [format_header(["", *arms]), *(format_row([name, *map(cell, arms)]) for name, cell in rows)]
    pairs = [compare(scores, later, earlier) for earlier, later in combinations(arms, 2)]
    head = format_header(["difference", "points", "95 % interval", "questions better, worse, equal"])
    return "\n".join([*table, "", head, *pairs])


def score_questions(sheets: Iterable[Graded]) -> dict[str, float]:
    """The score of each question's answer: the mean of its graders."""
    found: dict[str, list[float]] = defaultdict(list)
    for sheet in sheets:
        found[sheet.question.id].append(sheet.score)
    return {name: fmean(scores) for name, scores in found.items()}


def share_column(sheets: Sheets, found: Found) -> Callable[[str], str]:
    """The share of the points that are so often found in one go, of all questions together."""

    def show(arm: str) -> str:
        points = [
            (line.weight, sheet.grades[line.id])
            for sheet in sheets[arm]
            for line in sheet.question.lines
            if line.found == found
        ]
        total = sum(weight for weight, _ in points)
        return f"{sum(weight * grade for weight, grade in points) / total:.3f}" if total else ""

    return show


def kind_column(sheets: Sheets, kind: str) -> Callable[[str], str]:
    def show(arm: str) -> str:
        scores = score_questions(sheet for sheet in sheets[arm] if sheet.question.kind == kind)
        return f"{fmean(scores.values()):.3f}" if scores else ""

    return show


def count_lines(sheets: Sequence[Graded], kind: str) -> float:
    """How many errors, or pieces of harmful advice, an answer has."""
    return fmean(
        sum(sheet.grades[line.id] for line in sheet.question.lines if line.kind == kind) for sheet in sheets
    )


def average(played: Iterable[Played], count: Callable[[Played], int], shape: str) -> str:
    return f"{fmean(map(count, played)):{shape}}"


def compare(scores: Mapping[str, Mapping[str, float]], one: str, other: str) -> str:
    """The mean difference on the questions that both answered, by a paired bootstrap over questions."""
    both = sorted(scores[one].keys() & scores[other].keys())
    differences = [scores[one][name] - scores[other][name] for name in both]
    if not differences:
        return format_row([f"{one} - {other}", "no question in common", "", ""])
    found = bootstrap(differences, -1, 1)
    signs = [sum(value > 0 for value in differences), sum(value < 0 for value in differences)]
    return format_row(
        [
            f"{one} - {other}",
            f"{found.value:+.3f}",
            f"{found.low:+.3f} to {found.high:+.3f}",
            ", ".join(map(str, [*signs, len(differences) - sum(signs)])),
        ]
    )
