"""What a chosen team is worth, on a simulated ledger with planted skill, topics and common errors.

    python -m benchmarks team

Twelve models of four families answer questions with two answers. A model's answer is right when its skill and a normal
error are together above 0; errors have a part in common with the family, and a part with all. The skill on the topic
differs from that on others. After so many settled items, which all models answered (half of them on the topic), teams
of three are chosen, and their pooled vote is right in the share of cases that is printed: by planted skills, not by
what the ledger shows. Regret: what the best team of three would have been right more often.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from random import Random

from server.debate.votes.families import family
from server.debate.votes.skills import NOTHING, Knowledge, Missed, Tally, compute_skill
from server.debate.votes.teams import TeamRequest, choose_team, draw_accuracies

TOPIC, OTHER = "topic", "other"
NAMES = tuple(f"{vendor}/{number}" for vendor in ("acme", "beta", "gamma", "delta") for number in range(3))
SIZE, DRAWS = 3, 1_000
SETTLED = (0, 10, 20, 100)
FAMILY_PART, COMMON_PART = 0.45, 0.15
"""Of the variance of an error: what a family has in common, and what all have."""

Skills = Mapping[str, Mapping[str, float]]


def plant_skills(chance: Random) -> Skills:
    """How far the answers of each model lie above 0, by topic: right in .58 to .90 of cases."""
    every = {name: chance.uniform(0.2, 1.1) for name in NAMES}
    return {
        OTHER: every,
        TOPIC: {name: min(1.3, max(0.1, skill + chance.gauss(0, 0.25))) for name, skill in every.items()},
    }


def answer(skills: Mapping[str, float], chance: Random) -> dict[str, bool]:
    """Whether each model is right about one item."""
    common = chance.gauss(0, 1)
    families = {name.partition("/")[0]: chance.gauss(0, 1) for name in NAMES}
    own = 1 - FAMILY_PART - COMMON_PART
    return {
        name: skills[name]
        + math.sqrt(COMMON_PART) * common
        + math.sqrt(FAMILY_PART) * families[name.partition("/")[0]]
        + math.sqrt(own) * chance.gauss(0, 1)
        > 0
        for name in NAMES
    }


def settle(skills: Skills, items: int, chance: Random) -> Knowledge:
    """What a ledger has of so many items."""
    if not items:
        return NOTHING
    rows = [(topic, answer(skills[topic], chance)) for topic in [TOPIC, OTHER] * items][:items]
    pairs = {}
    for one, other in combinations(sorted(NAMES), 2):
        missed = [(not row[one], not row[other]) for _, row in rows]
        pairs[one, other] = Missed(
            items, sum(a for a, _ in missed), sum(b for _, b in missed), sum(a and b for a, b in missed)
        )
    return Knowledge(1, min(items, 20), tally(rows), tally([row for row in rows if row[0] == TOPIC]), pairs)


def tally(rows: Sequence[tuple[str, Mapping[str, bool]]]) -> dict[str, Tally]:
    return {name: Tally(len(rows), 2 * sum(row[name] for _, row in rows)) for name in NAMES}


def compute_accuracy(team: Sequence[str], skills: Mapping[str, float]) -> float:
    """How often the sum of the signals of a team is right, weighted by their skills."""
    merit = sum(skills[name] ** 2 for name in team)
    variance = sum(
        skills[one]
        * skills[other]
        * (1 if one == other else COMMON_PART + FAMILY_PART * (family(one) == family(other)))
        for one in team
        for other in team
    )
    return (1 + math.erf(merit / math.sqrt(2 * variance))) / 2


def choose_by_ledger(known: Knowledge, chance: Random) -> Sequence[str]:
    request = TeamRequest(candidates=NAMES, count=SIZE, topic=TOPIC)
    seed = chance.randrange(2**31)
    return choose_team(request, known, draw_accuracies(request, known, seed), {}, seed).chosen


def rank(known: Knowledge, chance: Random) -> list[str]:
    def rate(name: str) -> float:
        right, wrong = compute_skill(name, known)
        return float(right / (right + wrong))

    return sorted(NAMES, key=lambda name: (-rate(name), chance.random()))


WAYS: Mapping[str, Callable[[Knowledge, Random], Sequence[str]]] = {
    "chosen team": choose_by_ledger,
    "best single model": lambda known, chance: rank(known, chance)[:1],
    "top three by skill": lambda known, chance: rank(known, chance)[:SIZE],
    "random team": lambda _known, chance: chance.sample(NAMES, SIZE),
}


def mislead(known: Knowledge, skills: Mapping[str, float], items: int) -> Knowledge:
    """A ledger to which as many items were added in which good models look bad, and bad ones good."""
    order = sorted(NAMES, key=lambda name: skills[name])
    turned = dict(zip(order, reversed(order), strict=True))
    wrong = {
        name: Tally(items, round(2 * items * (1 + math.erf(skills[turned[name]] / math.sqrt(2))) / 2))
        for name in NAMES
    }

    def add(before: Mapping[str, Tally]) -> dict[str, Tally]:
        return {
            name: Tally(*(a + b for a, b in zip(before.get(name, Tally()), wrong[name], strict=True)))
            for name in NAMES
        }

    return Knowledge(1, 20, add(known.answers), add(known.on_topic), known.pairs)


def measure(items: int, *, misled_by: int = 0, draws: int = DRAWS) -> dict[str, float]:
    """The mean accuracy by way, and the regret of the chosen team."""
    sums = dict.fromkeys((*WAYS, "best team"), 0.0)
    for number in range(draws):
        chance = Random(f"{items} {number}")  # noqa: S311  (a simulation)
        skills = plant_skills(chance)
        known = settle(skills, items, chance)
        known = mislead(known, skills[TOPIC], misled_by) if misled_by else known
        for way, choose in WAYS.items():
            sums[way] += compute_accuracy(choose(known, chance), skills[TOPIC])
        sums["best team"] += max(compute_accuracy(team, skills[TOPIC]) for team in combinations(NAMES, SIZE))
    return {way: total / draws for way, total in sums.items()}


def build_table(draws: int = DRAWS) -> str:
    rows = ["| settled items | " + " | ".join((*WAYS, "regret")) + " |", "| --- " * (len(WAYS) + 2) + "|"]
    cases = [(str(items), {"items": items}) for items in SETTLED]
    cases += [
        (f"30 that mislead, then {items}", {"items": items, "misled_by": 30}) for items in (0, 100, 400)
    ]
    for title, case in cases:
        found = measure(**case, draws=draws)
        shares = [f"{found[way]:.3f}" for way in WAYS]
        rows.append(f"| {title} | {' | '.join(shares)} | {found['best team'] - found['chosen team']:.3f} |")
    return "\n".join(rows)


def main(arguments: Sequence[str]) -> None:
    """Print the table. `arguments`: none, or the number of draws."""
    print(build_table(int(arguments[0]) if arguments else DRAWS))
