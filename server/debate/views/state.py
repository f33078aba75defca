"""The state of a debate: participants, progress, outcome and usage."""

from collections.abc import Sequence
from decimal import Decimal

from pydantic import BaseModel

from server.debate.facts.config import SeatKind
from server.debate.facts.events import Recorded, Usage
from server.debate.facts.state import Debate, judge_seats
from server.debate.prompts.transcript import debater_letter
from server.debate.rules.decide import format_wait_reason, pending_calls, status
from server.debate.views.warnings import failure_lines


class UsageSum(BaseModel):
    """The sum of the usage of several answers. `cost_usd` is a decimal, "" if no price is known."""

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: str
    calls_of_unknown_cost: int


class DebaterRow(BaseModel):
    name: str
    letter: str
    stance: str
    role: str
    model: str
    turns: int
    failures: int


class State(BaseModel):
    debate_id: str
    question: str
    format: str
    status: str
    reason: str
    phase: str
    round: int
    rounds_of_talk: int
    max_rounds: int
    debaters: list[DebaterRow]
    judges: list[str]
    awaiting: list[str]
    outcome: str
    winner: str
    verdict: str
    moderator_summary: str
    final_decision: str
    settled: bool
    turns: int
    failures: list[str]
    notes: int
    usage: UsageSum
    tags: list[str]
    forked_from: str
    forked_at_round: int
    opened_at: str
    changed_at: str
    entries: int


def is_visible(debate: Debate, seat_kind: SeatKind) -> bool:
    """Whether clients may see the answers of these seats."""
    return seat_kind not in debate.setup.hidden_from_client


def sum_usage(usages: Sequence[Usage]) -> UsageSum:
    known = [Decimal(usage.cost_usd) for usage in usages if usage.cost_usd]
    return UsageSum(
        calls=len(usages),
        input_tokens=sum(usage.input_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost_usd=f"{sum(known, Decimal()):f}" if known else "",
        calls_of_unknown_cost=len(usages) - len(known),
    )


def usage_by_model(debate: Debate) -> dict[str, UsageSum]:
    models = dict.fromkeys(usage.model for usage in debate.usage)
    return {model: sum_usage([u for u in debate.usage if u.model == model]) for model in models}


def build_state(debate_id: str, debate: Debate, entries: Sequence[Recorded]) -> State:
    setup = debate.setup
    return State(
        debate_id=debate_id,
        question=setup.question,
        format=setup.format,
        status=status(debate),
        reason=status_reason(debate),
        phase=debate.phase.name if debate.phase else "",
        round=debate.round,
        rounds_of_talk=debate.held_round_count,
        max_rounds=debate.max_rounds,
        debaters=[
            DebaterRow(
                name=d.name,
                letter=debater_letter(debate, d.name),
                stance=d.stance,
                role=d.role,
                model=d.model,
                turns=sum(turn.seat == d.name for turn in debate.turns),
                failures=count_failures(debate, d.name),
            )
            for d in setup.debaters
        ],
        judges=[
            f"{judge}: {model}" for judge, model in zip(judge_seats(setup), setup.judges.models, strict=True)
        ],
        moderator_summary=moderator_summary(debate),
        final_decision=debate.round_summaries[-1].decision if is_settled(debate) else "",
        settled=is_settled(debate),
        turns=len(debate.turns),
        awaiting=awaited_seats(debate),
        outcome=debate.verdict.outcome if debate.verdict else "",
        winner=debate.verdict.winner if debate.verdict else "",
        verdict=debate.verdict.verdict if debate.verdict else "",
        failures=failure_lines(debate),
        notes=len(debate.notes),
        usage=sum_usage(debate.usage),
        tags=list(setup.tags),
        forked_from=setup.forked_from,
        forked_at_round=setup.forked_at_round,
        opened_at=entries[0].at,
        changed_at=entries[-1].at,
        entries=debate.version,
    )


def count_failures(debate: Debate, seat: str) -> int:
    return sum(failure.seat == seat for failure in debate.all_failures)


def moderator_summary(debate: Debate) -> str:
    """The moderator's latest summary; "" if there is none, or if it is hidden."""
    return (
        debate.round_summaries[-1].summary
        if debate.round_summaries and is_visible(debate, "moderator")
        else ""
    )


def is_settled(debate: Debate) -> bool:
    """Whether the moderator settled the question."""
    return bool(debate.round_summaries) and debate.round_summaries[-1].settled


def status_reason(debate: Debate) -> str:
    """Why the debate ended, paused or waits; "" while it runs."""
    if debate.ended:
        return debate.ended.reason
    if debate.paused:
        return debate.paused.reason
    return format_wait_reason(pending_calls(debate)) if status(debate) == "waiting" else ""


def fork_origin_line(debate: Debate) -> str:
    """Where a fork comes from, and that its inherited rounds cost nothing again; "" for other debates."""
    setup = debate.setup
    if not setup.forked_from:
        return ""
    where = f"after round {setup.forked_at_round}" if setup.forked_at_round else "before its first round"
    return f"Forked from {setup.forked_from} {where}; what that past cost is counted there."


def awaited_seats(debate: Debate) -> list[str]:
    return list(dict.fromkeys(call.seat for call in pending_calls(debate)))
