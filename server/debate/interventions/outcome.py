"""Which position turned out right, recorded after the end."""

from server.debate.answer.debates import count_debate
from server.debate.answer.sides import OWN, tell_side
from server.debate.facts.errors import InvalidRequestError, check, require, require_length
from server.debate.facts.interventions import OutcomeRecorded
from server.debate.facts.text import clean, clean_line
from server.debate.interventions.action import Action, Change, Inheritance, InterventionRequest
from server.debate.state.debate import Debate
from server.debate.state.seats import check_name

NOBODY, RIGHT, WRONG = "none", "right", "wrong"
"""The words for no position, and for what the debate found."""

MAX_REASON_LENGTH = 1_000


class Outcome(Action[OutcomeRecorded]):
    name = "outcome"
    hint = "what turned out: right, wrong, none, or who was right (to)"
    facts = (OutcomeRecorded,)
    when = "after_end"

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        problem = "The debate has not ended. Record what turned out right when it has."
        require(debate.ended, problem)
        require(not debate.setup.needs_framing, "No positions were named, so that none can turn out right.")
        origin = debate.setup.mirror_of
        require(
            not origin, f"It is the mirror of {origin}: record the outcome there, and it counts for both."
        )
        fact, reason = find_outcome(debate, request.to), clean(request.reason)
        require_length("The reason has", len(reason), MAX_REASON_LENGTH)
        before = debate.outcome
        if before and (before.truth, before.wrong, before.reason) == (fact.truth, fact.wrong, reason):
            return [], "That outcome is recorded already."
        effect = "It replaces the one recorded before" if before else "It is recorded"
        ledger_effect = "what the ledger learns from it counts in debates that begin from now on"
        if debate.reused_turn_count:
            ledger_effect = "the ledger learns nothing from it, since turns are those of another debate"
        return [fact], f"{effect}; {ledger_effect}."

    def rebuild(self, fact: OutcomeRecorded) -> InterventionRequest:
        return InterventionRequest(to=WRONG if fact.wrong else fact.truth or NOBODY)

    def apply(self, debate: Debate, fact: OutcomeRecorded) -> Debate:
        if debate.setup.answering:
            check(fact.truth in ("", *list_sides(debate).values()), f"{fact.truth} is not a side")
        else:
            check_name(debate, fact.truth)
        check(
            not fact.wrong or bool(find_finding(debate) and not fact.truth), "nothing was found that is wrong"
        )
        return debate

    def describe(self, fact: OutcomeRecorded) -> tuple[str, str]:
        if fact.wrong:
            return "", "what was found turned out wrong"
        if fact.truth.startswith(OWN):
            return "", f"{tell_side(fact.truth)} turned out right"
        return fact.truth, "turned out right" if fact.truth else "no position turned out right"

    def inherit(self, fact: OutcomeRecorded, fork: Inheritance) -> None:
        """The parent's outcome says nothing about the fork."""


def find_outcome(debate: Debate, text: str) -> OutcomeRecorded:
    """What somebody says turned out right: a debater or a stance, an advisor's answer, none, or what was found."""
    name, finding = normalize(text), find_finding(debate)
    if name == NOBODY:
        return OutcomeRecorded(truth="")
    if (truth := list_sides(debate).get(name)) is not None:
        return OutcomeRecorded(truth=truth)
    if finding and name in (RIGHT, WRONG):
        return OutcomeRecorded(truth=finding if name == RIGHT else "", wrong=name == WRONG)
    words = ["right or wrong (what was found)"] if finding else []
    if debate.setup.answering:
        problem = "Say in `to` what turned out right: the advisor whose own answer it is"
        own = [tell_side(side) for side in list_own_sides(debate)]
        positions = f"Advisors: {', '.join(debate.names)}"
        positions += f". What reviewers advise themselves: {', '.join(own)}" if own else ""
    else:
        problem = "Say in `to` who turned out right: a debater, the stance of one"
        debaters = debate.setup.debaters
        positions = "Positions: " + "; ".join(f"{debater.name} ({debater.stance})" for debater in debaters)
    raise InvalidRequestError(f"{problem}, {', '.join([*words, 'or none'])}. {positions}.")


def list_sides(debate: Debate) -> dict[str, str]:
    """The positions of a debate by the words for them; in the answer format its sides, by whose answers they are."""
    if debate.setup.answering:
        blind, own = count_debate(debate).sides.blind, list_own_sides(debate)
        words = {tell_side(seat): side for seat, side in blind.items()}
        words |= {tell_side(side): side for side in own}
        words |= {**blind, **{side: side for side in own}}  # from which a fact of a file is rebuilt
        return {normalize(word): side for word, side in words.items()}
    debaters = debate.setup.debaters
    stances = [normalize(debater.stance) for debater in debaters]
    by_stance = {
        stance: debater.name
        for stance, debater in zip(stances, debaters, strict=True)
        if stance and stances.count(stance) == 1
    }
    return by_stance | {normalize(debater.name): debater.name for debater in debaters}


def list_own_sides(debate: Debate) -> list[str]:
    """The sides of the answer format that are nobody's answer, but what a reviewer advises."""
    held = count_debate(debate).sides.held.values()
    return [*dict.fromkeys(side for side in held if side.startswith(OWN))]


def find_finding(debate: Debate) -> str:
    """The position, or the side, that the debate is for; "" where it is for none."""
    if debate.setup.answering:
        return count_debate(debate).ahead
    return debate.verdict.winner if debate.verdict else ""


def normalize(text: str) -> str:
    return clean_line(text).rstrip(".").casefold()
