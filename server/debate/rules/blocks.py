"""Blocks of phases: when a block is held again, and why it ended.

A pass over a block is completed, and then looked at: consensus, the moderator's word, the limit. What ends the whole
talk (a request, a budget, `max_rounds`) ends its blocks too.
"""

from server.debate.facts.causes import EndCause
from server.debate.facts.config import Phase
from server.debate.facts.events import RoundOpened
from server.debate.facts.state import Debate, find_block, phase_seats
from server.debate.rules.counting import count_votes
from server.debate.rules.verdict import compute_ballot_vote, list_seats


def find_block_end(debate: Debate, phase: Phase) -> EndCause | None:
    """Why a block is not held again after this phase, its last; None where it is."""
    block = phase.block
    assert block is not None
    if recorded := next((ended for ended in debate.ended_blocks if ended.round == debate.round), None):
        return recorded.cause
    start = max(entered.round for entered in debate.rounds if entered.phase == block.first)
    if block.until == "consensus" and has_consensus(debate):
        return "consensus"
    if block.until == "moderator" and (cause := find_moderator_cause(debate, start)):
        return cause
    if sum(entered.phase == phase.name for entered in debate.rounds) >= block.limit:
        return "block_limit"
    return "max_rounds" if debate.talk_round_count >= debate.max_rounds else None


def has_consensus(debate: Debate) -> bool:
    """Whether the last vote is decided or leaning, counted as every vote is. Every pass of such a block holds one."""
    phases = (debate.round_phase(entered.round) for entered in reversed(debate.rounds))
    seats = phase_seats(debate.setup, next(phase for phase in phases if phase.wants == "ballot"))
    votes = tuple(compute_ballot_vote(debate, seat) for seat in seats)
    count = count_votes(list_seats(debate, votes), threshold=debate.threshold)
    return count.outcome in ("decided", "leaning")


def find_moderator_cause(debate: Debate, since_round: int) -> EndCause | None:
    """How the moderator ended a block since that round: by settling the question, or by opening a last round."""
    if any(closed.settled for closed in debate.round_summaries if closed.round >= since_round):
        return "settled"
    opened = (plan for plan in debate.round_plans if plan.round >= since_round)
    return "moderator_done" if any(isinstance(plan, RoundOpened) and plan.done for plan in opened) else None


def is_in_moderated_block(debate: Debate, phase: Phase) -> bool:
    """Whether the moderator's word ends the block that this phase is in, and not the talk."""
    block = find_block(debate.setup.phases, phase)
    return bool(block) and block[-1].block is not None and block[-1].block.until == "moderator"
