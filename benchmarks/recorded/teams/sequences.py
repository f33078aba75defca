"""What teams are worth one debate after the other, where only models that were chosen answer and are learned of."""

from collections.abc import Sequence
from random import Random

from benchmarks.recorded.teams.choices import MISLEADING, settle
from benchmarks.recorded.teams.planted import (
    OTHER,
    TOPIC,
    WAYS,
    Way,
    answer,
    compute_accuracy,
    find_best_accuracy,
    plant_skills,
)

ENDS = (20, 50, 100, 200, 400)
"""Where the spans end whose accuracy is told."""


def hold_debates(choose: Way, number: int, misled_by: int) -> tuple[list[float], float]:
    """(the accuracy of the team of each debate, the sum of what the best teams would have been right more often).

    All ways meet the same questions. Each debate is settled, every second one is on the topic.
    """
    planted = Random(f"planted {number}")  # noqa: S311  (a simulation)
    skills = plant_skills(planted)
    ledger = settle(skills, 0, planted, misled_by=misled_by)
    best = {topic: find_best_accuracy(of) for topic, of in skills.items()}
    chance, found, regret = Random(f"choices {number}"), [], 0.0  # noqa: S311
    for debate in range(ENDS[-1]):
        topic = (TOPIC, OTHER)[debate % 2]
        answers = answer(skills[topic], planted)
        team = choose(ledger.know(topic), chance)
        found.append(compute_accuracy(team, skills[topic]))
        regret += best[topic] - found[-1]
        ledger.add(topic, answers, team)
    return found, regret


def average(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares)


def build_table(runs: int) -> str:
    starts = (0, *ENDS[:-1])
    spans = list(zip(starts, ENDS, strict=True))
    titles = " | ".join(f"{start + 1} to {end}" for start, end in spans)
    rows = [f"| ledger | choice | {titles} | regret |", "| --- " * (len(spans) + 3) + "|"]
    for title, misled_by in (("empty", 0), (f"{MISLEADING} items that mislead", MISLEADING)):
        for way, choose in WAYS.items():
            held = [hold_debates(choose, number, misled_by) for number in range(runs)]
            shares = (average([average(found[start:end]) for found, _ in held]) for start, end in spans)
            regret = average([lost for _, lost in held])
            rows.append(f"| {title} | {way} | {' | '.join(f'{one:.3f}' for one in shares)} | {regret:.1f} |")
    return "\n".join(rows)
