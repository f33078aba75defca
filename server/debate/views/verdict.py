"""The outcome of a debate as data: turns, votes, verdict and the whole result."""

import json
from collections import Counter
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from server.debate.facts.config import SYNTHESIZER
from server.debate.facts.events import Judged, RoundOpened, Vote
from server.debate.facts.state import Debate, RoundPlan, phase_seats
from server.debate.facts.text import format_count, shorten_to_bytes
from server.debate.rules.schedule import is_exhausted, last_ballot_phase, slot_failures
from server.debate.views.state import is_visible, moderator_summary
from server.debate.views.warnings import find_verdict_warnings

MAX_DISSENT_BYTES = 600
"""Of each dissenting opinion in a verdict; the judgment has it whole."""

Deliverable = Annotated[Any, WithJsonSchema({"type": ["string", "object", "array", "number", "boolean"]})]


class Turn(BaseModel):
    """One turn, in the shape of requirement C11."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    round: int
    phase: str
    agent: str
    stance: str
    text: str
    act: str = "argument"
    to: Annotated[str, Field(description="The recipient of a message or an answer")] = ""
    retracted: Annotated[bool, Field(description="Left out of prompts since it was retracted")] = False


class Verdict(BaseModel):
    """The finding, its votes, dissent and weaknesses; fields are empty as long as there is none."""

    outcome: str = ""
    winner: Annotated[str, Field(description="A debater's name")] = ""
    winner_stance: str = ""
    verdict: str = ""
    reasoning: str = ""
    votes: list[str] = []
    ballots: list[str] = []
    dissent: list[str] = []
    cautions: Annotated[list[str], Field(description="What weakens the verdict")] = []
    deliverable: Annotated[
        Deliverable, Field(description="The synthesizer's result: text, or JSON by output_schema")
    ] = ""
    deliverable_problem: Annotated[str, Field(description="Why there is no result")] = ""


def visible_turns(debate: Debate, since_round: int = 0) -> list[Turn]:
    """The turns from a round on, each round in the order in which prompts quote it."""
    if not is_visible(debate, "debaters"):
        return []
    return [
        Turn(
            round=spoken.round,
            phase=debate.rounds[spoken.round - 1].phase,
            agent=spoken.seat,
            stance=debate.debater(spoken.seat).stance,
            text=spoken.text,
            act=spoken.act,
            to=spoken.to,
            retracted=not debate.is_active(spoken),
        )
        for round_number in range(max(since_round, 1), debate.round + 1)
        for spoken in debate.transcript_turns(round_number)
    ]


def visible_judgments(debate: Debate) -> list[Judged]:
    """The judgments, first readings first, independent of the order in which they arrived."""
    shown = debate.judgments if is_visible(debate, "judges") else ()
    return sorted(shown, key=lambda judgment: (judgment.slot_index, judgment.seat))


def build_result(debate: Debate) -> dict[str, Any]:
    """The whole outcome as plain data (requirement C11), with parts that only some formats have."""
    verdict = build_verdict(debate)
    result: dict[str, Any] = {
        "rounds": debate.held_round_count,
        "question": debate.setup.question,
        "transcript": [turn.model_dump(exclude_defaults=True) for turn in visible_turns(debate)],
        "verdict": {
            "verdict": verdict.verdict,
            "winner": verdict.winner_stance or None,
            "reasoning": verdict.reasoning,
        },
        "moderatorDecisions": [
            build_moderator_decision(plan) for plan in debate.round_plans if is_visible(debate, "moderator")
        ],
    }
    if debate.round_summaries:
        summary = debate.round_summaries[-1]
        result["settlement"] = {
            "settled": summary.settled,
            "summary": moderator_summary(debate),
            "decision": summary.decision if summary.settled else "",
        }
    if debate.ballots:
        result["ballots"] = tally_ballots(debate)
    if debate.setup.synthesizer:
        result["deliverable"] = verdict.deliverable
    return result


def build_moderator_decision(round_plan: RoundPlan) -> dict[str, Any]:
    chosen = round_plan if isinstance(round_plan, RoundOpened) else None
    return {
        "round": round_plan.round,
        "nextSpeakers": list(round_plan.next_speakers),
        "briefing": (chosen and chosen.briefing) or None,
        "newAngle": (chosen and chosen.new_angle) or None,
        "done": bool(chosen and chosen.done),
    }


def tally_ballots(debate: Debate) -> dict[str, Any]:
    """The last ballots by stance. Missing and unreadable ones are never counted as votes."""
    cast = debate.last_ballots
    last = last_ballot_phase(debate.setup)
    seats = phase_seats(debate.setup, last) if last else ()
    counting = [ballot for ballot in cast if ballot.informative]
    found = Counter(debate.debater(ballot.choice).stance for ballot in counting if ballot.choice)
    votes = {debater.stance: found[debater.stance] for debater in debate.setup.debaters}
    return {
        "votes": {stance: count for stance, count in votes.items() if count},
        "abstained": sum(not ballot.choice for ballot in counting),
        "not counted": len(cast) - len(counting),  # of models too small for a vote to mean anything
        "missing": len(seats) - len(cast),
    }


def build_verdict(debate: Debate) -> Verdict:
    """The verdict with dissent and warnings; empty as long as there is none."""
    found = debate.verdict
    result, problem = find_deliverable(debate)
    cautions = find_verdict_warnings(debate) if found or result else []
    if found is None:
        return Verdict(cautions=cautions, deliverable=result, deliverable_problem=problem)
    others = [vote.judge for vote in found.votes if not vote.abstains and vote.winner != found.winner]
    ballots = []
    if debate.ballots:
        tally = tally_ballots(debate)
        ballots = [f"{stance}: {format_count(n, 'vote')}" for stance, n in tally.pop("votes").items()]
        ballots += [f"{word}: {count}" for word, count in tally.items() if count]
    readings = [one for one in visible_judgments(debate) if one.slot_index == 1 and one.seat in others]
    return Verdict(
        outcome=found.outcome,
        winner=found.winner,
        winner_stance=winner_stance(debate),
        verdict=found.verdict,
        reasoning=found.reasoning,
        votes=[vote_line(debate, vote) for vote in found.votes],
        ballots=ballots,
        dissent=[f"{one.seat}: {shorten_to_bytes(one.verdict, MAX_DISSENT_BYTES)}" for one in readings],
        cautions=cautions,
        deliverable=result,
        deliverable_problem=problem,
    )


def winner_stance(debate: Debate) -> str:
    """The stance of the winner; "" if there is none."""
    found = debate.verdict
    return debate.debater(found.winner).stance if found and found.winner else ""


def find_deliverable(debate: Debate) -> tuple[Any, str]:
    """(the synthesizer's result or "", why there is none or "")."""
    if debate.deliverable and is_visible(debate, "synthesizer"):
        text = debate.deliverable.text
        return (json.loads(text) if debate.setup.output_schema else text), ""
    slot = (SYNTHESIZER, 0)
    if debate.phase and debate.phase.participants == "synthesizer" and is_exhausted(debate, slot):
        return "", slot_failures(debate, slot)[-1].detail
    return "", ""


def vote_line(debate: Debate, vote: Vote) -> str:
    models = ", ".join(dict.fromkeys(j.usage.model for j in debate.judgments if j.seat == vote.judge))
    who = f"{vote.judge} ({models})" if models else vote.judge
    weight = "" if vote.weight == "1" else f", weight {vote.weight}"
    if vote.abstains:
        return f"{who} abstains: it {vote.abstains}"
    if not debate.judgments:
        return f"{who} votes for {vote.winner}{weight}"
    return f"{who}: {vote.winner or 'no side'}, margin {vote.margin} of 3{weight}"
