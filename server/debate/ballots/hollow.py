"""Whether agreement may be hollow: what debaters say they hold, against what they hold in private.

The gap between the two is the one sign that steers. Four patterns are counted beside it. All of them are about panels,
whose seats may change their mind in public: advocates defend a side by their task. Thresholds come from a simulator of
debates, where no sign tells a wrong unanimous answer from a right one: none ever changes how sure a verdict is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Literal

from pydantic import BaseModel

from server.debate.arguments.citations import find_citations
from server.debate.arguments.points import list_points
from server.debate.ballots.convergence import find_share
from server.debate.ballots.waves import MIN_ROUNDS
from server.debate.documents.marks import check_quotes
from server.debate.facts.beliefs import Gap, format_share
from server.debate.facts.events import NO_POSITION, Balloted
from server.debate.state.debate import Debate
from server.debate.state.memo import once

SignalName = Literal["gap", "quick_unanimity", "shallow_reasoning", "echo_chamber", "groupthink"]

THRESHOLDS: dict[SignalName, Fraction] = {
    "gap": Fraction(3, 10),
    "quick_unanimity": Fraction(1),
    "shallow_reasoning": Fraction(3, 10),
    "echo_chamber": Fraction(1, 5),
    "groupthink": Fraction(1, 2),
}
UNITS: dict[SignalName, str] = {
    "gap": "debaters who choose another position in private than they say",
    "quick_unanimity": "debaters who choose the same in private so early, and did not before the talk",
    "shallow_reasoning": "debaters who changed their choice without a new reason",
    "echo_chamber": "passages that several quote of those who choose the same",
    "groupthink": "points of a minority that nobody took up",
}

Passage = tuple[int, int, int]  # document, start, end
Measurement = tuple[Fraction, int, int] | None
"""(the value of a signal, the part and the whole that it counts); None where it cannot be computed."""


class SignalRow(BaseModel):
    """A sign that agreement may be hollow. It never moves the confidence."""

    name: str
    raised: bool
    value: str
    threshold: str
    counts: str


def build_signals(debate: Debate) -> list[SignalRow]:
    """The signs that can be computed; [] where they are off, or no seat may change its mind in public."""
    if debate.setup.challenges == "off" or debate.setup.brief != "panel":
        return []
    gap = measure_gap(debate)
    measurements: dict[SignalName, Measurement] = {
        "gap": (Fraction(gap.disbelief), gap.apart, gap.debaters) if gap else None,
        "quick_unanimity": measure_unanimity(debate),
        "shallow_reasoning": measure_flips(debate),
        "echo_chamber": measure_overlap(debate),
        "groupthink": measure_lost_dissent(debate),
    }
    return [
        SignalRow(
            name=name,
            raised=measured[0] >= THRESHOLDS[name],
            value=format_share(measured[0]),
            threshold=format_share(THRESHOLDS[name]),
            counts=f"{measured[1]} of {measured[2]} {UNITS[name]}",
        )
        for name, measured in measurements.items()
        if measured
    ]


def share(part: int, whole: int) -> Measurement:
    return (Fraction(part, whole), part, whole) if whole else None


def list_ballots(debate: Debate) -> dict[str, list[Balloted]]:
    """The informative ballots of each debater, in the order in which they were asked for."""
    cast = sorted(debate.ballots, key=lambda ballot: (ballot.round, ballot.slot_index))
    return {
        name: ballots
        for name in debate.names
        if (ballots := [ballot for ballot in cast if ballot.seat == name and ballot.informative])
    }


def list_last_ballots(debate: Debate) -> dict[str, Balloted]:
    """The last ballot of each debater once the talk has begun."""
    ballots = list_ballots(debate)
    return {name: cast[-1] for name, cast in ballots.items() if cast[-1].wave != "blind"}


@once
def measure_gap(debate: Debate) -> Gap | None:
    """What debaters say they hold, against their last ballots; None where nobody said so, or had a ballot."""
    public = {
        turn.seat: "" if turn.holds == NO_POSITION else turn.holds
        for turn in debate.active_turns
        if turn.holds
    }
    ballots = {name: ballot for name, ballot in list_last_ballots(debate).items() if name in public}
    if not ballots:
        return None
    disbelief = sum(
        (1 - find_share(ballot.beliefs, public[name]) for name, ballot in ballots.items()), Fraction(0)
    )
    return Gap(
        disbelief=format_share(disbelief / len(ballots)),
        apart=sum(ballot.choice != public[name] for name, ballot in ballots.items()),
        debaters=len(ballots),
    )


def find_gap(debate: Debate) -> Gap | None:
    """The gap where it is large enough to mean something."""
    gap = measure_gap(debate)
    return gap if gap and Fraction(gap.disbelief) >= THRESHOLDS["gap"] else None


def measure_unanimity(debate: Debate) -> Measurement:
    """How many choose the same within two rounds; None later, or where they chose the same before the talk."""
    first_choices = {cast[0].choice for cast in list_ballots(debate).values() if cast[0].wave == "blind"}
    if debate.talk_round_count > MIN_ROUNDS or len(first_choices) < 2:  # noqa: PLR2004  (two differ)
        return None
    choices = Counter(ballot.choice for ballot in list_last_ballots(debate).values() if ballot.choice)
    return share(max(choices.values(), default=0), len(debate.names))


def measure_flips(debate: Debate) -> Measurement:
    """The share of debaters who chose another position without a reason that was new to them."""
    revoters = {name: cast for name, cast in list_ballots(debate).items() if len(cast) > 1}
    flips = sum(any(is_unexplained(*pair) for pair in pairwise(cast)) for cast in revoters.values())
    return share(flips, len(revoters))


def is_unexplained(before: Balloted, after: Balloted) -> bool:
    """Whether a choice changed without a stated reason, or with one that the voter knew before."""
    if not (before.choice and after.choice) or before.choice == after.choice:
        return False
    last_known_round = 0 if before.wave == "blind" else before.round
    return after.moved_by is None or after.moved_by.round <= last_known_round


def measure_overlap(debate: Debate) -> Measurement:
    """The mean overlap (Jaccard) of the passages that two quote who choose the same; passages that several quote."""
    ballots = list_last_ballots(debate)
    leader = choose_leader_of_ballots(ballots)
    agreeing = [name for name, ballot in ballots.items() if leader and ballot.choice == leader]
    passages = list_passages(debate)
    quoting = [passages[name] for name in agreeing if name in passages]
    overlaps = [measure_pair(one, other) for one, other in combinations(quoting, 2)]
    if not overlaps:
        return None
    all_passages = frozenset().union(*quoting)
    shared_count = sum(sum(is_among(passage, own) for own in quoting) > 1 for passage in all_passages)
    return sum(overlaps, Fraction(0)) / len(overlaps), shared_count, len(all_passages)


@once
def list_passages(debate: Debate) -> dict[str, frozenset[Passage]]:
    """The passages of documents that each debater quoted, as they were found."""
    passages_by_seat: dict[str, set[Passage]] = {name: set() for name in debate.names}
    for turn in filter(debate.is_active, debate.turns):
        for quote in check_quotes(debate, turn.text, turn.seen):
            if quote.span and quote.source:
                passages_by_seat[turn.seat].add((quote.source.number, quote.span.start, quote.span.end))
    return {name: frozenset(passages) for name, passages in passages_by_seat.items() if passages}


def measure_pair(one: frozenset[Passage], other: frozenset[Passage]) -> Fraction:
    common = sum(is_among(passage, other) for passage in one)
    return Fraction(common, len(one) + len(other) - min(common, len(other)))


def is_among(passage: Passage, others: Iterable[Passage]) -> bool:
    document, start, end = passage
    return any(document == number and start < stop and begin < end for number, begin, stop in others)


def measure_lost_dissent(debate: Debate) -> Measurement:
    """The share of a minority's points that nobody else takes up, in a talk whose points cite each other."""
    ballots = list_last_ballots(debate)
    leader = choose_leader_of_ballots(ballots)
    minority = {name for name, ballot in ballots.items() if leader and ballot.choice not in ("", leader)}
    active = {point_id for point_id, point in list_points(debate).items() if debate.is_active(point.turn)}
    citations = find_citations(debate)
    links = [link for source in active for link in citations[source].links]
    if not links:
        return None
    taken_up = {link.target for link in links if link.source.seat != link.target.seat}
    points = [point for point in active if point.seat in minority]
    return share(sum(point not in taken_up for point in points), len(points))


def choose_leader_of_ballots(ballots: Mapping[str, Balloted]) -> str:
    """The position that more voters choose than any other; "" for none."""
    counts = Counter(ballot.choice for ballot in ballots.values() if ballot.choice).most_common(2)
    (leader, votes), (_, next_votes) = [*counts, ("", 0), ("", 0)][:2]
    return leader if votes > next_votes else ""
