"""What a ledger says about models: how often each is right, and how the errors of two models correlate.

Skill: how often a model is right about a topic, as a beta distribution. The prior counts as `PRIOR_ITEMS` items. Its
rate is the average of the candidates, with `PRIOR_MODELS` usual judges (`PRIOR_RIGHT`) among them (empirical Bayes,
Robbins 1956): where questions are hard, an unknown model is no better than the known ones. Items of other topics count
as `TRANSFER_ITEMS` at most, however many they are. This is a power prior (Ibrahim and Chen 2000,
doi:10.1214/ss/1009212673); it shrinks the rate of a topic to the all-round rate. How much to transfer is our choice.

A model is represented by a Thompson draw from that distribution (Thompson 1933), narrowed by `DRAW_NARROWING` as
Chapelle and Li (2011) reshape posteriors: all seats of a team explore at once, and wider draws cost more than they
find (docs/teams.md).

Errors: the correlation of two models in the ledger, shrunk by `PAIR_ITEMS` to the mean of the pairs within families,
or between families. That mean is shrunk by `FAMILY_ITEMS` to what was measured elsewhere (`counting`).
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
LEAST_PRIOR = 0.5  # at least so many right and so many wrong items in the prior: a draw needs both
TRANSFER_ITEMS = 20
DRAW_NARROWING = 4
"""Draws are made as if there were so many times as many items: this halves the standard deviation."""

FAMILY_ITEMS = 40
PAIR_ITEMS = 120
"""The error correlation of two models differs from that of their families by about .09 (on LLMBar, arXiv 2310.07641,
without sampling error), which is the uncertainty of 120 items."""

SAME_MODEL, SAME_FAMILY, OTHER_FAMILY = map(
    float, (counting.SAME_MODEL, counting.SAME_FAMILY, counting.OTHER_FAMILY)
)


class Tally(NamedTuple):
    """What is known of the answers of a model. `credit`: 2 for a right one, 1 for none, 0 for a wrong one."""

    items: int = 0
    credit: int = 0
    beliefs: int = 0  # answers with a belief
    percents: int = 0  # the sum of these beliefs
    likeliest_right: int = 0  # how often the side held likeliest was right

    def subtract(self, other: "Tally") -> "Tally":
        return Tally(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))


class PairErrors(NamedTuple):
    """Of the items that two models answered: how often the first was not right, the second, and both."""

    items: int
    first: int
    second: int
    both: int


@dataclass(frozen=True)
class Knowledge:
    """What a ledger knows about candidates."""

    position: int = 0
    settled_items: int = 0  # counted up to what a choice needs
    answers: Mapping[str, Tally] = field(default_factory=dict)  # of all topics
    on_topic: Mapping[str, Tally] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], PairErrors] = field(
        default_factory=dict
    )  # names in the order of the alphabet

    @cached_property
    def usual_accuracy(self) -> float:
        """How often a model about which nothing is known is right."""
        records = [count_right(model, self) for model in self.answers]
        models = math.fsum(
            items / (PRIOR_ITEMS + items) for _, items in records
        )  # each counts as one at most
        rates = math.fsum(right / (PRIOR_ITEMS + items) for right, items in records)
        mean = (PRIOR_MODELS * PRIOR_RIGHT / PRIOR_ITEMS + rates) / (PRIOR_MODELS + models)
        least = LEAST_PRIOR / PRIOR_ITEMS
        return min(1 - least, max(least, mean))

    @cached_property
    def same_family(self) -> float:
        """The correlation of the errors of two models of one family."""
        return average_correlation(SAME_FAMILY, (of for pair, of in self.pairs.items() if are_related(*pair)))

    @cached_property
    def other_family(self) -> float:
        """The correlation of the errors of two models of different families."""
        return average_correlation(
            OTHER_FAMILY, (of for pair, of in self.pairs.items() if not are_related(*pair))
        )


NOTHING = Knowledge()


def split_tallies(model: str, knowledge: Knowledge) -> tuple[Tally, Tally, float]:
    """(answers on the topic, answers on other topics, how much one of the others counts)."""
    on_topic = knowledge.on_topic.get(model, Tally())
    off_topic = knowledge.answers.get(model, Tally()).subtract(on_topic)
    return on_topic, off_topic, TRANSFER_ITEMS / (TRANSFER_ITEMS + off_topic.items)


def count_right(model: str, knowledge: Knowledge) -> tuple[float, float]:
    """(right answers, all answers); those on other topics count in part."""
    on_topic, off_topic, transfer = split_tallies(model, knowledge)
    return (on_topic.credit + transfer * off_topic.credit) / 2, on_topic.items + transfer * off_topic.items


def compute_skill(model: str, knowledge: Knowledge) -> tuple[float, float]:
    """(right, wrong) answers with those of the prior, as the parameters of a beta distribution."""
    right, items = count_right(model, knowledge)
    prior = PRIOR_ITEMS * knowledge.usual_accuracy
    return prior + right, PRIOR_ITEMS - prior + items - right


def compute_overconfidence(model: str, knowledge: Knowledge) -> float:
    """How much surer a model is than right, on average; the items of the prior shrink it towards 0."""
    on_topic, off_topic, transfer = split_tallies(model, knowledge)
    excess, beliefs = 0.0, float(PRIOR_ITEMS)
    for tally, share in ((on_topic, 1.0), (off_topic, transfer)):
        excess += share * (tally.percents / 100 - tally.likeliest_right)
        beliefs += share * tally.beliefs
    return excess / beliefs


def compute_correlation(model: str, other: str, knowledge: Knowledge) -> float:
    """The correlation of the errors of two models."""
    if model == other:
        return SAME_MODEL
    of_families = knowledge.same_family if are_related(model, other) else knowledge.other_family
    first, second = sorted((model, other))
    errors = knowledge.pairs.get((first, second))
    phi = compute_phi(errors) if errors else None
    return of_families if errors is None or phi is None else shrink(phi, errors.items, of_families)


def are_related(model: str, other: str) -> bool:
    return family(model) == family(other)


def shrink(measured: float, items: int, usual: float, usual_items: int = PAIR_ITEMS) -> float:
    return (usual_items * usual + items * measured) / (usual_items + items)


def average_correlation(usual: float, pairs: Iterable[PairErrors]) -> float:
    """The mean over pairs, weighted by their items."""
    correlations = [(phi, errors.items) for errors in pairs if (phi := compute_phi(errors)) is not None]
    items = sum(number for _, number in correlations)
    mean = math.fsum(phi * number for phi, number in correlations) / items if items else usual
    return shrink(mean, items, usual, FAMILY_ITEMS)


def compute_phi(errors: PairErrors) -> float | None:
    """The correlation of errors; None where one of the two always errs, or never."""
    items, first, second, both = errors
    spread = first * (items - first) * second * (items - second)
    return (items * both - first * second) / math.sqrt(spread) if spread else None


def draw_accuracy(model: str, knowledge: Knowledge, seed: int) -> float:
    """A draw of how often a model is right, rounded as it is recorded."""
    numbers = draw_numbers(f"{seed}:team:{model}")
    shapes = (DRAW_NARROWING * shape for shape in compute_skill(model, knowledge))
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
