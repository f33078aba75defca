"""How sure a verdict is, how that was obtained, and what turned out right."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from server.debate.analysis.debates import compute_confidence, format_weight, pool_judges
from server.debate.facts.beliefs import Vote
from server.debate.facts.quoting import quote_heading
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


class Confidence(BaseModel):
    """How likely the position ahead is right, and how that was obtained."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    value: Annotated[float, Field(description="0 to 1; 0 where nobody is ahead")] = 0.0
    basis: str = ""
    beliefs: Annotated[list[str], Field(description="Pooled, the likeliest positions first")] = []


def build_confidence(debate: Debate, votes: tuple[Vote, ...], count: Count) -> Confidence:
    """The confidence in the side ahead. No signal of how the talk went moves it: none tells right from wrong."""
    pooled = pool_judges(debate, votes)
    ranked = sorted(pooled.beliefs.items(), key=lambda told: -told[1])[:MOST_BELIEFS]
    beliefs = [f"{name or 'none'}: {share:.2f}" for name, share in ranked]
    if not count.ahead:
        return Confidence(basis=f"Nobody is ahead. {describe_ledger(debate)}", beliefs=beliefs)
    parts = [f"the votes' {count.probability:.0%}"]
    if count.ahead in pooled.beliefs:
        told = format_count(pooled.judges, "judge")
        parts.insert(0, f"the pooled belief of {told}, {pooled.beliefs[count.ahead]:.0%}")
    smaller = "The smaller of " if len(parts) > 1 else "From "
    basis = f"{smaller}{' and '.join(parts)}. {describe_ledger(debate)}"
    return Confidence(value=round(compute_confidence(pooled, count), 2), basis=basis, beliefs=beliefs)


def describe_ledger(debate: Debate) -> str:
    """What was known of the judges when the debate began."""
    ledger = debate.setup.ledger
    settled = sum(standing.right + standing.wrong for standing in ledger.standings) if ledger else 0
    if ledger is None or not (settled or ledger.calibrated_items):
        return "Not calibrated: no settled outcomes are known of these judges."
    weights = f"Weights from {format_count(settled, 'settled vote')}" if settled else "Equal weights"
    if not ledger.calibrated_items:
        return f"{weights}; too few settled items to calibrate."
    return f"{weights}; calibrated on {format_count(ledger.calibrated_items, 'settled item')}."


def describe_learnt_weight(debate: Debate, voter: str) -> str:
    """What the record of a judge makes of its vote; "" where nothing was known of any."""
    if find_ledger(debate) is None:
        return ""
    weight = format_weight(UNKNOWN_WEIGHT * find_learnt_weight(debate, voter))
    return f", learnt weight {weight}{' (proven)' if is_proven(debate, voter) else ''}"


def describe_outcome(debate: Debate) -> str:
    """What was recorded after the end; "" where nothing was."""
    outcome = debate.outcome
    if outcome is None:
        return ""
    truth = debate.debater(outcome.truth) if outcome.truth else None
    right = f"{truth.stance} ({truth.name})" if truth else "no position"
    why = f" {quote_heading(outcome.reason)}" if outcome.reason else ""
    return f"Turned out right: {right}.{why}"


def vote_line(debate: Debate, vote: Vote) -> str:
    """A vote in a line: who, with which model, for whom, how clearly, and what it weighs."""
    answers = (*list_judgments(debate), *debate.last_ballots)
    models = dict.fromkeys(answer.usage.model for answer in answers if answer.seat == vote.judge)
    who = f"{vote.judge} ({', '.join(models or [find_voter_model(debate, vote.judge)])})"
    weight = "" if vote.weight == "1" else f", weight {vote.weight}"
    weight += describe_learnt_weight(debate, vote.judge)
    if vote.abstains:
        return f"{who} abstains: it {vote.abstains}"
    if not debate.judgments:
        return f"{who} votes for {vote.winner}{weight}"
    side = "a position made of the others" if vote.for_synthesis else vote.winner
    if not side:
        return f"{who}: no side{weight}"
    return f"{who}: {side}, margin {vote.margin} of 3{weight}"
