"""What a debate looks like from outside, as data. Markdown is made from it in `markdown`."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from server.debate.events import (
    Failed,
    Intervened,
    Judged,
    Paused,
    Recorded,
    Resumed,
    Spoke,
    Usage,
)
from server.debate.interventions import ACTIONS
from server.debate.prompts import letter_of
from server.debate.rules import pending, round_is_over
from server.debate.state import Debate, judges
from server.debate.text import counted, shortened

LONGEST_DISSENT = 600
"""Bytes of each dissent in a verdict; the record has it whole."""


class Turn(BaseModel):
    """One thing said, in the shape of requirement C11."""

    round: int
    phase: str
    agent: str
    stance: str
    text: str


class UsageSum(BaseModel):
    """What answers took together. `cost_usd` is a decimal, "" where no price is known."""

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: str
    calls_of_unknown_cost: int


class Seat(BaseModel):
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
    debaters: list[Seat]
    judges: list[str]
    awaiting: list[str]
    outcome: str
    winner: str
    verdict: str
    failures: list[str]
    notes: int
    usage: UsageSum
    tags: list[str]
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
    dissent: list[str] = []
    cautions: list[str] = []


class InterventionRow(BaseModel):
    seq: int
    at: str
    actor: str
    action: str
    reason: str
    text: str
    to: str


def turns(debate: Debate, since_round: int = 0) -> list[Turn]:
    """The transcript from a round on, each round in the order in which it is read."""
    return [
        Turn(
            round=fact.round,
            phase=debate.rounds[fact.round - 1].phase,
            agent=fact.seat,
            stance=debate.debater(fact.seat).stance,
            text=fact.text,
        )
        for number in range(max(since_round, 1), debate.round + 1)
        for fact in in_order(debate, number)
    ]


def in_order(debate: Debate, number: int) -> Sequence[Spoke]:
    """The turns of a round: as spoken where one answered another, in reading order where none did."""
    if debate.phase_of(number).order == "declared":
        return [turn for turn in debate.turns if turn.round == number]
    return debate.turns_of(number)


def judgments(debate: Debate) -> list[Judged]:
    """Each reading, the first ones first, whatever order they arrived in."""
    return sorted(debate.judged, key=lambda judged: (judged.reading, judged.seat))


def raw_result(debate: Debate) -> dict[str, Any]:
    """The whole outcome as plain data (requirement C11)."""
    verdict = verdict_of(debate)
    return {
        "rounds": debate.talk_rounds,
        "question": debate.setup.question,
        "transcript": [turn.model_dump() for turn in turns(debate)],
        "verdict": {
            "verdict": verdict.verdict,
            "winner": verdict.winner_stance or None,
            "reasoning": verdict.reasoning,
        },
        "moderatorDecisions": [],
    }


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


def failure_lines(debate: Debate) -> list[str]:
    """Each way in which a seat failed, with how often: nothing fails in silence."""
    counts = Counter((f.seat, f.cause, f.detail) for f in debate.failures)
    return [
        f"{seat}: {detail} ({cause}{f', {times} times' if times > 1 else ''})"
        for (seat, cause, detail), times in counts.items()
    ]


def state(debate_id: str, debate: Debate, log: Sequence[Recorded]) -> State:
    setup = debate.setup
    return State(
        debate_id=debate_id,
        question=setup.question,
        format=setup.format,
        status=debate.status,
        reason=reason(debate),
        phase=debate.phase.name if debate.phase else "",
        round=debate.round,
        rounds_of_talk=debate.talk_rounds,
        max_rounds=setup.max_rounds,
        debaters=[
            Seat(
                name=d.name,
                letter=letter_of(debate, d.name),
                stance=d.stance,
                role=d.role,
                model=d.model,
                turns=sum(turn.seat == d.name for turn in debate.turns),
                failures=sum(failure.seat == d.name for failure in debate.failures),
            )
            for d in setup.debaters
        ],
        judges=[f"{judge}: {model}" for judge, model in zip(judges(setup), setup.judges.models, strict=True)],
        awaiting=awaiting(debate),
        outcome=debate.verdict.outcome if debate.verdict else "",
        winner=debate.verdict.winner if debate.verdict else "",
        verdict=debate.verdict.verdict if debate.verdict else "",
        failures=failure_lines(debate),
        notes=len(debate.notes),
        usage=usage_sum(debate.usage),
        tags=list(setup.tags),
        opened_at=log[0].at,
        changed_at=log[-1].at,
        entries=debate.version,
    )


def reason(debate: Debate) -> str:
    """Why the debate stands where it stands; "" while it is on its way."""
    if debate.ended:
        return debate.ended.reason
    return debate.paused.reason if debate.paused else ""


def awaiting(debate: Debate) -> list[str]:
    return list(dict.fromkeys(call.seat for call in pending(debate)))


def verdict_of(debate: Debate) -> Verdict:
    """The verdict with its dissent and what weakens it; empty as long as there is none."""
    found = debate.verdict
    if found is None:
        return Verdict()
    return Verdict(
        outcome=found.outcome,
        winner=found.winner,
        winner_stance=debate.debater(found.winner).stance if found.winner else "",
        verdict=found.verdict,
        reasoning=found.reasoning,
        votes=[vote_line(debate, vote.judge) for vote in found.votes],
        dissent=dissent(debate),
        cautions=cautions(debate),
    )


def vote_line(debate: Debate, judge: str) -> str:
    assert debate.verdict is not None
    vote = next(v for v in debate.verdict.votes if v.judge == judge)
    models = ", ".join(dict.fromkeys(j.usage.model for j in judgments(debate) if j.seat == judge))
    who = f"{judge} ({models})" if models else judge
    if vote.abstains:
        return f"{who} abstains: it {vote.abstains}"
    return f"{who}: {vote.winner or 'no side'}, margin {vote.margin} of 3"


def dissent(debate: Debate) -> list[str]:
    """What judges said who voted for another side than the one that prevailed."""
    assert debate.verdict is not None
    others = [v.judge for v in debate.verdict.votes if not v.abstains and v.winner != debate.verdict.winner]
    firsts = [judged for judged in judgments(debate) if judged.reading == 1 and judged.seat in others]
    return [f"{judged.seat}: {shortened(judged.verdict, LONGEST_DISSENT)}" for judged in firsts]


def cautions(debate: Debate) -> list[str]:
    """What the reader of a verdict has to know to weigh it."""
    said = []
    models = dict.fromkeys(turn.usage.model for turn in debate.turns)
    if len(models) == 1:
        said.append(f"One model argued every side ({next(iter(models))}): count it as one voice.")
    if any(not judged.informative for judged in debate.judged):
        said.append(
            "The embedded model judged. It is far too small for that: its choice means nothing and is not "
            "counted. Read the arguments, or judge again with a larger model."
        )
    if debate.judged and not {judged.usage.model for judged in debate.judged} - set(models):
        said.append("The judges' models also debated, and models lean towards their own words.")
    if debate.failures:
        said.append(f"{counted(len(debate.failures), 'answer')} failed; see failures.")
    if any(turn.cut for turn in debate.turns):
        said.append(f"Cut at the length limit: {counted(sum(turn.cut for turn in debate.turns), 'turn')}.")
    return said


def interventions(debate: Debate, log: Sequence[Recorded]) -> dict[str, Any]:
    """Who steered the debate, how and why, and what is in force."""
    rows = []
    for entry in log:
        match entry.event:
            case Intervened() as made:
                rows.append(row(entry, made.action, made.reason, made.text, made.to))
            case Paused() | Resumed() as made:
                rows.append(row(entry, "pause" if made.kind == "paused" else "resume", made.reason))
            case _:
                pass
    settings = {"paused": debate.paused is not None, "concluding": debate.concluding, "actions": ACTIONS}
    return {"settings": settings, "log": [made.model_dump() for made in rows]}


def row(entry: Recorded, action: str, why: str, text: str = "", to: str = "") -> InterventionRow:
    return InterventionRow(
        seq=entry.seq, at=entry.at, actor=entry.actor, action=action, reason=why, text=text, to=to
    )


def analysis(debate: Debate) -> dict[str, Any]:
    """Counts of what happened, by round and by debater. Counts, not scores: nothing here is calibrated."""
    return {
        "rounds": [
            {
                "round": entered.round,
                "phase": entered.phase,
                "turns": sum(turn.round == entered.round for turn in debate.turns),
                "judgments": sum(judged.round == entered.round for judged in debate.judged),
                "failures": sum(failure.round == entered.round for failure in debate.failures),
            }
            for entered in debate.rounds
        ],
        "debaters": {
            debater.name: {
                "turns": sum(turn.seat == debater.name for turn in debate.turns),
                "words": sum(len(turn.text.split()) for turn in debate.turns if turn.seat == debater.name),
                "cut": sum(turn.cut for turn in debate.turns if turn.seat == debater.name),
                "failures": sum(failure.seat == debater.name for failure in debate.failures),
            }
            for debater in debate.setup.debaters
        },
        "judges": {
            judge: [
                {"reading": judged.reading, "winner": judged.winner, "margin": judged.margin}
                for judged in judgments(debate)
                if judged.seat == judge
            ]
            for judge in judges(debate.setup)
        },
    }


def receipt(debate_id: str, debate: Debate, log: Sequence[Recorded]) -> dict[str, Any]:
    """What to keep in order to prove later that nothing was altered: the head of the chain."""
    return {
        "debate_id": debate_id,
        "status": debate.status,
        "entries": log[-1].seq,
        "head": log[-1].hash,
        "algorithm": "sha256(tag + previous + JCS(entry)), tag counterpoint/entry/1",
        "verified": "every entry was checked against the chain when this was read",
        "at": log[-1].at,
    }


def event_row(entry: Recorded) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "at": entry.at,
        "actor": entry.actor,
        "hash": entry.hash,
        **entry.event.model_dump(mode="json"),
    }


def round_view(debate: Debate, number: int) -> dict[str, Any]:
    """One round: its turns or judgments, its failures, and whether more is to come."""
    entered = debate.rounds[number - 1]
    return {
        "round": number,
        "phase": entered.phase,
        "because": entered.because,
        "over": number < debate.round or round_is_over(debate),
        "turns": [turn.model_dump() for turn in turns(debate) if turn.round == number],
        "judgments": [judgment_row(judged) for judged in judgments(debate) if judged.round == number],
        "failures": [failure_row(failure) for failure in debate.failures if failure.round == number],
    }


def judgment_row(judged: Judged) -> dict[str, Any]:
    return judged.model_dump(include={"seat", "reading", "winner", "margin", "verdict", "reasoning"})


def failure_row(failure: Failed) -> dict[str, Any]:
    return failure.model_dump(include={"seat", "reading", "cause", "detail"})
