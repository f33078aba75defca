"""Which position turned out right, recorded after the end."""

from server.debate.facts.errors import require, require_length
from server.debate.facts.interventions import OutcomeRecorded
from server.debate.facts.text import clean, clean_line
from server.debate.interventions.action import Action, Change, Inheritance, InterventionRequest
from server.debate.rules.answers import check_name
from server.debate.state.debate import Debate

NOBODY = "none"
"""The word for no position."""

MAX_REASON_LENGTH = 1_000


class Outcome(Action[OutcomeRecorded]):
    name = "outcome"
    facts = (OutcomeRecorded,)
    when = "after_end"

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        problem = "The debate is not over: what turns out right is recorded afterwards. Call get_verdict."
        require(debate.ended, problem)
        require(not debate.setup.needs_framing, "No positions were named, so that none can turn out right.")
        origin = debate.setup.mirror_of
        require(
            not origin, f"It is the mirror of {origin}: record the outcome there, and it counts for both."
        )
        truth, reason = find_position(debate, request.to), clean(request.reason)
        require_length("The reason has", len(reason), MAX_REASON_LENGTH)
        before = debate.outcome
        if before and (before.truth, before.reason) == (truth, reason):
            return [], "That outcome is recorded already."
        recorded = "It replaces the one recorded before" if before else "It is recorded"
        learnt = "what the ledger learns from it counts in debates that begin from now on"
        if debate.reused_turn_count:
            learnt = "the ledger learns nothing from it, since turns are those of another debate"
        return [OutcomeRecorded(truth=truth)], f"{recorded}; {learnt}."

    def rebuild(self, fact: OutcomeRecorded) -> InterventionRequest:
        return InterventionRequest(to=fact.truth or NOBODY)

    def apply(self, debate: Debate, fact: OutcomeRecorded) -> Debate:
        check_name(debate, fact.truth)
        return debate

    def describe(self, fact: OutcomeRecorded) -> tuple[str, str]:
        return fact.truth, "turned out right" if fact.truth else "no position turned out right"

    def inherit(self, fact: OutcomeRecorded, fork: Inheritance) -> None:
        """How the parent ended says nothing of the fork."""
        del fact, fork


def find_position(debate: Debate, text: str) -> str:
    """The debater that a name or a stance is of; "" for "none", which no debater can be called."""
    wanted, debaters = normalize(text), debate.setup.debaters
    if wanted == NOBODY:
        return ""
    found = [debater.name for debater in debaters if normalize(debater.name) == wanted]
    found = found or [debater.name for debater in debaters if wanted and normalize(debater.stance) == wanted]
    positions = "; ".join(f"{debater.name} ({debater.stance})" for debater in debaters)
    problem = "Pass in `to` who turned out right: a debater, the stance of one, or none."
    require(len(found) == 1, f"{problem} Positions: {positions}.")
    return found[0]


def normalize(text: str) -> str:
    return clean_line(text).rstrip(".").casefold()
