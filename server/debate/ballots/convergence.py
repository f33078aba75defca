"""Whether private ballots allow a debate to end its talk early.

That does not raise how sure a verdict is: agreement may be mere conformity, and no signal can tell. Such a talk is
judged like any other.

Whether voters hold the same position is told by embeddings of their positions, else by the analyst's reading of turns.
Positions are compared only where all choose the same and name the same numbers: the embedding of a sentence is close to
that of its negation, and to that of the same sentence with another number. Positions of different seats after the same
round are compared, never those of one seat after different rounds: that would measure how it reworded itself.
"""

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Literal, NamedTuple

from server.debate.arguments.points import has_said
from server.debate.ballots.waves import MIN_ROUNDS, may_converge, name_wave
from server.debate.facts.answers import Embedded, Extracted, Measured, Similarity, Usage, build_embedding_key
from server.debate.facts.beliefs import BLIND_WAVES, Converged, Share, format_share
from server.debate.facts.events import Balloted, Compared, Event, Judged
from server.debate.facts.interventions import RoundsExtended, TextIntervention
from server.debate.state.debate import Debate, replace
from server.debate.state.memo import once

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


def find_last_ballots(debate: Debate) -> dict[str, Balloted]:
    """The debaters' last ballots once the talk has begun, by seat."""
    first_round = min(debate.talk_rounds, default=debate.round + 1)
    cast = [b for b in debate.ballots if b.wave != "blind" and b.round >= first_round]
    in_order = sorted(cast, key=lambda b: b.round)
    return {b.seat: b for b in in_order if b.seat in debate.names and b.informative}


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
        (m for m in debate.measurements if (m.round, m.positions) == (debate.round, keys)), None
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
    return frozenset(
        frozenset((claim.said.seat, target.seat))
        for reading in debate.find_readings(Extracted)
        for claim in reading.claims
        for target in claim.same_as
        if reading.round == target.round == round_number
    )


SURE = Fraction(9, 10)
"""The pooled belief at which a talk may end. On the recorded beliefs of judges of debates (Michael
et al. 2023) ending at .9 after round 2 or later loses no accuracy."""

STILL = Fraction(1, 20)
"""Movement below which a voter has stayed where it was. Stillness alone ends no talk: that would lose accuracy."""

CLIP = Fraction(1, 20)
"""A single belief counts as at least this far from 0 and 1: voters are surer than they are right."""

StopReason = Literal["unmoved", "sure", ""]


def pool_belief(ballots: Iterable[Balloted], name: str) -> Fraction:
    """The mean belief of voters in a position, each clipped."""
    shares = [find_share(ballot.beliefs, name) for ballot in ballots]
    return sum((min(max(share, CLIP), 1 - CLIP) for share in shares), Fraction(0)) / len(shares)


def find_share(beliefs: Sequence[Share], name: str) -> Fraction:
    return next(share.value for share in beliefs if share.name == name)


def measure_movement(before: Balloted, after: Balloted) -> Fraction:
    """How much of its belief a voter moved: the total variation between two ballots, from 0 to 1."""
    return sum((abs(find_share(before.beliefs, s.name) - s.value) for s in after.beliefs), Fraction(0)) / 2


def choose_stop_reason(
    belief: Fraction, movement: Fraction | None, *, is_anything_new: bool, is_anything_open: bool
) -> StopReason:
    """Why a talk may end after a round other than the first; "" where it goes on."""
    if belief >= SURE and not is_anything_open:
        return "sure"
    return "unmoved" if movement is not None and movement < STILL and not is_anything_new else ""


def find_convergence(debate: Debate) -> Converged | None:
    """The fact that the talk may end after this round by everybody's ballots; None where it goes on."""
    summary = summarize_ballots(debate)
    if summary is None:
        return None
    likeness = None if summary.why or summary.is_open else find_likeness(debate)
    if not (summary.why or likeness):
        return None
    return Converged(
        round=debate.round,
        why=summary.why or "alike",
        movement="" if summary.movement is None else format_share(summary.movement),
        belief=format_share(summary.belief),
        leader=summary.leader,
        by=likeness.by if likeness else "",
        similarity=likeness.similarity if likeness else "",
    )


def wants_measurement(debate: Debate) -> bool:
    """Whether embeddings must tell if positions are alike: all choose the same, and nothing else ends the talk."""
    if debate.setup.meter is None:
        return False
    summary = summarize_ballots(debate)
    is_undecided = summary is not None and not (summary.why or summary.is_open)
    return is_undecided and choose_alike(list_round_ballots(debate))


class BallotSummary(NamedTuple):
    """What everybody's ballots after a round say, apart from whether positions are alike."""

    why: StopReason
    belief: Fraction  # in the position that leads
    leader: str
    movement: Fraction | None
    is_open: bool  # somebody names an unanswered attack, or no position leads


@once
def summarize_ballots(debate: Debate) -> BallotSummary | None:
    """None where the ballots cannot end the talk: too early, some missing, or somebody asked for more talk."""
    is_early = debate.talk_round_count < MIN_ROUNDS or debate.phase is None or not debate.phase.is_talk
    if not may_converge(debate.setup) or is_early or is_steered(debate):
        return None
    ballots = list_round_ballots(debate)
    if not ballots:
        return None
    belief, leader = max(
        ((pool_belief(ballots, name), name) for name in (*debate.names, "")), key=lambda b: b[0]
    )
    movement = compute_movement(debate, ballots)
    is_open = any(ballot.open_point for ballot in ballots) or not leader
    is_new = any(b.new_point or (b.moved_by and b.moved_by.round == b.round) for b in ballots)
    why = choose_stop_reason(belief, movement, is_anything_new=is_new, is_anything_open=is_open)
    return BallotSummary(why, belief, leader, movement, is_open)


def is_steered(debate: Debate) -> bool:
    """Whether somebody asked in this round for more talk, or added a text that no turn has answered yet."""
    interventions = (*debate.find_interventions(RoundsExtended), *debate.find_interventions(TextIntervention))
    return any(intervention.round == debate.round for intervention in interventions)


def compute_movement(debate: Debate, ballots: Sequence[Balloted]) -> Fraction | None:
    """The largest movement of a voter since its last private ballot; None if a voter has none by the same model."""
    movements = []
    for ballot in ballots:
        earlier = [b for b in debate.private_ballots if b.seat == ballot.seat and b.round < ballot.round]
        if not earlier or earlier[-1].usage.model != ballot.usage.model:
            return None
        movements.append(measure_movement(earlier[-1], ballot))
    return max(movements)


def find_ballot_problem(debate: Debate, ballot: Balloted) -> str:
    """Why a ballot is impossible; "" where it is possible."""
    if ballot.wave != name_wave(debate, ballot.slot_index):
        return "it belongs to another wave"
    if tuple(share.name for share in ballot.beliefs) != (*debate.names, ""):
        return "its beliefs are not one for each position and none"
    cause = ballot.moved_by
    if cause and (ballot.wave in BLIND_WAVES or not has_said(debate, cause)):
        return "it was moved by a turn that was never made"
    is_early = ballot.wave != "round" and bool(ballot.new_point or ballot.open_point)
    return "it says what was not asked for" if is_early else ""


def build_converged(debate: Debate) -> tuple[Event, ...]:
    """The fact that the talk may end by the ballots of this round; () once it is recorded."""
    convergence = find_convergence(debate)
    return (convergence,) if convergence and convergence not in debate.convergence else ()


def supersede_votes(debate: Debate) -> Debate:
    """Take back the votes of this round: they were given on a transcript with a turn that was retracted since."""
    judgments = [vote for vote in debate.judgments if vote.round == debate.round]
    ballots = [vote for vote in debate.ballots if vote.round == debate.round and vote.wave != "blind"]
    debate = supersede(supersede_comparison(debate), *judgments, *ballots)
    return replace(
        debate,
        judgments=tuple(vote for vote in debate.judgments if vote not in judgments),
        ballots=tuple(vote for vote in debate.ballots if vote not in ballots),
    )


def supersede_comparison(debate: Debate) -> Debate:
    """Take back the comparison of what judges advise, where there is one: it was made of other readings."""
    if debate.comparison is None:
        return debate
    return replace(supersede(debate, debate.comparison), comparison=None)


def supersede(debate: Debate, *answers: Judged | Balloted | Compared) -> Debate:
    slots = {(answer.seat, answer.slot_index) for answer in answers}
    return replace(
        debate, superseded=(*debate.superseded, *answers), answered_slots=debate.answered_slots - slots
    )
