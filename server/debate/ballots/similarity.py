"""Whether voters hold alike what they hold: by embeddings of their positions, else by what the analyst reads in turns.

Positions are compared only where all choose the same and name the same numbers: the embedding of a sentence is close to
that of its negation, and to that of the same sentence with another number. The positions of different seats after one
round are compared, never those of one seat after different rounds, which would measure how it reworded itself.
"""

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Literal, NamedTuple

from server.debate.arguments.extraction import find_same_seats
from server.debate.facts.answers import Embedded, Measured, Similarity, Usage, build_embedding_key
from server.debate.facts.beliefs import format_share
from server.debate.facts.events import Balloted
from server.debate.state.debate import Debate

SIMILAR = Fraction(17, 20)
"""The least cosine of two positions that count as alike."""


_NUMBER = re.compile(r"\d+(?:[.,'\u2019\u00a0\u202f]\d+)*")


class Likeness(NamedTuple):
    """That the positions of all voters are alike: by which method, and the similarity of the two that differ most."""

    by: Literal["embeddings", "analyst"]
    similarity: str = ""  # "" where it was not measured


def list_round_ballots(debate: Debate) -> list[Balloted]:
    """What each debater holds in private after this round, in order; [] unless all say what means anything."""
    last = {b.seat: b for b in debate.round_ballots(debate.round) if b.wave == "round" and b.informative}
    return [last[name] for name in debate.names] if len(last) == len(debate.names) else []


def choose_alike(ballots: Sequence[Balloted]) -> bool:
    choices = {ballot.choice for ballot in ballots}
    return len(choices) == 1 and "" not in choices


def find_numbers(text: str) -> frozenset[str]:
    """The numbers that a text writes in digits, without separators of thousands."""
    return frozenset(
        re.sub(r"[,'\u2019\u00a0\u202f](?=\d{3}\b)", "", found) for found in _NUMBER.findall(text)
    )


def compute_cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors, neither of which is zero."""
    return sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))


def build_measured(
    debate: Debate, seen: int, ballots: Sequence[Balloted], vectors: Sequence[Sequence[float]], usage: Usage
) -> Measured:
    """How alike positions are, by a vector for each. `ballots`: those of the version `seen`."""
    pairs = combinations(zip(ballots, vectors, strict=True), 2)
    similarities = (
        Similarity(one=one.seat, other=other.seat, value=format_cosine(compute_cosine(first, second)))
        for (one, first), (other, second) in pairs
    )
    return Measured(
        round=debate.round,
        seen=seen,
        usage=usage,
        positions=list_keys(debate, ballots),
        similarities=tuple(similarities),
    )


def format_cosine(cosine: float) -> str:
    """To four digits, between 0 and 1: a negative cosine counts as 0, and rounding must not exceed 1."""
    return format_share(Fraction(min(max(cosine, 0.0), 1.0)))


def list_keys(debate: Debate, ballots: Sequence[Balloted]) -> tuple[Embedded, ...]:
    model = debate.setup.meter.model if debate.setup.meter else ""
    return tuple(Embedded(seat=b.seat, key=build_embedding_key(model, b.position)) for b in ballots)


def find_measurement_problem(debate: Debate, event: Measured) -> str:
    """Why positions cannot be measured so; "" where they are those of this round, each pair once."""
    ballots = list_round_ballots(debate)
    if event.positions != list_keys(debate, ballots):
        return "these are not the positions of this round"
    pairs = [(pair.one, pair.other) for pair in event.similarities]
    is_whole = pairs == list(combinations([ballot.seat for ballot in ballots], 2))
    return "" if is_whole else "it does not compare each pair of voters once"


def find_likeness(debate: Debate) -> Likeness | None:
    """How the positions of all voters were found to be alike after this round; None where they were not."""
    ballots = list_round_ballots(debate)
    if not choose_alike(ballots):
        return None
    if debate.setup.meter is None:
        return Likeness("analyst") if are_connected(debate) else None
    if len({find_numbers(ballot.position) for ballot in ballots}) > 1:
        return None
    keys = list_keys(debate, ballots)
    measured = next(
        (one for one in debate.measurements if (one.round, one.positions) == (debate.round, keys)), None
    )
    if measured is None:
        return None
    lowest = min(Fraction(pair.value) for pair in measured.similarities)
    return Likeness("embeddings", format_share(lowest)) if lowest >= SIMILAR else None


def are_connected(debate: Debate) -> bool:
    """Whether the pairs of debaters who made the same point in this round connect all debaters, directly or not."""
    pairs, reached = find_same_seats(debate, debate.round), {debate.names[0]}
    while more := {seat for pair in pairs if pair & reached for seat in pair} - reached:
        reached |= more
    return reached >= {*debate.names}
