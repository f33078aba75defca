"""Whether voters hold the same position: by embeddings of their positions, else by the analyst's reading of turns.

Positions are compared only where all choose the same and name the same numbers: the embedding of a sentence is close to
that of its negation, and to that of the same sentence with another number. Positions of different seats after the same
round are compared, never those of one seat after different rounds: that would measure how it reworded itself.
"""

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Literal, NamedTuple

from server.debate.facts.answers import Embedded, Extracted, Measured, Similarity, Usage, build_embedding_key
from server.debate.facts.beliefs import format_share
from server.debate.facts.events import Balloted
from server.debate.state.debate import Debate

SIMILAR = Fraction(17, 20)
"""The least cosine of two positions that count as alike."""


_NUMBER = re.compile(r"\d+(?:[.,'\u2019\u00a0\u202f]\d+)*")


class Likeness(NamedTuple):
    """The finding that all positions are alike: by which method, and the similarity of the two that differ most."""

    by: Literal["embeddings", "analyst"]
    similarity: str = ""  # "" where it was not measured


def list_round_ballots(debate: Debate) -> list[Balloted]:
    """Each debater's ballot after this round, in order; [] unless all gave an informative one."""
    ballots = {b.seat: b for b in debate.round_ballots(debate.round) if b.wave == "round" and b.informative}
    return [ballots[name] for name in debate.names] if len(ballots) == len(debate.names) else []


def choose_alike(ballots: Sequence[Balloted]) -> bool:
    choices = {ballot.choice for ballot in ballots}
    return len(choices) == 1 and "" not in choices


def extract_numbers(text: str) -> frozenset[str]:
    """The numbers that a text writes in digits, without thousands separators."""
    return frozenset(
        re.sub(r"[,'\u2019\u00a0\u202f](?=\d{3}\b)", "", number) for number in _NUMBER.findall(text)
    )


def compute_cosine(vector: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors, neither of which is zero."""
    return sum(a * b for a, b in zip(vector, other, strict=True)) / (math.hypot(*vector) * math.hypot(*other))


def build_measurement(
    debate: Debate, seen: int, ballots: Sequence[Balloted], vectors: Sequence[Sequence[float]], usage: Usage
) -> Measured:
    """How alike positions are, by a vector for each. `ballots`: those of the version `seen`."""
    pairs = combinations(zip(ballots, vectors, strict=True), 2)
    similarities = (
        Similarity(
            one=ballot.seat,
            other=other_ballot.seat,
            value=format_cosine(compute_cosine(vector, other_vector)),
        )
        for (ballot, vector), (other_ballot, other_vector) in pairs
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
    """Why a measurement is wrong; "" where it compares the positions of this round, each pair once."""
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
    if len({extract_numbers(ballot.position) for ballot in ballots}) > 1:
        return None
    keys = list_keys(debate, ballots)
    measurement = next(
        (
            measurement_so_far
            for measurement_so_far in debate.measurements
            if (measurement_so_far.round, measurement_so_far.positions) == (debate.round, keys)
        ),
        None,
    )
    if measurement is None:
        return None
    lowest = min(Fraction(pair.value) for pair in measurement.similarities)
    return Likeness("embeddings", format_share(lowest)) if lowest >= SIMILAR else None


def are_connected(debate: Debate) -> bool:
    """Whether the pairs of debaters who made the same point in this round connect all debaters, even indirectly."""
    pairs, connected_seats = list_agreeing_pairs(debate, debate.round), {debate.names[0]}
    while new_seats := {seat for pair in pairs if pair & connected_seats for seat in pair} - connected_seats:
        connected_seats |= new_seats
    return connected_seats >= {*debate.names}


def list_agreeing_pairs(debate: Debate, round_number: int) -> frozenset[frozenset[str]]:
    """The pairs of debaters who made the same point in this round, as the analyst reads it."""
    pairs = (
        (claim.said.seat, target)
        for reading in debate.find_readings(Extracted)
        if reading.round == round_number
        for claim in reading.claims
        for target in claim.same_as
    )
    return frozenset(frozenset((seat, target.seat)) for seat, target in pairs if target.round == round_number)
