"""What a debate looks like from outside, as data. Markdown is made from it in `markdown`."""

import json
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from server.debate.facts.config import SYNTHESIZER, Kind
from server.debate.facts.events import Judged, Recorded, RoundOpened, Usage, Vote
from server.debate.facts.state import Debate, judges
from server.debate.facts.text import counted, shortened
from server.debate.prompts.transcript import letter_of
from server.debate.rules.decide import awaited, pending, status
from server.debate.rules.schedule import failures_of, gave_up
from server.debate.views.warnings import cautions, failure_lines

LONGEST_DISSENT = 600
"""Bytes of each dissent in a verdict; the record has it whole."""


class Turn(BaseModel):
    """One thing said, in the shape of requirement C11."""

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


def shows(debate: Debate, kind: Kind) -> bool:
    """Whether what these seats said is for the client's eyes."""
    return kind not in debate.setup.hidden_from_client


def turns(debate: Debate, since_round: int = 0) -> list[Turn]:
    """The transcript from a round on, each round in the order in which it is read."""
    if not shows(debate, "debaters"):
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
            retracted=not debate.stands(fact),
        )
        for number in range(max(since_round, 1), debate.round + 1)
        for fact in debate.spoken_in(number)
    ]


def judgments(debate: Debate) -> list[Judged]:
    """Each reading, the first ones first, whatever order they arrived in."""
    if not shows(debate, "judges"):
        return []
    return sorted(debate.judged, key=lambda judged: (judged.reading, judged.seat))


def raw_result(debate: Debate) -> dict[str, Any]:
    """The whole outcome as plain data (requirement C11), with what only some formats have."""
    verdict = verdict_of(debate)
    found: dict[str, Any] = {
        "rounds": debate.rounds_held,
        "question": debate.setup.question,
        "transcript": [turn.model_dump(exclude_defaults=True) for turn in turns(debate)],
        "verdict": {
            "verdict": verdict.verdict,
            "winner": verdict.winner_stance or None,
            "reasoning": verdict.reasoning,
        },
        "moderatorDecisions": [decision(made) for made in debate.openings if shows(debate, "moderator")],
    }
    if debate.closings:
        closed = debate.closings[-1]
        found["settlement"] = {
            "settled": closed.settled,
            "summary": summary(debate),
            "decision": closed.decision if closed.settled else "",
        }
    if debate.ballots:
        found["ballots"] = tally(debate)
    if debate.setup.synthesizer:
        found["deliverable"] = verdict.deliverable
    return found


def decision(made: RoundOpened) -> dict[str, Any]:
    return {
        "round": made.round,
        "nextSpeakers": list(made.next_speakers),
        "briefing": made.briefing or None,
        "newAngle": made.new_angle or None,
        "done": made.done,
    }


def tally(debate: Debate) -> dict[str, Any]:
    """The ballots by stance. Missing and unreadable ones are counted as that, never as votes."""
    cast = debate.last_ballots
    counting = [ballot for ballot in cast if ballot.informative]
    found = Counter(debate.debater(ballot.choice).stance for ballot in counting if ballot.choice)
    votes = {debater.stance: found[debater.stance] for debater in debate.setup.debaters}
    return {
        "votes": {stance: count for stance, count in votes.items() if count},
        "abstained": sum(not ballot.choice for ballot in counting),
        "not counted": len(cast) - len(counting),  # of models too small for their votes to mean anything
        "missing": len(debate.setup.debaters) - len(cast),
    }


def ballot_lines(debate: Debate) -> list[str]:
    if not debate.ballots:
        return []
    found = tally(debate)
    lines = [f"{stance}: {counted(count, 'vote')}" for stance, count in found["votes"].items()]
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


def state(debate_id: str, debate: Debate, log: Sequence[Recorded]) -> State:
    setup = debate.setup
    return State(
        debate_id=debate_id,
        question=setup.question,
        format=setup.format,
        status=status(debate),
        reason=reason(debate),
        phase=debate.phase.name if debate.phase else "",
        round=debate.round,
        rounds_of_talk=debate.rounds_held,
        max_rounds=debate.max_rounds,
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
        moderator_summary=summary(debate),
        final_decision=debate.closings[-1].decision if settled(debate) else "",
        settled=settled(debate),
        turns=len(debate.turns),
        awaiting=awaiting(debate),
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


def summary(debate: Debate) -> str:
    """Where the debate stands, as the moderator last put it."""
    return debate.closings[-1].summary if debate.closings and shows(debate, "moderator") else ""


def settled(debate: Debate) -> bool:
    """Whether the moderator has settled the question."""
    return bool(debate.closings) and debate.closings[-1].settled


def reason(debate: Debate) -> str:
    """Why the debate stands where it stands; "" while it is on its way."""
    if debate.ended:
        return debate.ended.reason
    if debate.paused:
        return debate.paused.reason
    return awaited(pending(debate)) if status(debate) == "waiting" else ""


def provenance(debate: Debate) -> str:
    """What a fork has its past from, and that it is not paid for twice; "" for a debate that is none."""
    setup = debate.setup
    if not setup.forked_from:
        return ""
    where = f"after round {setup.forked_at_round}" if setup.forked_at_round else "before its first round"
    return f"Forked from {setup.forked_from} {where}; what that past cost is counted there."


def awaiting(debate: Debate) -> list[str]:
    return list(dict.fromkeys(call.seat for call in pending(debate)))


def verdict_of(debate: Debate) -> Verdict:
    """The verdict with its dissent and what weakens it; empty as long as there is none."""
    found = debate.verdict
    result, problem = deliverable(debate)
    if found is None:
        said = cautions(debate) if result else []
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
        cautions=cautions(debate),
        deliverable=result,
        deliverable_problem=problem,
    )


def winner_stance(debate: Debate) -> str:
    """What the winner defends; "" where nobody won, or not yet."""
    found = debate.verdict
    return debate.debater(found.winner).stance if found and found.winner else ""


def deliverable(debate: Debate) -> tuple[Any, str]:
    """(the synthesizer's result or "", why there is none)."""
    if debate.deliverable and shows(debate, "synthesizer"):
        text = debate.deliverable.text
        return (json.loads(text) if debate.setup.output_schema else text), ""
    place = (SYNTHESIZER, 0)
    if debate.phase and debate.phase.asks == "synthesizer" and gave_up(debate, place):
        return "", failures_of(debate, place)[-1].detail
    return "", ""


def vote_line(debate: Debate, judge: str) -> str:
    assert debate.verdict is not None
    vote = next(v for v in debate.verdict.votes if v.judge == judge)
    models = ", ".join(dict.fromkeys(j.usage.model for j in debate.judged if j.seat == judge))
    who = f"{judge} ({models})" if models else judge
    if vote.abstains:
        return f"{who} abstains: it {vote.abstains}"
    if not debate.judged:
        return f"{who} votes for {vote.winner}{weighing(vote)}"
    return f"{who}: {vote.winner or 'no side'}, margin {vote.margin} of 3{weighing(vote)}"


def weighing(vote: Vote) -> str:
    return "" if vote.weight == "1" else f", weight {vote.weight}"


def dissent(debate: Debate) -> list[str]:
    """What judges said who voted for another side than the one that prevailed."""
    assert debate.verdict is not None
    others = [v.judge for v in debate.verdict.votes if not v.abstains and v.winner != debate.verdict.winner]
    firsts = [judged for judged in judgments(debate) if judged.reading == 1 and judged.seat in others]
    return [f"{judged.seat}: {shortened(judged.verdict, LONGEST_DISSENT)}" for judged in firsts]
