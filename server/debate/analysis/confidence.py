"""How sure a verdict is, where the figure comes from, and what turned out right."""

from fractions import Fraction
from typing import Annotated

from pydantic import BaseModel, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from server.debate.analysis.beliefs import pool_beliefs
from server.debate.analysis.debates import format_weight, pool_judges, read_calibration
from server.debate.analysis.judgments import spread_belief
from server.debate.answer.count import describe_agreement, find_probability
from server.debate.answer.debates import build_panel, count_debate
from server.debate.answer.lines import UNMEASURED, describe_record
from server.debate.answer.sides import tell_side
from server.debate.facts.beliefs import Vote
from server.debate.facts.quoting import quote_heading
from server.debate.facts.setup.ledger import Standing
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate
from server.debate.votes.counting import UNKNOWN_WEIGHT, Count
from server.debate.votes.panel import (
    find_learnt_weight,
    find_ledger,
    find_voter_model,
    is_proven,
    list_judgments,
)

MOST_BELIEFS = 5


RECORDED = {"low": 0.4, "high": 0.98, "n": 419}
"""How often two agreeing judges of two families were right: on misleading items, on ordinary ones; number of items."""


REFERENCE_SCHEMA = {
    "type": "object",
    "properties": {"low": {"type": "number"}},
}


class Confidence(BaseModel):
    """How likely the position ahead is right, and where the figure comes from."""

    value: (
        Annotated[float, Field(description="0 to 1; left out before 20 settled items")] | SkipJsonSchema[None]
    ) = Field(default=None, exclude_if=lambda value: value is None)
    basis: str = ""
    beliefs: Annotated[list[str], Field(description="Pooled, the likeliest positions first")] = []
    reference: Annotated[dict[str, float], WithJsonSchema(REFERENCE_SCHEMA)] = Field(
        default_factory=dict, exclude_if=lambda reference: not reference
    )


def build_confidence(debate: Debate, votes: tuple[Vote, ...], count: Count) -> Confidence:
    """The confidence in the side ahead: a figure only from settled outcomes. No signal about the talk changes it."""
    if debate.setup.answering:
        return build_advice_confidence(debate)
    pooled = pool_judges(debate, votes)
    likeliest = sorted(pooled.beliefs.items(), key=lambda pair: -pair[1])[:MOST_BELIEFS]
    beliefs = [f"{name or 'none'}: {share:.2f}" for name, share in likeliest]
    reference = RECORDED if count.is_agreed_by_families else {}
    basis = describe_ledger(debate)
    if not (count.ahead in pooled.beliefs and pooled.calibrated_items):
        return Confidence(basis=basis, beliefs=beliefs, reference=reference)
    basis = f"The pooled belief of {format_count(pooled.judges, 'judge')}. {basis}"
    value = round(pooled.beliefs[count.ahead], 2)
    return Confidence(value=value, basis=basis, beliefs=beliefs, reference=reference)


def build_advice_confidence(debate: Debate) -> Confidence:
    """Of the answer format: what agreed with what, and a figure once outcomes were settled."""
    panel, count = build_panel(debate), count_debate(debate)
    return Confidence(
        value=compute_advice_confidence(debate),
        basis=f"{describe_agreement(panel, count)} {describe_record(list_standings(debate))}".lstrip(),
        reference=RECORDED if count.is_agreed_by_families else {},
    )


def compute_advice_confidence(debate: Debate) -> float | None:
    """The pooled belief of all who were asked in the side ahead, calibrated; None without enough settled items."""
    panel, count = build_panel(debate), count_debate(debate)
    calibration = read_calibration(debate.setup.ledger)
    if not (calibration.items and count.ahead):
        return None
    others = {vote.side for vote in count.votes} - {"", count.ahead}
    sides = (count.ahead, *(sorted(others) or ["another"]))
    asked = []
    for vote in count.votes:
        beliefs = None
        if vote.side and vote.seat in panel.readers:
            beliefs = spread_belief(sides, vote.side, Fraction(find_probability(panel, vote.seat), 100))
        asked.append((vote, beliefs))
    return round(pool_beliefs(asked, sides, calibration)[count.ahead], 2)


def list_standings(debate: Debate) -> tuple[Standing, ...]:
    """How often the advice of these models was right, once enough outcomes are known."""
    ledger = debate.setup.ledger
    return ledger.standings if ledger and ledger.calibrated_items else ()


def describe_ledger(debate: Debate) -> str:
    """What the ledger knew about the judges when the debate began."""
    ledger = debate.setup.ledger
    settled_votes = sum(standing.right + standing.wrong for standing in ledger.standings) if ledger else 0
    if ledger is None or not (settled_votes or ledger.calibrated_items):
        return UNMEASURED
    weights = (
        f"Weights from {format_count(settled_votes, 'settled vote')}" if settled_votes else "Equal weights"
    )
    if not ledger.calibrated_items:
        return f"{weights}; too few settled items to calibrate."
    return f"{weights}; calibrated on {format_count(ledger.calibrated_items, 'settled item')}."


def describe_learnt_weight(debate: Debate, voter: str) -> str:
    """The weight that the record of a judge gives its vote; "" without a ledger."""
    if find_ledger(debate) is None:
        return ""
    weight = format_weight(UNKNOWN_WEIGHT * find_learnt_weight(debate, voter))
    return f", learnt weight {weight}{' (proven)' if is_proven(debate, voter) else ''}"


def describe_outcome(debate: Debate) -> str:
    """The outcome recorded after the end; "" without one."""
    outcome = debate.outcome
    if outcome is None:
        return ""
    why = f" {quote_heading(outcome.reason)}" if outcome.reason else ""
    if outcome.wrong:
        return f"What was found turned out wrong.{why}"
    right = "no position"
    if outcome.truth and debate.setup.answering:
        right = tell_side(outcome.truth)
    elif outcome.truth:
        truth = debate.debater(outcome.truth)
        right = f"{truth.stance} ({truth.name})"
    return f"Turned out right: {right}.{why}"


def describe_vote(debate: Debate, vote: Vote) -> str:
    """A vote in a line: who, by which model, for whom, how clearly, and its weight."""
    answers = (*list_judgments(debate), *debate.last_ballots)
    models = dict.fromkeys(answer.usage.model for answer in answers if answer.seat == vote.judge)
    voter = f"{vote.judge} ({', '.join(models or [find_voter_model(debate, vote.judge)])})"
    weight = "" if vote.weight == "1" else f", weight {vote.weight}"
    weight += describe_learnt_weight(debate, vote.judge)
    if vote.abstains:
        return f"{voter} abstains: it {vote.abstains}"
    if not debate.judgments:
        return f"{voter} votes for {vote.winner}{weight}"
    side = "a position made of the others" if vote.for_synthesis else vote.winner
    if not side:
        return f"{voter}: no side{weight}"
    return f"{voter}: {side}, margin {vote.margin} of 3{weight}"
