"""Whether private ballots say that a debate need not be held, or need not go on.

Neither raises how sure a verdict is: agreement may be mere conformity, and no signal tells one from the other. Blind
ballots cannot conform, because nobody has seen another's; a talk that ends early is judged like any other.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from server.debate.arguments.points import has_said
from server.debate.ballots.similarity import choose_alike, find_likeness, list_round_ballots
from server.debate.ballots.waves import MIN_ROUNDS, find_wave
from server.debate.facts.beliefs import BLIND_WAVES, Converged, Share, TalkSkipped, format_share
from server.debate.facts.events import Balloted, BlockEnded, Event
from server.debate.facts.interventions import RoundsExtended, TextIntervention
from server.debate.facts.setup.phases import find_block
from server.debate.facts.setup.seats import WRITTEN
from server.debate.state.debate import Debate, replace
from server.debate.state.memo import once
from server.debate.votes.families import family

SURE = Fraction(9, 10)
"""The pooled belief at which a vote is sure, and a talk may end. On the recorded beliefs of judges of debates (Michael
et al. 2023) ending at .9 after round 2 or later loses no accuracy."""

STILL = Fraction(1, 20)
"""Movement below which a voter stays where it is. By itself it is no reason: ending a talk then loses accuracy."""

CLIP = Fraction(1, 20)
"""How close to 0 and 1 a single belief counts: voters are surer than they are right."""

MIN_FAMILIES = 2

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


def find_stop_reason(
    belief: Fraction, movement: Fraction | None, *, is_anything_new: bool, is_anything_open: bool
) -> StopReason:
    """Why a talk may end after a round that is not the first; "" where it goes on."""
    if belief >= SURE and not is_anything_open:
        return "sure"
    return "unmoved" if movement is not None and movement < STILL and not is_anything_new else ""


def find_agreement(debate: Debate) -> TalkSkipped | None:
    """That blind ballots are the verdict: all were given, agree, are sure, and come from two families of models."""
    if not debate.setup.skip_if_agreed or debate.round != 1 or debate.turns or debate.is_concluding:
        return None
    ballots = [ballot for ballot in debate.private_ballots if ballot.wave == "blind"]
    choices = {ballot.choice for ballot in ballots if ballot.informative}
    families = {family(ballot.usage.model) for ballot in ballots if ballot.usage.model not in WRITTEN}
    if len(ballots) < len(debate.names) or len(choices) != 1 or len(families) < MIN_FAMILIES:
        return None
    choice = choices.pop()
    belief = pool_belief(ballots, choice)
    if not choice or belief < SURE or not all(ballot.informative for ballot in ballots):
        return None
    return TalkSkipped(
        round=debate.round, choice=choice, belief=format_share(belief), families=tuple(sorted(families))
    )


def find_convergence(debate: Debate) -> Converged | None:
    """That the talk may end after this round, by the ballots of everybody after it; None where it goes on."""
    standing = find_standing(debate)
    if standing is None:
        return None
    likeness = None if standing.why or standing.is_open else find_likeness(debate)
    if not (standing.why or likeness):
        return None
    return Converged(
        round=debate.round,
        why=standing.why or "alike",
        movement="" if standing.movement is None else format_share(standing.movement),
        belief=format_share(standing.belief),
        leader=standing.leader,
        by=likeness.by if likeness else "",
        similarity=likeness.similarity if likeness else "",
    )


def wants_measurement(debate: Debate) -> bool:
    """Whether embeddings are to say if positions are alike: all choose the same, and nothing else ends the talk."""
    if debate.setup.meter is None:
        return False
    standing = find_standing(debate)
    is_undecided = standing is not None and not (standing.why or standing.is_open)
    return is_undecided and choose_alike(list_round_ballots(debate))


class Standing(NamedTuple):
    """What the ballots of everybody after a round say, besides whether they are alike."""

    why: StopReason
    belief: Fraction  # in the position that leads
    leader: str
    movement: Fraction | None
    is_open: bool  # somebody names an attack that nobody has answered, or no position leads


@once
def find_standing(debate: Debate) -> Standing | None:
    """None where the ballots cannot end the talk: too early, not of everybody, or somebody asked for more."""
    is_early = debate.talk_round_count < MIN_ROUNDS or debate.phase is None or not debate.phase.is_talk
    if debate.setup.stop == "off" or is_early or is_steered(debate):
        return None
    ballots = list_round_ballots(debate)
    if not ballots:
        return None
    belief, leader = max(
        ((pool_belief(ballots, name), name) for name in (*debate.names, "")), key=lambda b: b[0]
    )
    movement = find_movement(debate, ballots)
    is_open = any(ballot.open_point for ballot in ballots) or not leader
    is_new = any(ballot.new_point or is_moved_by_round(ballot) for ballot in ballots)
    why = find_stop_reason(belief, movement, is_anything_new=is_new, is_anything_open=is_open)
    return Standing(why, belief, leader, movement, is_open)


def is_steered(debate: Debate) -> bool:
    """Whether somebody asked in this round for more talk, or gave a text that no turn has answered yet."""
    asked = (*debate.find_interventions(RoundsExtended), *debate.find_interventions(TextIntervention))
    return any(made.round == debate.round for made in asked)


def is_moved_by_round(ballot: Balloted) -> bool:
    """Whether a turn of the round just held moved the voter."""
    return ballot.moved_by is not None and ballot.moved_by.round == ballot.round


def find_movement(debate: Debate, ballots: Sequence[Balloted]) -> Fraction | None:
    """The largest movement of a voter since its private ballot before; None where one has none by the same model."""
    movements = []
    for ballot in ballots:
        earlier = [b for b in debate.private_ballots if b.seat == ballot.seat and b.round < ballot.round]
        if not earlier or earlier[-1].usage.model != ballot.usage.model:
            return None
        movements.append(measure_movement(earlier[-1], ballot))
    return max(movements)


def find_ballot_problem(debate: Debate, ballot: Balloted) -> str:
    """Why a ballot is not possible; "" where it is."""
    if ballot.wave != find_wave(debate, ballot.slot_index):
        return "it belongs to another wave"
    if tuple(share.name for share in ballot.beliefs) != (*debate.names, ""):
        return "its beliefs are not one for each position and none"
    cited = ballot.moved_by
    if cited and (ballot.wave in BLIND_WAVES or not has_said(debate, cited)):
        return "it was moved by a turn that was never made"
    is_early = ballot.wave != "round" and bool(ballot.new_point or ballot.open_point)
    return "it says what was not asked for" if is_early else ""


def build_talk_skipped(debate: Debate) -> tuple[Event, ...]:
    """That the blind ballots are the verdict, once."""
    agreed = find_agreement(debate)
    return (agreed,) if agreed and debate.skipped is None else ()


def build_converged(debate: Debate) -> tuple[Event, ...]:
    """That the ballots after this round say that the talk may end, once."""
    found = find_convergence(debate)
    return (found,) if found and found not in debate.convergence else ()


def supersede_votes(debate: Debate) -> Debate:
    """The votes of this round do not count: they were given on a transcript with a turn that was retracted."""
    read = [vote for vote in debate.judgments if vote.round == debate.round]
    cast = [vote for vote in debate.ballots if vote.round == debate.round and vote.wave != "blind"]
    return replace(
        debate,
        judgments=tuple(vote for vote in debate.judgments if vote not in read),
        ballots=tuple(vote for vote in debate.ballots if vote not in cast),
        superseded=(*debate.superseded, *read, *cast),
        answered_slots=debate.answered_slots - {(vote.seat, vote.slot_index) for vote in (*read, *cast)},
    )


def find_block_problem(debate: Debate, event: BlockEnded) -> str:
    """Why no block of phases can end so now; "" where one can."""
    block = find_block(debate.setup.phases, debate.phase) if debate.phase else ()
    if not block or block[0].name != event.block or event.round != debate.round:
        return "no block ends here"
    is_recorded = any(ended.round == event.round for ended in debate.ended_blocks)
    return "it is recorded already" if is_recorded else ""
