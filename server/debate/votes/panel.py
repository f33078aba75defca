"""The votes of a debate's seats, and what the rule of consensus in force finds in them."""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from server.debate.facts.answers import Usage
from server.debate.facts.beliefs import Agreed, Belief, Vote
from server.debate.facts.escalation import MirrorHeld
from server.debate.facts.events import Balloted, Judged
from server.debate.facts.setup.ledger import LedgerExtract
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.memo import once
from server.debate.state.seats import candidate_models, current_model
from server.debate.votes.consensus import classify_share, describe_rule
from server.debate.votes.counting import UNKNOWN_WEIGHT, Count, Seat, count_voices, count_votes
from server.debate.votes.voters import verdict_source
from server.debate.votes.voting import (
    SYNTHESIS,
    CastVote,
    Silence,
    apply_rule,
    build_count,
    find_support,
    sum_weights,
)

RELEASE = re.compile(r"[-@][0-9]{3,}[0-9-]*$|:latest$")
"""What a provider adds to the name of a model that it answered with, as "-2026-01-31" or "-0613"."""

LOST_ORDER = "found for another side when positions, labels and order were turned"


MIRROR_PREFIX = "mirror "
"""What stands before the seat of a judge of the mirror, where its votes are counted beside the others."""


def find_own_seat(voter: str) -> str:
    """The seat of this debate that a voter has: a judge of the mirror is on the model of the judge of its name."""
    return voter.removeprefix(MIRROR_PREFIX)


def list_judges(debate: Debate) -> tuple[str, ...]:
    """The judges whose votes make the verdict, those of the mirror last."""
    seats = judge_seats(debate.setup)
    is_mirrored = isinstance(debate.mirror, MirrorHeld)
    return (*seats, *(f"{MIRROR_PREFIX}{seat}" for seat in seats)) if is_mirrored else seats


def list_mirrored_names(debate: Debate) -> dict[str, str]:
    """Whose stance each debater argues in the mirror: that of the next one, so that each has another's."""
    names = debate.names
    return dict(zip(names, (*names[1:], *names[:1]), strict=True))


@once
def list_judgments(debate: Debate) -> tuple[Judged, ...]:
    """All readings of judges, those of the mirror as if the debaters who stand for the positions here had argued."""
    if not isinstance(debate.mirror, MirrorHeld):
        return debate.judgments
    owners = list_mirrored_names(debate) | {"": ""}
    order = (*debate.names, "")
    mirrored = []
    for reading in debate.mirror.readings:
        percents = {owners[belief.name]: belief.percent for belief in reading.beliefs}
        beliefs = tuple(Belief(name=name, percent=percents[name]) for name in order if percents)
        judged = Judged(
            seat=f"{MIRROR_PREFIX}{reading.judge}",
            round=debate.mirror.round,
            slot_index=reading.number,
            seen=debate.version,
            usage=Usage(model=reading.model),
            winner=owners[reading.winner],
            margin=reading.margin,
            verdict="",
            reasoning="",
            beliefs=beliefs,
            common_position="a position made of the others" if reading.for_synthesis else "",
            informative=reading.informative,
        )
        mirrored.append(judged)
    return (*debate.judgments, *mirrored)


def list_seats(debate: Debate, votes: Sequence[Vote]) -> list[Seat]:
    return [
        Seat(
            vote.judge,
            find_voter_model(debate, vote.judge),
            "" if vote.abstains else SYNTHESIS if vote.for_synthesis else vote.winner,
            vote.margin,
            debate.weights.get(find_own_seat(vote.judge), Fraction(1))
            * find_learnt_weight(debate, vote.judge),
            is_proven=is_proven(debate, vote.judge),
        )
        for vote in votes
    ]


def find_learnt_weight(debate: Debate, voter: str) -> Fraction:
    """How much the record of a judge lets its vote count, against one whose record is not known."""
    ledger = find_ledger(debate)
    model = find_rated_model(debate, voter, find_voter_model(debate, voter))
    weight = ledger.find_weight(model) if ledger else None
    return Fraction(1) if weight is None else weight / UNKNOWN_WEIGHT


def is_proven(debate: Debate, voter: str) -> bool:
    """Whether a judge is known so well that it may decide alone."""
    ledger = find_ledger(debate)
    model = find_rated_model(debate, voter, find_voter_model(debate, voter))
    return ledger is not None and ledger.is_proven(model)


def find_rated_model(debate: Debate, seat: str, answered: str) -> str:
    """The name under which the ledger knows who answered: that of the model asked for, of which it may be a release."""
    base = RELEASE.sub("", answered)
    return base if base in candidate_models(debate, find_own_seat(seat)) else answered


def find_ledger(debate: Debate) -> LedgerExtract | None:
    """What is known of those who vote: the ledger is about judges who read twice, not about voters."""
    are_judges = verdict_source(debate.setup) == "judges" and not debate.skipped
    return debate.setup.ledger if are_judges else None


def has_answered(debate: Debate, voter: str) -> bool:
    """Whether a voter gave every reading that was asked for, or its last ballot."""
    if debate.skipped:
        return True
    if verdict_source(debate.setup) != "judges":
        return any(ballot.seat == voter for ballot in debate.last_ballots)
    expected = 2 if debate.setup.judges.both_orders else 1
    return sum(judged.seat == voter for judged in list_judgments(debate)) == expected


def find_voter_model(debate: Debate, voter: str) -> str:
    """The model that answered for a voter, or the one that is asked."""
    given = (vote for vote in (*list_judgments(debate), *debate.last_ballots) if vote.seat == voter)
    return next((vote.usage.model for vote in given), current_model(debate, find_own_seat(voter)))


def compute_judge_vote(debate: Debate, judge: str) -> Vote:
    """The vote of a judge from all its readings."""
    readings = [judged for judged in list_judgments(debate) if judged.seat == judge]
    expected = 2 if debate.setup.judges.both_orders else 1
    winners = {judged.winner for judged in readings}
    abstains = ""
    if not readings:
        abstains = "gave no usable answer"
    elif not all(judged.informative for judged in readings):
        abstains = "is too small a model to judge"
    elif len(readings) < expected:
        abstains = "answered in one of the two orders only"
    elif len(winners) > 1:
        abstains = LOST_ORDER
    if abstains:
        return Vote(judge=judge, winner="", margin=0, abstains=abstains)
    return Vote(
        judge=judge,
        winner=winners.pop(),
        margin=min(judged.margin for judged in readings),
        weight=seat_weight(debate, judge),
        for_synthesis=all(judged.common_position for judged in readings),
    )


def compute_ballot_vote(debate: Debate, name: str) -> Vote:
    """The vote of a seat in the last vote. Ballots have no margin: each counts as clear."""
    last = next((ballot for ballot in debate.last_ballots if ballot.seat == name), None)
    abstains = ""
    if last is None:
        abstains = "gave no usable ballot"
    elif not last.informative:
        abstains = "is too small a model to judge"
    elif not last.choice:
        abstains = "abstained"
    if last is None or abstains:
        return Vote(judge=name, winner="", margin=0, abstains=abstains)
    return Vote(judge=name, winner=last.choice, margin=2, weight=seat_weight(debate, name))


def seat_weight(debate: Debate, seat: str) -> str:
    return str(debate.weights.get(find_own_seat(seat), 1))


def apply_voting_rule(debate: Debate, votes: Sequence[Vote], usual: Count) -> Count:
    """The count by the rule of the set-up, where it has one; otherwise the usual count as it is.

    The rule says who wins. A winner is `decided` where the usual count says so too, and `leaning` otherwise: that is
    what the labels are worth. Without a winner it is `contested` where votes are opposed, else `undecided`.
    """
    rule = debate.voting
    if rule is None:
        return usual
    cast = list_cast_votes(debate, votes)
    found = apply_rule(rule, cast, debate.names)
    if not found.is_reached:
        is_opposed = len({vote.choice for vote in cast if vote.choice and vote.weight > 0}) > 1
        return dataclasses.replace(usual, outcome="contested" if is_opposed else "undecided")
    if found.ahead == SYNTHESIS:
        return dataclasses.replace(build_winners_count(debate, votes, cast, found.ahead), outcome="synthesis")
    is_decided = usual.outcome == "decided" and usual.ahead == found.ahead
    return usual if is_decided else build_winners_count(debate, votes, cast, found.ahead)


def build_winners_count(
    debate: Debate, votes: Sequence[Vote], cast: Sequence[CastVote], winner: str
) -> Count:
    """The count from the view of who wins by a rule, which may not be who is strongest by independent voices."""
    asked, given = sum_weights(cast), sum_weights([vote for vote in cast if vote.choice])
    support = find_support("choice", cast, debate.names, winner)
    supporters = [seat for seat in list_seats(debate, votes) if seat.side == winner]
    return Count(
        "leaning",
        ahead=winner,
        support=support / asked,
        against=(given - support) / asked,
        voices=float(count_voices(supporters)),
    )


def build_agreed(debate: Debate, votes: Sequence[Vote], winner: str) -> Agreed:
    """That votes reached the rule in force for a side. `votes`: () where the moderator settled it."""
    if not votes:
        return Agreed(round=debate.round, consensus="settled", winner="")
    cast = list_cast_votes(debate, votes)
    count = build_count(debate.voting, cast, debate.names, winner)
    by_rule = apply_rule(debate.voting, cast, debate.names) if debate.voting else None
    support = find_support("choice", cast, debate.names, winner) / sum_weights(cast)
    consensus = by_rule.consensus if by_rule else classify_share(support)
    name = "" if winner == SYNTHESIS else winner
    return Agreed(round=debate.round, consensus=consensus, winner=name, count=count)


def list_cast_votes(debate: Debate, votes: Sequence[Vote]) -> list[CastVote]:
    """The votes with the order in which each voter holds positions to be right, and why a silent one is silent."""
    cast = []
    for vote, seat in zip(votes, list_seats(debate, votes), strict=True):
        answers = find_answers(debate, vote.judge)
        silence = None if seat.side else find_silence(debate, vote, answers)
        ranks = find_ranks(debate, answers) if seat.side and not vote.for_synthesis else {}
        cast.append(CastVote(seat.side, seat.weight, ranks, silence))
    return cast


def find_answers(debate: Debate, voter: str) -> list[Judged | Balloted]:
    """The readings of a judge once judges were heard, otherwise the last ballot of a voter."""
    if debate.judgments:
        return [judged for judged in list_judgments(debate) if judged.seat == voter]
    return [ballot for ballot in debate.last_ballots if ballot.seat == voter]


def find_ranks(debate: Debate, answers: Sequence[Judged | Balloted]) -> dict[str, Fraction]:
    """The sums of a voter's beliefs by position; {} where it gave none."""
    ranks = dict.fromkeys(debate.names, Fraction(0))
    for answer in answers:
        if isinstance(answer, Judged):
            beliefs = {belief.name: Fraction(belief.percent) for belief in answer.beliefs}
        else:
            beliefs = {share.name: share.value for share in answer.beliefs}
        if not beliefs:
            return {}
        ranks = {name: rank + beliefs[name] for name, rank in ranks.items()}
    return ranks


def find_silence(debate: Debate, vote: Vote, answers: Sequence[Judged | Balloted]) -> Silence:
    """Why a vote is for no position."""
    if vote.abstains == LOST_ORDER:
        return "inconsistent"
    if answers and not all(answer.informative for answer in answers):
        return "unreadable"
    readings = 2 if debate.judgments and debate.setup.judges.both_orders else 1
    if len(answers) == readings:
        return "abstained"
    causes = [failure.cause for failure in debate.failures if failure.seat == vote.judge]
    return "unreadable" if causes[-1:] == ["unreadable"] else "missing"


def describe_rule_in_force(debate: Debate, votes: Sequence[Vote]) -> str:
    """The rule of consensus, and whether these votes reached it; "" where they were counted as usual."""
    rule = debate.voting
    if rule is None:
        return ""
    found = apply_rule(rule, list_cast_votes(debate, votes), debate.names)
    reached = "reached" if found.is_reached else "not reached"
    who = f" by {found.ahead} with {found.share}" if found.ahead and found.ahead != SYNTHESIS else ""
    quorum = "" if found.has_quorum else ", too few cast"
    return f"{describe_rule(rule)}: {reached}{who}{quorum}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The votes of a debate beside those of its mirror. Margins are signed: for `side` above zero, against it below."""

    side: str  # the debater whose position both are measured for: who is ahead in the debate, else the first one
    ahead: str  # in the debate alone; "" for nobody, or a position made of the others
    mirror_ahead: str  # whose position is ahead in the mirror
    margin: Fraction
    mirror_margin: Fraction

    @property
    def agrees(self) -> bool:
        return bool(self.ahead) and self.ahead == self.mirror_ahead

    @property
    def is_reversed(self) -> bool:
        return bool(self.ahead and self.mirror_ahead) and self.ahead != self.mirror_ahead

    @property
    def position_effect(self) -> Fraction:
        """What the position is worth, whoever argues it: half the sum."""
        return (self.margin + self.mirror_margin) / 2

    @property
    def debater_effect(self) -> Fraction:
        """What came of who argued it: half the difference."""
        return (self.margin - self.mirror_margin) / 2


@once
def compare_mirror(debate: Debate) -> Comparison | None:
    """The debate beside its mirror; None where none was held."""
    if not isinstance(debate.mirror, MirrorHeld):
        return None
    votes = [compute_judge_vote(debate, judge) for judge in list_judges(debate)]
    half = len(votes) // 2
    own, other = list_seats(debate, votes[:half]), list_seats(debate, votes[half:])
    ahead, mirror_ahead = (count_votes(seats).ahead.replace(SYNTHESIS, "") for seats in (own, other))
    side = ahead or debate.names[0]
    return Comparison(side, ahead, mirror_ahead, compute_margin(own, side), compute_margin(other, side))


def compute_margin(seats: Sequence[Seat], side: str) -> Fraction:
    """The mean margin for a side by weight, against it below zero. Seats without a vote count as zero."""
    total = sum((seat.weight for seat in seats), Fraction(0))
    signed = (seat.weight * seat.margin * (1 if seat.side == side else -1) for seat in seats if seat.side)
    return sum(signed, Fraction(0)) / total if total else Fraction(0)
