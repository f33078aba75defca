"""What a ledger tells of models: how often each of them is right, and what the errors of two have in common.

Skill: how often a model is right about a topic, a beta distribution. The prior counts as `PRIOR_ITEMS`, right as often
as the candidates are on average, with `PRIOR_MODELS` usual judges (`PRIOR_RIGHT`) among them (empirical Bayes, Robbins
1956): where questions are hard, a model that nobody knows is no better than those that were asked. Items of other
topics count as `TRANSFER_ITEMS` at most, however many they are: a power prior (Ibrahim and Chen 2000,
doi:10.1214/ss/1009212673), which shrinks the rate of a topic to the all-round rate. How much is transferred at most is
ours.

A Thompson draw from that distribution stands for the model (Thompson 1933), narrowed by `DRAW_NARROWING` as Chapelle
and Li (2011) reshape posteriors: the several seats of a team explore together, and wider draws give away more than
they find (docs/teams.md).

Errors: the correlation of two models as the ledger has it, shrunk by `PAIR_ITEMS` to that of their families: the mean
of the pairs within families, or between them, which is shrunk in turn by `FAMILY_ITEMS` to what was measured
elsewhere (`counting`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from server.debate.votes import counting
from server.debate.votes.families import family

PRIOR_RIGHT, PRIOR_ITEMS = 6, 8
PRIOR_MODELS = 2
LEAST_PRIOR = 0.5  # items of the prior that are right, and that are wrong, at least: a draw needs both
TRANSFER_ITEMS = 20
DRAW_NARROWING = 4
"""How many times as many items draws are made from: half of the standard deviation."""

FAMILY_ITEMS = 40
PAIR_ITEMS = 120
"""The error correlation of two models varies by about .09 within what families tell (on LLMBar, arXiv 2310.07641,
sampling taken off): as much as of 120 items."""

SAME_MODEL, SAME_FAMILY, OTHER_FAMILY = map(
    float, (counting.SAME_MODEL, counting.SAME_FAMILY, counting.OTHER_FAMILY)
)


class Tally(NamedTuple):
    """What is known of the answers of a model. `credit`: 2 for a right one, 1 for none, 0 for a wrong one."""

    items: int = 0
    credit: int = 0
    told: int = 0  # answers with a belief
    percents: int = 0  # the sum of these beliefs
    likeliest_right: int = 0  # how often the side held likeliest was right

    def subtract(self, other: "Tally") -> "Tally":
        return Tally(*(one - two for one, two in zip(self, other, strict=True)))


class Missed(NamedTuple):
    """Of items that two models answered: how often one was not right, the other, and both."""

    items: int
    one: int
    other: int
    both: int


@dataclass(frozen=True)
class Knowledge:
    """What a ledger knows of candidates."""

    position: int = 0
    settled_items: int = 0  # counted no further than a choice needs
    answers: Mapping[str, Tally] = field(default_factory=dict)  # of all topics
    on_topic: Mapping[str, Tally] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Missed] = field(
        default_factory=dict
    )  # names in the order of the alphabet

    @cached_property
    def usual_accuracy(self) -> float:
        """How often a model is right of which nothing is known."""
        found = [count_right(model, self) for model in self.answers]
        models = math.fsum(items / (PRIOR_ITEMS + items) for _, items in found)  # each counts as one at most
        rates = math.fsum(right / (PRIOR_ITEMS + items) for right, items in found)
        mean = (PRIOR_MODELS * PRIOR_RIGHT / PRIOR_ITEMS + rates) / (PRIOR_MODELS + models)
        least = LEAST_PRIOR / PRIOR_ITEMS
        return min(1 - least, max(least, mean))

    @cached_property
    def same_family(self) -> float:
        """The correlation of the errors of two models of one family."""
        return average_correlation(SAME_FAMILY, (of for pair, of in self.pairs.items() if are_related(*pair)))

    @cached_property
    def other_family(self) -> float:
        """That of two models of different families."""
        return average_correlation(
            OTHER_FAMILY, (of for pair, of in self.pairs.items() if not are_related(*pair))
        )


NOTHING = Knowledge()


def find_tallies(model: str, known: Knowledge) -> tuple[Tally, Tally, float]:
    """(answers on the topic, those on others, how much one of the others counts)."""
    on_topic = known.on_topic.get(model, Tally())
    others = known.answers.get(model, Tally()).subtract(on_topic)
    return on_topic, others, TRANSFER_ITEMS / (TRANSFER_ITEMS + others.items)


def count_right(model: str, known: Knowledge) -> tuple[float, float]:
    """(answers that were right, all answers), those on other topics as far as they count."""
    on_topic, others, counted = find_tallies(model, known)
    return (on_topic.credit + counted * others.credit) / 2, on_topic.items + counted * others.items


def compute_skill(model: str, known: Knowledge) -> tuple[float, float]:
    """(right, wrong) answers with those of the prior, as the parameters of a beta distribution."""
    right, items = count_right(model, known)
    prior = PRIOR_ITEMS * known.usual_accuracy
    return prior + right, PRIOR_ITEMS - prior + items - right


def compute_overconfidence(model: str, known: Knowledge) -> float:
    """How much surer a model is than right, on average; shrunk to a calibrated one by the items of the prior."""
    on_topic, others, counted = find_tallies(model, known)
    excess, told = 0.0, float(PRIOR_ITEMS)
    for tally, share in ((on_topic, 1.0), (others, counted)):
        excess += share * (tally.percents / 100 - tally.likeliest_right)
        told += share * tally.told
    return excess / told


def compute_correlation(one: str, other: str, known: Knowledge) -> float:
    """Of the errors of two models."""
    if one == other:
        return SAME_MODEL
    of_families = known.same_family if are_related(one, other) else known.other_family
    first, second = sorted((one, other))
    missed = known.pairs.get((first, second))
    measured = compute_phi(missed) if missed else None
    return of_families if missed is None or measured is None else shrink(measured, missed.items, of_families)


def are_related(one: str, other: str) -> bool:
    return family(one) == family(other)


def shrink(measured: float, items: int, usual: float, usual_items: int = PAIR_ITEMS) -> float:
    return (usual_items * usual + items * measured) / (usual_items + items)


def average_correlation(usual: float, pairs: Iterable[Missed]) -> float:
    """The mean over pairs, by their items."""
    measured = [(phi, missed.items) for missed in pairs if (phi := compute_phi(missed)) is not None]
    items = sum(number for _, number in measured)
    mean = math.fsum(phi * number for phi, number in measured) / items if items else usual
    return shrink(mean, items, usual, FAMILY_ITEMS)


def compute_phi(missed: Missed) -> float | None:
    """The correlation of errors; None where one of the two always errs, or never."""
    items, one, other, both = missed
    spread = one * (items - one) * other * (items - other)
    return (items * both - one * other) / math.sqrt(spread) if spread else None


def draw_accuracy(model: str, known: Knowledge, seed: int) -> float:
    """A draw of how often a model is right, rounded as it is recorded."""
    numbers = draw_numbers(f"{seed}:team:{model}")
    shapes = (DRAW_NARROWING * shape for shape in compute_skill(model, known))
    right, wrong = (draw_gamma(shape, numbers) for shape in shapes)
    return round(right / (right + wrong), 4)


def draw_numbers(name: str) -> Iterator[float]:
    """Numbers between 0 and 1 from hashes: every release and every Python draws the same."""
    number = 0
    while True:
        digest = sha256(f"{name}:{number}".encode()).digest()
        yield (int.from_bytes(digest[:6]) + 0.5) / 2**48
        number += 1


def draw_gamma(shape: float, numbers: Iterator[float]) -> float:
    """From a gamma distribution with a shape of 1 or more (Marsaglia and Tsang 2000, doi:10.1145/358407.358414)."""
    scale = shape - 1 / 3
    while True:
        normal = math.sqrt(-2 * math.log(next(numbers))) * math.cos(2 * math.pi * next(numbers))
        cube = (1 + normal / math.sqrt(9 * scale)) ** 3
        if cube > 0 and math.log(next(numbers)) < normal * normal / 2 + scale * (1 - cube + math.log(cube)):
            return scale * cube
