"""Whether agreement may be hollow: what debaters say they hold, against what they hold in private.

The gap between the two is the one sign that steers. Four patterns are counted beside it. All of them are about panels,
whose seats may change their mind in public: advocates defend a side by their task. Thresholds come from a simulator of
debates, where no sign tells a wrong unanimous answer from a right one: none ever changes how sure a verdict is.

An alert is a fact about a round of talk with such a gap. Where options ask for challenges, one stands before the next
round, names points by their ids, and asks for evidence, an error, or the case for what somebody held before.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, islice, pairwise
from typing import Literal, assert_never

from pydantic import BaseModel

from server.debate.arguments.citations import find_citations
from server.debate.arguments.graph import ATTACKS
from server.debate.arguments.points import format_id, list_points
from server.debate.ballots.convergence import build_converged, find_last_ballots, find_share, measure_movement
from server.debate.ballots.samples import choose_leader
from server.debate.ballots.waves import MIN_ROUNDS
from server.debate.documents.marks import check_quotes
from server.debate.facts.beliefs import Alerted, Citation, Converged, Effect, Gap, format_share
from server.debate.facts.events import NO_POSITION, Balloted, BallotEvent, Event
from server.debate.facts.interventions import Challenged
from server.debate.state.debate import Debate, replace
from server.debate.state.labels import side_labels
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


@once
def measure_gap(debate: Debate) -> Gap | None:
    """What debaters say they hold, against their last ballots; None where nobody said so, or had a ballot."""
    public = {
        turn.seat: "" if turn.holds == NO_POSITION else turn.holds
        for turn in debate.active_turns
        if turn.holds
    }
    ballots = {name: ballot for name, ballot in find_last_ballots(debate).items() if name in public}
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
    choices = Counter(ballot.choice for ballot in find_last_ballots(debate).values() if ballot.choice)
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
    ballots = find_last_ballots(debate)
    leader = choose_leader(ballots.values())
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
    ballots = find_last_ballots(debate)
    leader = choose_leader(ballots.values())
    minority = {name for name, ballot in ballots.items() if leader and ballot.choice not in ("", leader)}
    active = {point_id for point_id, point in list_points(debate).items() if debate.is_active(point.turn)}
    citations = find_citations(debate)
    links = [link for source in active for link in citations[source].links]
    if not links:
        return None
    taken_up = {link.target for link in links if link.source.seat != link.target.seat}
    points = [point for point in active if point.seat in minority]
    return share(sum(point not in taken_up for point in points), len(points))


MOST_CHALLENGES = 2
"""Challenges in a debate."""

COOLDOWN = 1
"""Rounds from a challenge to the round after which the next one may be made."""

MOST_POINTS = 3
"""Points that a challenge names."""


def is_due(debate: Debate, event: BallotEvent) -> bool:
    """Whether a fact about ballots holds now and is not recorded yet."""
    if isinstance(event, Alerted):
        if event.round < debate.setup.forked_at_round:
            return event.round == debate.round  # an alert of the debate that was forked
        alert = compute_alert(debate)
        return alert is not None and event in (
            alert,
            alert.model_copy(update={"challenged": wants_challenge(debate)}),
        )
    return event in build_converged(debate)


def add_ballot_event(debate: Debate, event: BallotEvent) -> Debate:
    match event:
        case Alerted():
            return replace(debate, alerts=(*debate.alerts, event))
        case Converged():
            return replace(debate, convergence=(*debate.convergence, event))
        case _:
            assert_never(event)


def compute_alert(debate: Debate) -> Alerted | None:
    """The alert after this round of talk: the gap, and the effect of a challenge; None without either."""
    phase = debate.phase
    is_recorded = any(alert.round == debate.round for alert in debate.alerts)
    is_talk = phase is not None and phase.is_talk and bool(debate.round_turns(debate.round))
    if debate.setup.challenges == "off" or debate.setup.brief != "panel" or is_recorded or not is_talk:
        return None
    gap, effect = find_gap(debate), compute_effect(debate)
    return Alerted(round=debate.round, gap=gap, effect=effect) if gap or effect else None


def wants_challenge(debate: Debate) -> bool:
    """Whether the next round, if there is one, gets a challenge: by the gap, the number so far and the distance."""
    challenges = list_challenges(debate)
    is_far = not challenges or debate.round - challenges[-1].round >= COOLDOWN
    is_allowed = len(challenges) < MOST_CHALLENGES and is_far
    return debate.setup.challenges == "challenge" and is_allowed and find_gap(debate) is not None


def list_challenges(debate: Debate) -> list[Challenged]:
    """The challenges that followed from alerts, not from a person."""
    return [note for note in debate.notes if isinstance(note, Challenged) and note.alert]


def is_challenged(debate: Debate) -> bool:
    """Whether the alert of this round brings a challenge."""
    return bool(debate.alerts) and debate.alerts[-1].round == debate.round and debate.alerts[-1].challenged


def compute_effect(debate: Debate) -> Effect | None:
    """What the challenge of this round changed: the largest movement, changed choices and new points in ballots."""
    if not any(challenge.round == debate.round for challenge in list_challenges(debate)):
        return None
    cast = [b for b in debate.round_ballots(debate.round) if b.wave == "round" and b.informative]
    ballots = list_ballots(debate)
    pairs = [ballots[ballot.seat][-2:] for ballot in cast if len(ballots[ballot.seat]) > 1]
    return Effect(
        movement=format_share(max((measure_movement(*pair) for pair in pairs), default=Fraction(0))),
        changed=sum(before.choice != after.choice for before, after in pairs),
        new_points=sum(bool(ballot.new_point) for ballot in cast),
        voters=len(cast),
    )


def build_challenge(debate: Debate) -> tuple[Event, ...]:
    """The challenge that comes before the first answer of a round of talk; () once it is recorded."""
    alert = debate.alerts[-1] if debate.alerts else None
    if alert is None or not alert.challenged or alert.round != debate.round - 1 or debate.ended:
        return ()
    if any(challenge.alert == alert.round for challenge in list_challenges(debate)):
        return ()
    text = describe_challenge(debate)
    return (Challenged(round=debate.round, alert=alert.round, reason="agreement may be hollow", text=text),)


def describe_challenge(debate: Debate) -> str:
    """The text of a challenge, with points by the labels of prompts."""
    labels = side_labels(debate)
    point_ids = ", ".join(f"[{format_id(point, labels[point.seat])}]" for point in choose_points(debate))
    about = f" Look at {point_ids} first." if point_ids else ""
    return (
        f"What is said here is not what is held in private.{about} In this round each of you gives one of these, and "
        "cites the point by its id: evidence for or against it that nobody gave; an error in it; or the best case for "
        "what you yourself held before the talk, where you gave that up."
    )


def choose_points(debate: Debate) -> list[Citation]:
    """Unattacked points of the position ahead, the latest first; then one of another side that nobody took up."""
    active = [point for point, said in list_points(debate).items() if debate.is_active(said.turn)]
    citations = find_citations(debate)
    links = [link for point in active for link in citations[point].links]
    attacked_points = {link.target for link in links if link.relation in ATTACKS}
    taken_up = {link.target for link in links if link.source.seat != link.target.seat}
    leader = choose_leader(find_last_ballots(debate).values())
    points = [point for point in active if point.round < debate.round]
    ahead = (point for point in reversed(points) if point.seat == leader and point not in attacked_points)
    forgotten_points = (point for point in points if point.seat != leader and point not in taken_up)
    return [*islice(ahead, MOST_POINTS - 1), *islice(forgotten_points, 1)]


def describe_gap(gap: Gap) -> str:
    """What is said against what is held, in a sentence."""
    belief = f"{float(100 * (1 - Fraction(gap.disbelief))):.0f}%"
    return (
        f"What is said is not what is held: {gap.apart} of {gap.debaters} debaters choose otherwise in private than "
        f"they say, and what they say has {belief} of their belief on average."
    )


def describe_alert(alert: Alerted) -> str:
    """An alert in a line, with what came of a challenge."""
    parts = [f"Round {alert.round}: {describe_gap(alert.gap)}"] if alert.gap else []
    parts += ["The next round has a challenge to answer."] if alert.challenged else []
    if effect := alert.effect:
        parts.append(
            f"After the challenge of round {alert.round} voters moved by {effect.movement} at most, {effect.changed} "
            f"of {effect.voters} chose otherwise than before, and {effect.new_points} name a new point."
        )
    return " ".join(parts)
