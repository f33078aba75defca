"""The outcome of a debate as data: votes, verdict, report and the whole result."""

import json
from collections import Counter
from typing import Annotated, Any

from pydantic import BaseModel, Field, WithJsonSchema

from server.debate.analysis.claims import Claims, build_claims
from server.debate.analysis.confidence import Confidence, build_confidence, describe_outcome, describe_vote
from server.debate.analysis.mirrors import MirrorReport, build_mirror_report
from server.debate.answer.debates import count_debate
from server.debate.answer.lines import AnswerLines
from server.debate.ballots.hollow import SignalRow, build_signals, describe_alert, describe_gap, find_gap
from server.debate.ballots.report import Beliefs, build_beliefs
from server.debate.ballots.samples import describe_baseline
from server.debate.commands.setup.effort import describe_effort
from server.debate.facts.beliefs import Vote
from server.debate.facts.events import Concluded, RoundOpened
from server.debate.facts.setup.seats import SYNTHESIZER
from server.debate.facts.text import format_count
from server.debate.machine.decide import status
from server.debate.rules.schedule import is_exhausted, slot_failures
from server.debate.rules.verdict import count_panel, find_caps
from server.debate.seats.registry import SEATS, SeatFindings
from server.debate.state.debate import Debate, RoundPlan
from server.debate.state.memo import once
from server.debate.state.seats import current_model, phase_seats
from server.debate.views.answer import (
    Advisor,
    build_advice_fields,
    build_answer,
    format_headline,
    list_answer_cautions,
)
from server.debate.views.findings import build_finding_lines, find_side_ahead, is_second, visible_judgments
from server.debate.views.names import name_debate, name_event
from server.debate.views.state import (
    describe_costs,
    known_debaters,
    list_lookups,
    moderator_summary,
    status_reason,
    visible_turns,
)
from server.debate.views.visibility import hide_answers, is_visible, shows_beliefs
from server.debate.views.warnings import failure_lines, list_verdict_warnings
from server.debate.votes.consensus import describe_agreed, describe_rule_in_force
from server.debate.votes.counting import SYNTHESIS
from server.debate.votes.panel import has_answered, weigh_votes
from server.debate.votes.readings import find_talk_caps
from server.debate.votes.teams import describe_team
from server.debate.votes.voters import last_ballot_phase


class Panel(BaseModel):
    """The count of the votes. Shares are exact fractions of the weight of all who were asked."""

    asked: int = 0
    voted: int = 0
    abstained: int = 0
    failed: int = 0
    support: Annotated[str, Field(description="For the side ahead: a fraction of the weight asked")] = ""
    against: str = ""
    voices: Annotated[float, Field(description="Independent voices behind it")] = 0.0
    proven: list[str] = []
    rule: Annotated[str, Field(description="Of consensus, if set, and what it found")] = ""
    consensus: Annotated[str, Field(description="What was agreed, by whom")] = ""


ANSWER_SCHEMA = {
    "type": "object",
    "description": "What to tell, by lines",
    "properties": {"recommendation": {"type": "string"}},
}
NAMED_SCHEMA = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
MIRROR_SCHEMA = {"type": "object", "properties": {"told": {"type": "string"}}}
"""One field of each is enough: they are part of the schemas of several tools."""


class VerdictFields(BaseModel):
    """Votes, dissent and weaknesses; fields are empty as long as there is none."""

    headline: Annotated[str, Field(description="The outcome in a line, with what caps it")] = ""
    outcome: str = ""
    winner: Annotated[str, Field(description="A debater's name")] = ""
    winner_stance: str = ""
    ahead: Annotated[str, Field(description="Who has most support, won or not")] = ""
    panel: Panel = Panel()
    confidence: Confidence = Confidence()
    settled: Annotated[str, Field(description="What turned out right since")] = ""
    verdict: str = ""
    reasoning: str = ""
    votes: list[str] = []
    ballots: list[str] = []
    beliefs: Beliefs = Beliefs()
    mirror: Annotated[MirrorReport, WithJsonSchema(MIRROR_SCHEMA)] = MirrorReport()
    baseline: Annotated[str, Field(description="A blind vote for as many tokens")] = ""
    signals: Annotated[list[SignalRow], WithJsonSchema(NAMED_SCHEMA)] = []  # of hollow agreement
    alerts: Annotated[list[str], Field(description="Public against private, by round")] = []
    dissent: list[str] = []
    claims: Claims = Claims()
    cautions: Annotated[list[str], Field(description="What weakens the verdict")] = []
    deliverable: Annotated[
        str, Field(description="The synthesizer's result: prose, or JSON text by output_schema")
    ] = ""
    deliverable_problem: Annotated[str, Field(description="Why there is no result")] = ""
    answer: Annotated[AnswerLines, WithJsonSchema(ANSWER_SCHEMA)] = AnswerLines()
    advisors: Annotated[list[Advisor], WithJsonSchema(NAMED_SCHEMA)] = []


class Verdict(SeatFindings, VerdictFields):
    """The finding, with what the seats say that read rounds."""


class Position(BaseModel):
    """Who stands for what, and which model argues it."""

    debater: str
    stance: str
    model: str


class Report(Verdict):
    """The verdict with what a reader needs to weigh it, without the rest of the debate."""

    question: str = ""
    status: str
    reason: Annotated[str, Field(description="Why it ended, is paused or waits")]
    positions: Annotated[list[Position], Field(description="Empty until they are named")] = []
    failures: list[str] = []
    rounds_of_talk: int = 0
    turn_count: int = 0
    cost: Annotated[
        str, Field(description="Calls, tokens and cost so far, without a fork's inherited rounds")
    ] = ""
    cost_usd: Annotated[str, Field(description="Decimal; empty: unknown")] = ""
    effort: Annotated[str, Field(description="Team and level, and what they chose")] = ""
    mirror_of: Annotated[str, Field(description="The debate whose mirror it is")] = ""
    forked_from: str = ""
    forked_at_round: int = 0


def build_result(debate: Debate) -> dict[str, Any]:
    """The whole outcome as plain data (requirement C11); some parts exist only in some formats.

    If the outcome is `synthesis` there is no winner, and `verdict` is the position made of the others.
    """
    verdict, named = build_verdict(debate), name_debate(debate)
    has_moderator = is_visible(debate, "moderator")
    result: dict[str, Any] = {
        "rounds": debate.held_round_count,
        "question": debate.setup.question,
        "transcript": [turn.model_dump(exclude_defaults=True) for turn in visible_turns(debate)],
        "verdict": {
            "verdict": verdict.verdict,
            "winner": verdict.winner or None,
            "winner_stance": verdict.winner_stance,
            "reasoning": verdict.reasoning,
            "outcome": verdict.outcome,
        },
        "moderator_decisions": [*map(build_moderator_decision, named.round_plans if has_moderator else ())],
        "moderator_summaries": [
            summary.model_dump(include={"round", "summary", "settled", "decision"})
            for summary in named.round_summaries
            if has_moderator
        ],
    }
    if verdict.answer.head:
        result["answer"] = verdict.answer.model_dump(exclude_defaults=True)
    if debate.round_summaries:
        summary = named.round_summaries[-1]
        result["settlement"] = {
            "settled": summary.settled,
            "summary": moderator_summary(debate),
            "decision": summary.decision if summary.settled else "",
        }
    if debate.last_ballots:
        result["ballots"] = tally_ballots(debate)
    if debate.research:
        result["lookups"] = list_lookups(debate)
    if debate.setup.synthesizer:
        is_json = debate.setup.output_schema and verdict.deliverable
        result["deliverable"] = json.loads(verdict.deliverable) if is_json else verdict.deliverable
    return result


def build_moderator_decision(round_plan: RoundPlan) -> dict[str, Any]:
    opening = round_plan if isinstance(round_plan, RoundOpened) else None
    return {
        "round": round_plan.round,
        "next_speakers": list(round_plan.next_speakers),
        "briefing": (opening and opening.briefing) or None,
        "new_angle": (opening and opening.new_angle) or None,
        "done": bool(opening and opening.done),
    }


def tally_ballots(debate: Debate) -> dict[str, Any]:
    """The last ballots by stance. Missing and unreadable ones never count as votes."""
    cast = name_debate(debate).last_ballots
    phase = last_ballot_phase(debate.setup)
    seats = phase_seats(debate.setup, phase) if phase else ()
    counting = [ballot for ballot in cast if ballot.informative]
    choices = Counter(debate.debater(ballot.choice).stance for ballot in counting if ballot.choice)
    votes = {debater.stance: choices[debater.stance] for debater in debate.setup.debaters}
    return {
        "votes": {stance: count for stance, count in votes.items() if count},
        "abstained": sum(not ballot.choice for ballot in counting),
        "not counted": len(cast) - len(counting),  # of models too small to vote
        "missing": len(seats) - len(cast),
    }


@once
def build_verdict(debate: Debate) -> Verdict:
    """The verdict with dissent and warnings; empty fields while there is none."""
    conclusion = name_debate(debate).verdict
    result, problem = find_deliverable(debate)
    fields: dict[str, Any] = {"deliverable": result, "deliverable_problem": problem}
    if conclusion:
        fields |= conclusion.model_dump(include={"outcome", "winner", "verdict", "reasoning"})
        fields |= {"winner_stance": winner_stance(debate), "settled": describe_outcome(debate)}
    if debate.setup.answering:
        return Verdict(**fields, **build_advice_findings(debate))
    if conclusion or result or problem:
        fields |= build_talk_findings(debate)
    if conclusion:
        fields |= build_vote_findings(debate, conclusion)
    return Verdict(**fields)


def build_advice_findings(debate: Debate) -> dict[str, Any]:
    """The fields of a verdict in the answer format; before the end only the answers so far."""
    answer = build_answer(debate)
    if debate.verdict is None and debate.ended is None:
        return {"answer": answer}
    weak = [*list_answer_cautions(debate), *list_verdict_warnings(debate)]
    votes = debate.verdict.votes if debate.verdict else ()
    return build_advice_fields(debate) | {
        "answer": answer.model_copy(update={"keep_in_mind": weak}),
        "cautions": [*count_debate(debate).caps, *weak],
        "confidence": measure_confidence(debate, votes),
    }


def measure_confidence(debate: Debate, votes: tuple[Vote, ...]) -> Confidence:
    return build_confidence(debate, votes, count_panel(debate, votes)) if votes else Confidence()


def build_vote_findings(debate: Debate, conclusion: Concluded) -> dict[str, Any]:
    """The fields of a verdict about votes and ballots."""
    ahead, panel = count_support(debate, conclusion.votes)
    ballots = []
    if debate.last_ballots:
        tally = tally_ballots(debate)
        ballots = [f"{stance}: {format_count(n, 'vote')}" for stance, n in tally.pop("votes").items()]
        ballots += [f"{word}: {count}" for word, count in tally.items() if count]
    return {
        "ahead": ahead,
        "panel": panel,
        "votes": [describe_vote(debate, vote) for vote in conclusion.votes],
        "ballots": ballots,
        "mirror": build_mirror_report(debate),
        "baseline": describe_baseline(debate) if shows_beliefs(debate) else "",
        "dissent": list_dissent(debate, conclusion),
    }


def build_talk_findings(debate: Debate) -> dict[str, Any]:
    """The fields of a verdict about the talk, judged or not, with its lines."""
    confidence = measure_confidence(debate, debate.verdict.votes if debate.verdict else ())
    gap = find_gap(debate) if shows_beliefs(debate) else None
    caps = [*([describe_gap(gap)] if gap else []), *list_verdict_caps(debate)]
    cautions = [*caps, *list_verdict_warnings(debate)] if debate.verdict or debate.deliverable else []
    told = [*filter(None, [describe_outcome(debate)]), *cautions]
    lines = build_finding_lines(debate, confidence).model_copy(update={"keep_in_mind": told})
    fields: dict[str, Any] = {
        "headline": format_headline(lines, caps),
        "answer": lines,
        "confidence": confidence,
        "cautions": cautions,
    }
    if is_visible(debate, "debaters"):
        fields["claims"] = build_claims(hide_answers(debate))
    if not (debate.verdict or debate.deliverable):
        return fields
    for seat in SEATS:
        if seat.is_visible(debate):
            fields |= seat.build_verdict_fields(debate)
    if shows_beliefs(debate):
        fields["beliefs"] = build_beliefs(debate)
        fields["signals"] = build_signals(debate)
        fields["alerts"] = [describe_alert(alert) for alert in debate.alerts]
    return fields


@once
def build_report(debate: Debate) -> Report:
    setup, (cost, cost_usd) = debate.setup, describe_costs(debate)
    return Report(
        **dict(build_verdict(debate)),
        question=setup.question,
        status=status(debate),
        reason=status_reason(debate),
        positions=[
            Position(debater=seat.name, stance=seat.stance, model=current_model(debate, seat.name))
            for seat in known_debaters(setup)
        ],
        failures=failure_lines(debate),
        rounds_of_talk=debate.held_round_count,
        turn_count=len(debate.turns),
        cost=cost,
        cost_usd=cost_usd,
        effort=f"{describe_team(setup)} {describe_effort(setup)}".strip(),
        mirror_of=setup.mirror_of,
        forked_from=setup.forked_from,
        forked_at_round=setup.forked_at_round,
    )


def count_support(debate: Debate, votes: tuple[Vote, ...]) -> tuple[str, Panel]:
    """(the debater with most support, "" for a tie or a position of the judges' own; the count)."""
    if not votes:
        return "", Panel()
    count = count_panel(debate, votes)
    voted_count = sum(bool(vote.side) for vote in count.votes)
    failed_count = sum(not has_answered(debate, vote.seat) for vote in count.votes)
    panel = Panel(
        asked=len(votes),
        voted=voted_count,
        abstained=len(votes) - voted_count - failed_count,
        failed=failed_count,
        support=str(count.support),
        against=str(count.against),
        voices=round(count.voices, 2),
        proven=[vote.seat for vote in count.votes if vote.is_proven],
        rule=describe_rule_in_force(debate.voting, count.votes),
        consensus=" ".join(map(describe_agreed, debate.agreements[-1:])),
    )
    return "" if count.ahead == SYNTHESIS else count.ahead, panel


@once
def list_verdict_caps(debate: Debate) -> list[str]:
    """What speaks against the side ahead, won or not, in sentences: weaknesses of the talk and of the votes."""
    conclusion = debate.verdict
    if conclusion and conclusion.votes:
        ahead = find_side_ahead(debate, conclusion)
        return find_caps(debate, ahead, weigh_votes(debate, conclusion.votes))
    return find_talk_caps(debate)


def list_dissent(debate: Debate, conclusion: Concluded) -> list[str]:
    """The first readings of judges who found otherwise; [] where no position was found."""
    is_synthesis = conclusion.outcome == "synthesis"
    made = {vote.seat for vote in weigh_votes(debate, conclusion.votes) if vote.side == SYNTHESIS}
    if not (conclusion.winner or is_synthesis):
        return []
    dissenters = {
        vote.judge
        for vote in conclusion.votes
        if not vote.abstains
        and (vote.judge not in made if is_synthesis else vote.winner != conclusion.winner)
    }
    readings = (one for one in visible_judgments(debate) if one.seat in dissenters)
    return [f"{one.seat}: {one.verdict}" for one in readings if not is_second(debate, one)]


def read_made_position(debate: Debate) -> str:
    """The position that judges made of the others, in a synthesis; "" otherwise."""
    conclusion = debate.verdict
    if conclusion is None or conclusion.outcome != "synthesis":
        return ""
    return name_event(debate, conclusion).verdict


def winner_stance(debate: Debate) -> str:
    """The stance of the winner; "" without one."""
    conclusion = debate.verdict
    return debate.debater(conclusion.winner).stance if conclusion and conclusion.winner else ""


def find_deliverable(debate: Debate) -> tuple[str, str]:
    """(the synthesizer's result or "", why there is none or "")."""
    if debate.deliverable and is_visible(debate, "synthesizer"):
        deliverable = name_debate(debate).deliverable
        return deliverable.text if deliverable else "", ""
    slot = (SYNTHESIZER, 0)
    if debate.phase and debate.phase.participants == "synthesizer" and is_exhausted(debate, slot):
        return "", slot_failures(name_debate(debate), slot)[-1].detail
    return "", ""
