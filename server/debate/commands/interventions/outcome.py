"""Which position turned out right."""

from server.debate.commands.interventions.request import Change, InterventionRequest
from server.debate.facts.errors import require, require_length
from server.debate.facts.interventions import OutcomeRecorded
from server.debate.facts.text import clean, clean_line
from server.debate.state.debate import Debate

OUTCOME, NOBODY = "outcome", "none"
"""The action for which the debate has to be over, and its word for no position."""

MAX_REASON_LENGTH = 1_000


def record_outcome(debate: Debate, request: InterventionRequest) -> Change:
    problem = "The debate is not over: what turns out right is recorded afterwards. Call get_verdict."
    require(debate.ended, problem)
    require(not debate.setup.needs_framing, "No positions were named, so that none can turn out right.")
    origin = debate.setup.mirror_of
    require(not origin, f"It is the mirror of {origin}: record the outcome there, and it counts for both.")
    truth, reason = find_position(debate, request.to), clean(request.reason)
    require_length("The reason has", len(reason), MAX_REASON_LENGTH)
    before = debate.outcome
    if before and (before.truth, before.reason) == (truth, reason):
        return [], "That outcome is recorded already."
    recorded = "It replaces the one recorded before" if before else "It is recorded"
    learnt = "what the ledger learns from it counts in debates that begin from now on"
    if debate.reused_turn_count:
        learnt = "the ledger learns nothing from it, since turns are those of another debate"
    effect = f"{recorded}; {learnt}."
    return [OutcomeRecorded(truth=truth)], effect


def find_position(debate: Debate, text: str) -> str:
    """The debater that a name or a stance is of; "" for "none"."""
    wanted, debaters = normalize(text), debate.setup.debaters
    found = [debater.name for debater in debaters if normalize(debater.name) == wanted]
    found = found or [debater.name for debater in debaters if wanted and normalize(debater.stance) == wanted]
    positions = "; ".join(f"{debater.name} ({debater.stance})" for debater in debaters)
    problem = "Pass in `to` who turned out right: a debater, the stance of one, or none."
    require(len(found) == 1 or wanted == NOBODY, f"{problem} Positions: {positions}.")
    return found[0] if found else ""


def normalize(text: str) -> str:
    return clean_line(text).rstrip(".").casefold()
