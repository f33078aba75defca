"""Models with planted skills and common errors, what a ledger has of them, and ways to choose a team of them.

Twelve models of four families answer questions with two answers. A model's answer is right when its skill and a normal
error are together above 0; errors have a part in common with the family, and a part with all. The skill on the topic
differs from that on others. A team's pooled vote is right as often as its planted skills say, not as a ledger shows.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

from server.debate.votes.families import family
from server.debate.votes.skills import NOTHING, Knowledge, Missed, Tally, compute_skill
from server.debate.votes.teams import SETTLED_ITEMS, TeamRequest, choose_team, draw_accuracies

TOPIC, OTHER = "topic", "other"
NAMES = tuple(f"{vendor}/{number}" for vendor in ("acme", "beta", "gamma", "delta") for number in range(3))
SIZE = 3
FAMILY_PART, COMMON_PART = 0.45, 0.15
"""Of the variance of an error: what a family has in common, and what all have."""

Skills = Mapping[str, Mapping[str, float]]
Way = Callable[[Knowledge, Random], Sequence[str]]


USUAL, HARD = (0.2, 1.1), (0.0, 0.5)
"""How far the answers of models lie above 0 at least, and at most, before a topic adds to it."""


def plant_skills(chance: Random, span: tuple[float, float] = USUAL) -> Skills:
    """How far the answers of each model lie above 0, by topic: usually right in .58 to .90 of cases."""
    every = {name: chance.uniform(*span) for name in NAMES}
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


def turn_skills(skills: Skills) -> Skills:
    """Those under which good models look bad, and bad ones good."""
    order = sorted(NAMES, key=lambda name: skills[TOPIC][name])
    turned = dict(zip(order, reversed(order), strict=True))
    return {topic: {name: of[turned[name]] for name in NAMES} for topic, of in skills.items()}


@dataclass
class PlantedLedger:
    """Counts of answers, as a ledger keeps them."""

    items: int = 0
    tallies: dict[str, dict[str, Tally]] = field(default_factory=lambda: {TOPIC: {}, OTHER: {}})
    pairs: dict[tuple[str, str], Missed] = field(default_factory=dict)

    def add(self, topic: str, answers: Mapping[str, bool], names: Iterable[str] = NAMES) -> None:
        """What these models answered to one item."""
        self.items += 1
        named = sorted({*names})
        of_topic = self.tallies[topic]
        for name in named:
            before = of_topic.get(name, Tally())
            of_topic[name] = Tally(before.items + 1, before.credit + 2 * answers[name])
        for one, other in combinations(named, 2):
            missed = not answers[one], not answers[other]
            items, *counts = self.pairs.get((one, other), (0, 0, 0, 0))
            added = (count + more for count, more in zip(counts, (*missed, all(missed)), strict=True))
            self.pairs[one, other] = Missed(items + 1, *added)

    def know(self, topic: str) -> Knowledge:
        """What a debate about the topic finds in it."""
        if not self.items:
            return NOTHING
        every = {name: add_up(of.get(name, Tally()) for of in self.tallies.values()) for name in NAMES}
        settled = min(self.items, SETTLED_ITEMS)
        return Knowledge(1, settled, every, dict(self.tallies[topic]), dict(self.pairs))


def add_up(tallies: Iterable[Tally]) -> Tally:
    return Tally(*map(sum, zip(*tallies, strict=True)))


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


def find_best_accuracy(skills: Mapping[str, float]) -> float:
    return max(compute_accuracy(team, skills) for team in combinations(NAMES, SIZE))


def choose_by(
    draw: Callable[[Knowledge, Random], Mapping[str, float]], known: Knowledge, chance: Random
) -> Sequence[str]:
    request = TeamRequest(candidates=NAMES, count=SIZE, topic=TOPIC)
    draws = draw(known, chance) if known.settled_items >= SETTLED_ITEMS else {}
    return choose_team(request, known, draws, {}, chance.randrange(2**31)).chosen


def draw(known: Knowledge, chance: Random) -> Mapping[str, float]:
    return draw_accuracies(TeamRequest(candidates=NAMES, count=SIZE), known, chance.randrange(2**31))


def draw_widely(known: Knowledge, chance: Random) -> Mapping[str, float]:
    """With the whole spread of what is known."""
    shapes = {name: compute_skill(name, known) for name in NAMES}
    return {name: chance.betavariate(right, wrong) for name, (right, wrong) in shapes.items()}


def expect(known: Knowledge, _chance: Random) -> Mapping[str, float]:
    shapes = {name: compute_skill(name, known) for name in NAMES}
    return {name: right / (right + wrong) for name, (right, wrong) in shapes.items()}


def rank(known: Knowledge, chance: Random) -> list[str]:
    rates = expect(known, chance)
    return sorted(NAMES, key=lambda name: (-rates[name], chance.random()))


WAYS: Mapping[str, Way] = {
    "chosen team": lambda known, chance: choose_by(draw, known, chance),
    "without draws": lambda known, chance: choose_by(expect, known, chance),
    "wider draws": lambda known, chance: choose_by(draw_widely, known, chance),
    "top three by skill": lambda known, chance: rank(known, chance)[:SIZE],
    "best single model": lambda known, chance: rank(known, chance)[:1],
    "random team": lambda _known, chance: chance.sample(NAMES, SIZE),
}
