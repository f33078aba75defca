"""The votes of a debate's seats, and what the rule of consensus in force finds in them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from server.debate.facts.answers import Usage
from server.debate.facts.beliefs import Agreed, Belief, Vote
from server.debate.facts.escalation import MirrorHeld
from server.debate.facts.events import Compared, Judged
from server.debate.facts.setup.ledger import LedgerExtract
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.memo import once
from server.debate.state.seats import candidate_models, current_model, phase_seats
from server.debate.votes.consensus import apply_voting_rule, build_vote_count, classify_share, compute_support
from server.debate.votes.counting import (
    APART,
    SYNTHESIS,
    UNKNOWN_WEIGHT,
    Count,
    CountedVote,
    Silence,
    count_votes,
    sum_weights,
)
from server.debate.votes.voters import list_readings, verdict_source

RELEASE = re.compile(r"[-@][0-9]{3,}[0-9-]*$|:latest$")
"""What a provider appends to the name of a model in its answers, as "-2026-01-31" or "-0613"."""

NO_ANSWER, NO_BALLOT = "gave no usable answer", "gave no usable ballot"
ONE_ORDER = "answered in one of the two orders only"
TOO_SMALL = "is too small a model to judge"
LOST_ORDER = "found for another side when positions, labels and order were turned"
LOST_ADVICE = "advised something else when positions, labels and order were turned"

SILENCES: dict[str, Silence] = {
    **dict.fromkeys((NO_ANSWER, NO_BALLOT, ONE_ORDER), "missing"),
    TOO_SMALL: "unreadable",
    **dict.fromkeys((LOST_ORDER, LOST_ADVICE), "inconsistent"),
}
"""What a rule of consensus calls it, by why a vote does not count; for anything else it abstained."""


MIRROR_PREFIX = "mirror "
"""The prefix of the seats of judges in the mirror, where their votes are counted with the others."""


def find_own_seat(voter: str) -> str:
    """The seat in this debate that a voter stands for: a judge in the mirror stands for the judge of its name."""
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
    """All readings of judges. Those of the mirror name the debaters who hold the position here, not who argued it."""
    if not isinstance(debate.mirror, MirrorHeld):
        return debate.judgments
    owners = list_mirrored_names(debate) | {"": ""}
    order = (*debate.names, "")
    mirrored = []
    for reading in debate.mirror.readings:
        percents = {owners[belief.name]: belief.percent for belief in reading.beliefs}
        beliefs = tuple(Belief(name=name, percent=percents[name]) for name in order if percents)
        judgment = Judged(
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
            recommendation="a position of its own" if reading.for_synthesis else "",
            informative=reading.informative,
        )
        mirrored.append(judgment)
    return (*debate.judgments, *mirrored)


def weigh_votes(debate: Debate, votes: Iterable[Vote]) -> tuple[CountedVote, ...]:
    """Recorded votes as they are counted."""
    return tuple(weigh_vote(debate, vote) for vote in votes)


def weigh_vote(debate: Debate, vote: Vote) -> CountedVote:
    side = find_side(debate, vote)
    return CountedVote(
        vote.judge,
        find_voter_model(debate, vote.judge),
        side,
        vote.margin,
        find_weight(debate, vote.judge),
        is_proven=is_proven(debate, vote.judge),
        abstains=vote.abstains,
        silence=None if side and not side.startswith(APART) else find_silence(debate, vote),
    )


def find_silence(debate: Debate, vote: Vote) -> Silence:
    """Why a vote is for no position. A reply that nobody could read is not the same as none."""
    silence = SILENCES.get(vote.abstains, "abstained")
    causes = [failure.cause for failure in debate.failures if failure.seat == vote.judge]
    return "unreadable" if silence == "missing" and causes[-1:] == ["unreadable"] else silence


def find_weight(debate: Debate, voter: str) -> Fraction:
    """What a vote weighs: as somebody said, by the record of its judge."""
    return debate.weights.get(find_own_seat(voter), Fraction(1)) * find_learnt_weight(debate, voter)


def find_side(debate: Debate, vote: Vote) -> str:
    if vote.abstains:
        return ""
    return group_own_advice(debate).get(vote.judge, SYNTHESIS) if vote.for_synthesis else vote.winner


def list_own_readings(debate: Debate) -> list[Judged]:
    """The readings of the judges who in all of theirs advise something that is none of the positions."""
    return [
        reading
        for judge in judge_seats(debate.setup)
        if advises_own(debate, judge)
        for reading in list_readings_of(debate, judge)
    ]


def advises_own(debate: Debate, judge: str) -> bool:
    return has_answered(debate, judge) and all(
        reading.informative and reading.recommendation and not reading.winner
        for reading in list_readings_of(debate, judge)
    )


def list_own_groups(debate: Debate) -> dict[str, set[str]]:
    """Where what each of these judges advises belongs: as it was compared; uncompared it is nobody else's."""
    groups: dict[str, set[str]] = {
        judge: {judge} for judge in list_judges(debate) if advises_own(debate, judge)
    }
    if debate.comparison:
        readings = list_own_readings(debate)
        groups |= {reading.seat: set() for reading in readings}
        for reading, number in zip(readings, debate.comparison.groups, strict=True):
            groups[reading.seat].add(str(number))
    return groups


@once
def group_own_advice(debate: Debate) -> dict[str, str]:
    """The side of each judge with advice of its own: `SYNTHESIS` for the advice of most of them.

    As long as it is not known whether it is the same, and a finding hangs on that, there is no such advice.
    """
    groups = {judge: "".join(own) for judge, own in list_own_groups(debate).items() if len(own) == 1}
    largest = Counter(groups.values()).most_common(2)
    has_leader = len(largest) == 1 or (len(largest) > 1 and largest[0][1] > largest[1][1])
    is_known = debate.comparison is not None or not wants_comparison(debate)
    leader = largest[0][0] if has_leader and is_known else None
    return {judge: SYNTHESIS if group == leader else f"{APART}{judge}" for judge, group in groups.items()}


def wants_comparison(debate: Debate) -> bool:
    """Whether a finding hangs on whether pieces of advice are the same, which are none of the positions."""
    own = list_own_readings(debate)
    if len(own) < 2:  # noqa: PLR2004  (one is the same as itself)
        return False
    votes = [compute_judge_vote(debate, judge) for judge in judge_seats(debate.setup)]
    names = {reading.seat for reading in own}
    own_weight = sum((find_weight(debate, name) for name in names), Fraction(0))
    others = sum((find_weight(debate, vote.judge) for vote in votes if vote.winner), Fraction(0))
    return own_weight > others or debate.voting is not None


def find_comparison_problem(debate: Debate, event: Compared) -> str:
    """Why a comparison is impossible; "" where it numbers a group for each piece of advice, the first one first."""
    first_places = [event.groups.index(number) for number in event.groups]
    numbers = {place: number for number, place in enumerate(sorted(set(first_places)))}
    is_fit = [numbers[place] for place in first_places] == [*event.groups]
    is_whole = len(event.groups) == len(list_own_readings(debate))
    return "" if is_fit and is_whole else "it is no comparison of what judges advise"


def find_learnt_weight(debate: Debate, voter: str) -> Fraction:
    """How much the record of a judge weighs its vote; 1 for a judge whose record is not known."""
    ledger = find_ledger(debate)
    model = find_rated_model(debate, voter, find_voter_model(debate, voter))
    weight = ledger.find_weight(model) if ledger else None
    return Fraction(1) if weight is None else weight / UNKNOWN_WEIGHT


def is_proven(debate: Debate, voter: str) -> bool:
    """Whether the record of a judge is good enough for it to decide alone."""
    ledger = find_ledger(debate)
    model = find_rated_model(debate, voter, find_voter_model(debate, voter))
    return ledger is not None and ledger.is_proven(model)


def find_rated_model(debate: Debate, seat: str, answering_model: str) -> str:
    """The model in the ledger that answered: the model asked for, if the answer names a release of it."""
    base = RELEASE.sub("", answering_model)
    return base if base in candidate_models(debate, find_own_seat(seat)) else answering_model


def find_ledger(debate: Debate) -> LedgerExtract | None:
    """The ledger's records, if judges make the verdict: it rates judges who read twice, no other voters."""
    are_judges = verdict_source(debate.setup) == "judges"
    return debate.setup.ledger if are_judges else None


@once
def list_wanted_readings(debate: Debate) -> dict[str, tuple[int, ...]]:
    """The readings that each judge is asked for, those of the mirror included, once the first ones are over."""
    judges, both_orders = list_judges(debate), debate.setup.judges.both_orders
    own = judge_seats(debate.setup)
    panels = filter(None, (own, judges[len(own) :]))
    return {
        judge: numbers
        for panel in panels
        for judge, numbers in list_readings(panel, list_judgments(debate), both_orders=both_orders).items()
    }


def list_readings_of(debate: Debate, judge: str) -> list[Judged]:
    """The readings of a judge, the first one first."""
    readings = [judgment for judgment in list_judgments(debate) if judgment.seat == judge]
    first = list_wanted_readings(debate)[judge][:1]
    return sorted(readings, key=lambda judgment: judgment.slot_index not in first)


def has_answered(debate: Debate, voter: str) -> bool:
    """Whether a voter gave every reading that was asked for, or its last ballot."""
    if verdict_source(debate.setup) != "judges":
        return any(ballot.seat == voter for ballot in debate.last_ballots)
    return len(list_readings_of(debate, voter)) >= len(list_wanted_readings(debate)[voter])


def find_voter_model(debate: Debate, voter: str) -> str:
    """The model that answered for a voter, or the one that is asked."""
    votes = (vote for vote in (*list_judgments(debate), *debate.last_ballots) if vote.seat == voter)
    return next((vote.usage.model for vote in votes), current_model(debate, find_own_seat(voter)))


def compute_judge_vote(debate: Debate, judge: str) -> Vote:
    """The vote of a judge from all its readings."""
    readings = list_readings_of(debate, judge)
    winners = {judgment.winner for judgment in readings}
    abstains = ""
    if not readings:
        abstains = NO_ANSWER
    elif not all(judgment.informative for judgment in readings):
        abstains = TOO_SMALL
    elif len(readings) < len(list_wanted_readings(debate)[judge]):
        abstains = ONE_ORDER
    elif len(winners) > 1:
        abstains = LOST_ORDER
    elif debate.comparison and len(list_own_groups(debate).get(judge, ())) > 1:
        abstains = LOST_ADVICE
    if abstains:
        return Vote(judge=judge, winner="", margin=0, abstains=abstains)
    winner = winners.pop()
    return Vote(
        judge=judge,
        winner=winner,
        margin=min(judgment.margin for judgment in readings),
        weight=seat_weight(debate, judge),
        for_synthesis=not winner and all(judgment.recommendation for judgment in readings),
    )


def compute_ballot_vote(debate: Debate, name: str) -> Vote:
    """The vote of a seat in the last vote. Ballots have no margin: each counts as clear."""
    ballot = next((cast for cast in debate.last_ballots if cast.seat == name), None)
    if ballot and ballot.informative and ballot.choice:
        return Vote(judge=name, winner=ballot.choice, margin=2, weight=seat_weight(debate, name))
    abstains = NO_BALLOT
    if ballot:
        abstains = "abstained" if ballot.informative else TOO_SMALL
    return Vote(judge=name, winner="", margin=0, abstains=abstains)


def seat_weight(debate: Debate, seat: str) -> str:
    return str(debate.weights.get(find_own_seat(seat), 1))


def build_agreed(debate: Debate, votes: Sequence[CountedVote], winner: str) -> Agreed:
    """The fact that votes reached the rule in force. `votes`: () where the moderator settled the question."""
    if not votes:
        return Agreed(round=debate.round, consensus="settled", winner="")
    return Agreed(
        round=debate.round,
        consensus=classify_share(compute_support(votes, winner) / sum_weights(votes)),
        winner="" if winner == SYNTHESIS else winner,
        count=build_vote_count(debate.voting, votes, debate.names, winner),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """The votes of a debate beside those of its mirror. Margins above zero are for `side`, below zero against it."""

    side: str  # the debater whose position the margins are about: who is ahead in the debate, else the first one
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
        """How much the position counts, whoever argues it: half the sum."""
        return (self.margin + self.mirror_margin) / 2

    @property
    def debater_effect(self) -> Fraction:
        """How much the debater who argues it counts: half the difference."""
        return (self.margin - self.mirror_margin) / 2


@once
def compare_mirror(debate: Debate) -> Comparison | None:
    """The debate beside its mirror; None without a mirror."""
    if not isinstance(debate.mirror, MirrorHeld):
        return None
    votes = [compute_judge_vote(debate, judge) for judge in list_judges(debate)]
    half = len(votes) // 2
    here, in_mirror = weigh_votes(debate, votes[:half]), weigh_votes(debate, votes[half:])
    ahead, mirror_ahead = (count_votes(panel).ahead.replace(SYNTHESIS, "") for panel in (here, in_mirror))
    side = ahead or debate.names[0]
    return Comparison(side, ahead, mirror_ahead, compute_margin(here, side), compute_margin(in_mirror, side))


def compute_margin(votes: Sequence[CountedVote], side: str) -> Fraction:
    """The mean margin for a side by weight, against it below zero. Who has no vote counts as zero."""
    total = sum_weights(votes)
    signed = (vote.weight * vote.margin * (1 if vote.side == side else -1) for vote in votes if vote.side)
    return sum(signed, Fraction(0)) / total if total else Fraction(0)


def count_last_vote(debate: Debate) -> Count:
    """The count of the last vote, counted as every vote is. Every pass of a block until consensus holds one."""
    phases = (debate.round_phase(entered.round) for entered in reversed(debate.rounds))
    seats = phase_seats(debate.setup, next(phase for phase in phases if phase.is_vote))
    votes = weigh_votes(debate, [compute_ballot_vote(debate, seat) for seat in seats])
    threshold = None if debate.voting else debate.threshold
    return apply_voting_rule(debate.voting, count_votes(votes, threshold=threshold))
