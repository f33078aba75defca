"""What a debate looks like from outside, as data. Markdown is made from it in `markdown`."""

import json
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict

from server.debate.facts.config import SYNTHESIZER, SeatKind
from server.debate.facts.events import Judged, Recorded, RoundOpened, Usage, Vote
from server.debate.facts.state import Debate, RoundPlan, judge_seats, phase_seats
from server.debate.facts.text import format_count, shorten_to_bytes
from server.debate.prompts.transcript import debater_letter
from server.debate.rules.decide import format_wait_reason, pending_calls, status
from server.debate.rules.schedule import is_exhausted, last_ballot_phase, slot_failures
from server.debate.views.warnings import failure_lines, find_verdict_warnings

MAX_DISSENT_LENGTH = 600
"""Bytes of each dissent in a verdict; the record has it whole."""


class Turn(BaseModel):
    """One turn, in the shape of requirement C11."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    round: int
    phase: str
    agent: str
    stance: str
    text: str
    act: str = "argument"
    to: str = ""  # whom a message, or its answer, is for
    retracted: bool = False  # taken back; nobody was shown it from then on


class UsageSum(BaseModel):
    """What answers took together. `cost_usd` is a decimal, "" where no price is known."""

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


class Verdict(BaseModel):
    """The finding and what to make of it. Empty fields where there is none yet."""

    outcome: str = ""
    winner: str = ""  # a debater's name
    winner_stance: str = ""
    verdict: str = ""
    reasoning: str = ""
    votes: list[str] = []
    ballots: list[str] = []
    dissent: list[str] = []
    cautions: list[str] = []
    deliverable: Any = ""  # the synthesizer's result: text, or JSON of the schema asked for
    deliverable_problem: str = ""  # why there is none


def is_visible(debate: Debate, seat_kind: SeatKind) -> bool:
    """Whether what these seats said is for the client's eyes."""
    return seat_kind not in debate.setup.hidden_from_client


def turns(debate: Debate, since_round: int = 0) -> list[Turn]:
    """The transcript from a round on, each round in the order in which it is read."""
    if not is_visible(debate, "debaters"):
        return []
    return [
        Turn(
            round=fact.round,
            phase=debate.rounds[fact.round - 1].phase,
            agent=fact.seat,
            stance=debate.debater(fact.seat).stance,
            text=fact.text,
            act=fact.act,
            to=fact.to,
            retracted=not debate.is_active(fact),
        )
        for number in range(max(since_round, 1), debate.round + 1)
        for fact in debate.transcript_turns(number)
    ]


def judgments(debate: Debate) -> list[Judged]:
    """Each reading, the first ones first, whatever order they arrived in."""
    if not is_visible(debate, "judges"):
        return []
    return sorted(debate.judgments, key=lambda judged: (judged.slot_index, judged.seat))


def raw_result(debate: Debate) -> dict[str, Any]:
    """The whole outcome as plain data (requirement C11), with what only some formats have."""
    verdict = build_verdict(debate)
    found: dict[str, Any] = {
        "rounds": debate.held_round_count,
        "question": debate.setup.question,
        "transcript": [turn.model_dump(exclude_defaults=True) for turn in turns(debate)],
        "verdict": {
            "verdict": verdict.verdict,
            "winner": verdict.winner_stance or None,
            "reasoning": verdict.reasoning,
        },
        "moderatorDecisions": [
            moderator_decision(made) for made in debate.round_plans if is_visible(debate, "moderator")
        ],
    }
    if debate.round_summaries:
        closed = debate.round_summaries[-1]
        found["settlement"] = {
            "settled": closed.settled,
            "summary": moderator_summary(debate),
            "decision": closed.decision if closed.settled else "",
        }
    if debate.ballots:
        found["ballots"] = tally_ballots(debate)
    if debate.setup.synthesizer:
        found["deliverable"] = verdict.deliverable
    return found


def moderator_decision(round_plan: RoundPlan) -> dict[str, Any]:
    chosen = round_plan if isinstance(round_plan, RoundOpened) else None
    return {
        "round": round_plan.round,
        "nextSpeakers": list(round_plan.next_speakers),
        "briefing": (chosen and chosen.briefing) or None,
        "newAngle": (chosen and chosen.new_angle) or None,
        "done": bool(chosen and chosen.done),
    }


def tally_ballots(debate: Debate) -> dict[str, Any]:
    """The ballots by stance. Missing and unreadable ones are counted as that, never as votes."""
    cast = debate.last_ballots
    last = last_ballot_phase(debate.setup)
    seats = phase_seats(debate.setup, last) if last else ()
    counting = [ballot for ballot in cast if ballot.informative]
    found = Counter(debate.debater(ballot.choice).stance for ballot in counting if ballot.choice)
    votes = {debater.stance: found[debater.stance] for debater in debate.setup.debaters}
    return {
        "votes": {stance: count for stance, count in votes.items() if count},
        "abstained": sum(not ballot.choice for ballot in counting),
        "not counted": len(cast) - len(counting),  # of models too small for their votes to mean anything
        "missing": len(seats) - len(cast),
    }


def ballot_lines(debate: Debate) -> list[str]:
    if not debate.ballots:
        return []
    found = tally_ballots(debate)
    lines = [f"{stance}: {format_count(count, 'vote')}" for stance, count in found["votes"].items()]
    lines += [f"{word}: {found[word]}" for word in ("abstained", "not counted", "missing") if found[word]]
    return lines


def usage_sum(usages: Sequence[Usage]) -> UsageSum:
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
    return {model: usage_sum([u for u in debate.usage if u.model == model]) for model in models}


def build_state(debate_id: str, debate: Debate, log: Sequence[Recorded]) -> State:
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
        usage=usage_sum(debate.usage),
        tags=list(setup.tags),
        forked_from=setup.forked_from,
        forked_at_round=setup.forked_at_round,
        opened_at=log[0].at,
        changed_at=log[-1].at,
        entries=debate.version,
    )


def count_failures(debate: Debate, seat: str) -> int:
    return sum(failure.seat == seat for failure in debate.all_failures)


def moderator_summary(debate: Debate) -> str:
    """Where the debate stands, as the moderator last put it."""
    return (
        debate.round_summaries[-1].summary
        if debate.round_summaries and is_visible(debate, "moderator")
        else ""
    )


def is_settled(debate: Debate) -> bool:
    """Whether the moderator has settled the question."""
    return bool(debate.round_summaries) and debate.round_summaries[-1].settled


def status_reason(debate: Debate) -> str:
    """Why the debate stands where it stands; "" while it is on its way."""
    if debate.ended:
        return debate.ended.reason
    if debate.paused:
        return debate.paused.reason
    return format_wait_reason(pending_calls(debate)) if status(debate) == "waiting" else ""


def fork_origin_line(debate: Debate) -> str:
    """What a fork has its past from, and that it is not paid for twice; "" for a debate that is none."""
    setup = debate.setup
    if not setup.forked_from:
        return ""
    where = f"after round {setup.forked_at_round}" if setup.forked_at_round else "before its first round"
    return f"Forked from {setup.forked_from} {where}; what that past cost is counted there."


def awaited_seats(debate: Debate) -> list[str]:
    return list(dict.fromkeys(call.seat for call in pending_calls(debate)))


def build_verdict(debate: Debate) -> Verdict:
    """The verdict with its dissent and what weakens it; empty as long as there is none."""
    found = debate.verdict
    result, problem = find_deliverable(debate)
    if found is None:
        said = find_verdict_warnings(debate) if result else []
        return Verdict(cautions=said, deliverable=result, deliverable_problem=problem)
    return Verdict(
        outcome=found.outcome,
        winner=found.winner,
        winner_stance=winner_stance(debate),
        verdict=found.verdict,
        reasoning=found.reasoning,
        votes=[vote_line(debate, vote.judge) for vote in found.votes],
        ballots=ballot_lines(debate),
        dissent=dissent(debate),
        cautions=find_verdict_warnings(debate),
        deliverable=result,
        deliverable_problem=problem,
    )


def winner_stance(debate: Debate) -> str:
    """What the winner defends; "" where nobody won, or not yet."""
    found = debate.verdict
    return debate.debater(found.winner).stance if found and found.winner else ""


def find_deliverable(debate: Debate) -> tuple[Any, str]:
    """(the synthesizer's result or "", why there is none)."""
    if debate.deliverable and is_visible(debate, "synthesizer"):
        text = debate.deliverable.text
        return (json.loads(text) if debate.setup.output_schema else text), ""
    place = (SYNTHESIZER, 0)
    if debate.phase and debate.phase.participants == "synthesizer" and is_exhausted(debate, place):
        return "", slot_failures(debate, place)[-1].detail
    return "", ""


def vote_line(debate: Debate, judge: str) -> str:
    assert debate.verdict is not None
    vote = next(v for v in debate.verdict.votes if v.judge == judge)
    models = ", ".join(dict.fromkeys(j.usage.model for j in debate.judgments if j.seat == judge))
    who = f"{judge} ({models})" if models else judge
    if vote.abstains:
        return f"{who} abstains: it {vote.abstains}"
    if not debate.judgments:
        return f"{who} votes for {vote.winner}{weight_suffix(vote)}"
    return f"{who}: {vote.winner or 'no side'}, margin {vote.margin} of 3{weight_suffix(vote)}"


def weight_suffix(vote: Vote) -> str:
    return "" if vote.weight == "1" else f", weight {vote.weight}"


def dissent(debate: Debate) -> list[str]:
    """What judges said who voted for another side than the one that prevailed."""
    assert debate.verdict is not None
    others = [v.judge for v in debate.verdict.votes if not v.abstains and v.winner != debate.verdict.winner]
    firsts = [judged for judged in judgments(debate) if judged.slot_index == 1 and judged.seat in others]
    return [f"{judged.seat}: {shorten_to_bytes(judged.verdict, MAX_DISSENT_LENGTH)}" for judged in firsts]
