"""What a team is worth that is chosen once, from a ledger in which every model answered every item."""

from itertools import islice
from random import Random

from benchmarks.recorded.teams.planted import (
    OTHER,
    TOPIC,
    WAYS,
    PlantedLedger,
    Skills,
    answer,
    compute_accuracy,
    plant_skills,
    turn_skills,
)
from benchmarks.recorded.teams.votes import count_right

SETTLED = (0, 10, 20, 100)
MISLEADING, LATER = 30, (0, 100, 400)


def settle(skills: Skills, items: int, chance: Random, *, misled_by: int = 0) -> PlantedLedger:
    """A ledger of so many items, half of them on the topic, after as many that mislead."""
    ledger = PlantedLedger()
    for planted, number in ((turn_skills(skills), misled_by), (skills, items)):
        for topic in islice((TOPIC, OTHER) * number, number):
            ledger.add(topic, answer(planted[topic], chance))
    return ledger


def measure(items: int, draws: int, *, misled_by: int = 0) -> dict[str, tuple[float, float]]:
    """By way: how often beliefs that are pooled are right, and votes that are counted."""
    pooled, counted = dict.fromkeys(WAYS, 0.0), dict.fromkeys(WAYS, 0.0)
    for number in range(draws):
        chance = Random(f"{items} {number}")  # noqa: S311  (a simulation)
        skills = plant_skills(chance)
        known = settle(skills, items, chance, misled_by=misled_by).know(TOPIC)
        for way, choose in WAYS.items():
            team = choose(known, chance)
            pooled[way] += compute_accuracy(team, skills[TOPIC]) / draws
            counted[way] += count_right(team, skills[TOPIC], known) / draws
    return {way: (pooled[way], counted[way]) for way in WAYS}


def build_table(draws: int) -> str:
    rows = [f"| settled items | {' | '.join(WAYS)} |", "| --- " * (len(WAYS) + 1) + "|"]
    cases = [(str(items), items, 0) for items in SETTLED]
    cases += [(f"{MISLEADING} that mislead, then {items}", items, MISLEADING) for items in LATER]
    for title, items, misled_by in cases:
        found = measure(items, draws, misled_by=misled_by)
        shares = (f"{pooled:.3f}, {counted:.3f}" for pooled, counted in found.values())
        rows.append(f"| {title} | {' | '.join(shares)} |")
    return "\n".join(rows)
