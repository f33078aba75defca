"""What a team is worth that is chosen once, from a ledger in which all models answered every item, or half of them."""

from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from benchmarks.recorded.teams.planted import (
    HARD,
    NAMES,
    OTHER,
    TOPIC,
    USUAL,
    WAYS,
    PlantedLedger,
    Skills,
    answer,
    compute_accuracy,
    plant_skills,
    turn_skills,
)
from benchmarks.recorded.teams.votes import count_right

MISLEADING = 30
HALF = NAMES[::2]  # of each family one or two


class Case(NamedTuple):
    """A ledger: `items` that `known` models answered, after some that mislead. `span`: of skills."""

    items: int
    misled_by: int = 0
    known: Sequence[str] = NAMES
    span: tuple[float, float] = USUAL


CASES = {
    **{str(items): Case(items) for items in (0, 10, 20, 100)},
    **{f"{MISLEADING} that mislead, then {items}": Case(items, MISLEADING) for items in (0, 100, 400)},
    "100 of six models": Case(100, known=HALF),
    "100, hard ones": Case(100, span=HARD),
    "100 of six models, hard ones": Case(100, known=HALF, span=HARD),
}


def settle(
    skills: Skills, items: int, chance: Random, *, misled_by: int = 0, known: Sequence[str] = NAMES
) -> PlantedLedger:
    """A ledger of so many items, half of them on the topic, after as many that mislead."""
    ledger = PlantedLedger()
    for planted, number in ((turn_skills(skills), misled_by), (skills, items)):
        for topic in islice((TOPIC, OTHER) * number, number):
            ledger.add(topic, answer(planted[topic], chance), known)
    return ledger


def measure(case: Case, draws: int) -> dict[str, tuple[float, float]]:
    """By way: how often beliefs that are pooled are right, and votes that are counted."""
    pooled, counted = dict.fromkeys(WAYS, 0.0), dict.fromkeys(WAYS, 0.0)
    for number in range(draws):
        chance = Random(f"{case.items} {number}")  # noqa: S311  (a simulation)
        skills = plant_skills(chance, case.span)
        ledger = settle(skills, case.items, chance, misled_by=case.misled_by, known=case.known)
        known = ledger.know(TOPIC)
        for way, choose in WAYS.items():
            team = choose(known, chance)
            pooled[way] += compute_accuracy(team, skills[TOPIC]) / draws
            counted[way] += count_right(team, skills[TOPIC], known) / draws
    return {way: (pooled[way], counted[way]) for way in WAYS}


def build_table(draws: int) -> str:
    rows = [f"| settled items | {' | '.join(WAYS)} |", "| --- " * (len(WAYS) + 1) + "|"]
    for title, case in CASES.items():
        found = measure(case, draws)
        shares = (f"{pooled:.3f}, {counted:.3f}" for pooled, counted in found.values())
        rows.append(f"| {title} | {' | '.join(shares)} |")
    return "\n".join(rows)
