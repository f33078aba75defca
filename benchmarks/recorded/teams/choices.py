"""What a team is worth that is chosen once, from a ledger in which every model answered every item."""

from itertools import islice
from random import Random

from benchmarks.recorded.teams.planted import (
    CHOSEN,
    OTHER,
    TOPIC,
    WAYS,
    PlantedLedger,
    Skills,
    answer,
    compute_accuracy,
    find_best_accuracy,
    plant_skills,
    turn_skills,
)

SETTLED = (0, 10, 20, 100)
MISLEADING, LATER = 30, (0, 100, 400)


def settle(skills: Skills, items: int, chance: Random, *, misled_by: int = 0) -> PlantedLedger:
    """A ledger of so many items, half of them on the topic, after as many that mislead."""
    ledger = PlantedLedger()
    for planted, number in ((turn_skills(skills), misled_by), (skills, items)):
        for topic in islice((TOPIC, OTHER) * number, number):
            ledger.add(topic, answer(planted[topic], chance))
    return ledger


def measure(items: int, draws: int, *, misled_by: int = 0) -> dict[str, float]:
    """The mean accuracy by way, and "regret": what the best team would have been right more often than the chosen."""
    sums = dict.fromkeys((*WAYS, "regret"), 0.0)
    for number in range(draws):
        chance = Random(f"{items} {number}")  # noqa: S311  (a simulation)
        skills = plant_skills(chance)
        known = settle(skills, items, chance, misled_by=misled_by).know(TOPIC)
        found = {way: compute_accuracy(choose(known, chance), skills[TOPIC]) for way, choose in WAYS.items()}
        found["regret"] = find_best_accuracy(skills[TOPIC]) - found[CHOSEN]
        for name, value in found.items():
            sums[name] += value
    return {name: total / draws for name, total in sums.items()}


def build_table(draws: int) -> str:
    rows = [f"| settled items | {' | '.join(WAYS)} | regret |", "| --- " * (len(WAYS) + 2) + "|"]
    cases = [(str(items), items, 0) for items in SETTLED]
    cases += [(f"{MISLEADING} that mislead, then {items}", items, MISLEADING) for items in LATER]
    for title, items, misled_by in cases:
        found = measure(items, draws, misled_by=misled_by)
        rows.append(f"| {title} | {' | '.join(f'{share:.3f}' for share in found.values())} |")
    return "\n".join(rows)
