"""The outcome of a debate as data: turns, votes, verdict and the whole result."""

import json
from collections import Counter
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from server.debate.analysis.claims import Claims, build_claims
from server.debate.analysis.confidence import (
    Confidence,
    build_confidence,
    describe_outcome,
    vote_line,
)
from server.debate.analysis.mirrors import MirrorReport, build_mirror_report
from server.debate.ballots.challenges import SignalRow, build_signals, describe_alert
from server.debate.ballots.report import Beliefs, build_beliefs
from server.debate.ballots.rhetoric import list_rhetoric_lines
from server.debate.ballots.samples import describe_baseline
from server.debate.commands.setup.effort import describe_effort, describe_more
from server.debate.facts.beliefs import Vote
from server.debate.facts.events import Concluded, Judged, RoundOpened
from server.debate.facts.quoting import quote_heading
from server.debate.facts.setup.seats import SYNTHESIZER
from server.debate.facts.text import format_count, format_heading
from server.debate.machine.decide import status
from server.debate.rules.schedule import is_exhausted, slot_failures
from server.debate.state.debate import Debate, RoundPlan
from server.debate.state.memo import once
from server.debate.state.seats import current_model, phase_seats
from server.debate.views.names import name_debate
from server.debate.views.state import (
    describe_costs,
    known_debaters,
    moderator_summary,
    status_reason,
    visible_lookups,
    visible_turns,
)
from server.debate.views.visibility import (
    hide_answers,
    is_visible,
    shows_beliefs,
    shows_marks,
    shows_seat,
)
from server.debate.views.warnings import failure_lines, find_verdict_warnings
from server.debate.votes.panel import describe_rule_in_force, has_answered, list_seats
from server.debate.votes.readings import find_talk_caps
from server.debate.votes.teams import describe_team
from server.debate.votes.verdict import count_panel, find_caps
from server.debate.votes.voters import last_ballot_phase
from server.debate.votes.voting import SYNTHESIS
from server.debate.votes.wording import describe_agreed


class Panel(BaseModel):
    """The count of the votes. Shares are exact fractions of the weight of all who were asked."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

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


class Verdict(BaseModel):
    """The finding, its votes, dissent and weaknesses; fields are empty as long as there is none."""

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
    mirror: MirrorReport = MirrorReport()
    baseline: Annotated[str, Field(description="A blind vote for as many tokens")] = ""
    signals: Annotated[list[SignalRow], Field(description="Of hollow agreement; they move no figure")] = []
    alerts: Annotated[list[str], Field(description="Of it, by round, and what challenges did")] = []
    rhetoric: Annotated[list[str], Field(description="As alleged by the observer")] = []
    dissent: list[str] = []
    claims: Claims = Claims()
    cautions: Annotated[list[str], Field(description="What weakens the verdict")] = []
    deliverable: Annotated[
        str, Field(description="The synthesizer's result: prose, or JSON text by output_schema")
    ] = ""
    deliverable_problem: Annotated[str, Field(description="Why there is no result")] = ""


class Position(BaseModel):
    """Who stands for what, and which model argues it."""

    debater: str
    stance: str
    model: str


class Report(Verdict):
    """The verdict with what a reader needs to weigh it, without the rest of the debate."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    question: str
    status: str
    reason: Annotated[str, Field(description="Why it ended, is paused or waits")]
    positions: Annotated[list[Position], Field(description="Empty until they are named")]
    failures: list[str]
    rounds_of_talk: int
    turn_count: int
    cost: Annotated[
        str, Field(description="Calls, tokens and cost so far, without a fork's inherited rounds")
    ]
    cost_usd: Annotated[str, Field(description="Decimal; empty: unknown")]
    effort: Annotated[str, Field(description="Team and level, and what they chose")]
    more: Annotated[str, Field(description="What more effort would bring")]
    mirror_of: Annotated[str, Field(description="The debate whose mirror it is")]
    forked_from: str
    forked_at_round: int


def visible_judgments(debate: Debate) -> list[Judged]:
    """The judgments, first readings first, independent of the order in which they arrived."""
    shown = (judged for judged in name_debate(debate).judgments if shows_seat(debate, judged.seat))
    return sorted(shown, key=lambda judgment: (judgment.slot_index, judgment.seat))


def build_result(debate: Debate) -> dict[str, Any]:
    """The whole outcome as plain data (requirement C11), with parts that only some formats have.

    Without a winner but with the outcome `synthesis`, `verdict` is the position that was made of the others.
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
        "moderatorDecisions": [build_moderator_decision(plan) for plan in named.round_plans if has_moderator],
        "moderatorSummaries": [
            closed.model_dump(include={"round", "summary", "settled", "decision"})
            for closed in named.round_summaries
            if has_moderator
        ],
    }
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
        result["lookups"] = [found.model_dump() for found in visible_lookups(debate)]
    if debate.setup.synthesizer:
        is_json = debate.setup.output_schema and verdict.deliverable
        result["deliverable"] = json.loads(verdict.deliverable) if is_json else verdict.deliverable
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
    cast = name_debate(debate).last_ballots
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


@once
def build_verdict(debate: Debate) -> Verdict:
    """The verdict with dissent and warnings; empty as long as there is none."""
    found = name_debate(debate).verdict
    result, problem = find_deliverable(debate)
    about_talk = build_talk_findings(debate) if found or result or problem else {}
    if found is None:
        return Verdict(**about_talk, deliverable=result, deliverable_problem=problem)
    ahead, panel, confidence = count_support(debate, found.votes)
    ballots = []
    if debate.last_ballots:
        tally = tally_ballots(debate)
        ballots = [f"{stance}: {format_count(n, 'vote')}" for stance, n in tally.pop("votes").items()]
        ballots += [f"{word}: {count}" for word, count in tally.items() if count]
    return Verdict(
        **about_talk,
        outcome=found.outcome,
        winner=found.winner,
        winner_stance=winner_stance(debate),
        ahead=ahead,
        panel=panel,
        confidence=confidence,
        settled=describe_outcome(debate),
        verdict=found.verdict,
        reasoning=found.reasoning,
        votes=[vote_line(debate, vote) for vote in found.votes],
        ballots=ballots,
        mirror=build_mirror_report(debate),
        baseline=describe_baseline(debate) if shows_beliefs(debate) else "",
        dissent=list_dissent(debate, found),
        deliverable=result,
        deliverable_problem=problem,
    )


def build_talk_findings(debate: Debate) -> dict[str, Any]:
    """The fields of a verdict that say what the talk was worth, judged or not."""
    fields: dict[str, Any] = {"headline": build_headline(debate)}
    if is_visible(debate, "debaters"):
        fields["claims"] = build_claims(hide_answers(debate))
    if not (debate.verdict or debate.deliverable):
        return fields
    fields["cautions"] = [*find_verdict_caps(debate), *find_verdict_warnings(debate)]
    if shows_marks(debate):
        fields["rhetoric"] = list_rhetoric_lines(debate)
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
        more=describe_more(debate),
        mirror_of=setup.mirror_of,
        forked_from=setup.forked_from,
        forked_at_round=setup.forked_at_round,
    )


def build_headline(debate: Debate) -> str:
    """The outcome with its position, and what caps it, in a line."""
    found, headline = debate.verdict, "Result"
    if found:
        position = winner_stance(debate) or find_made_position(debate)
        who = f" ({found.winner})" if found.winner else ""
        won = f": {quote_heading(position)}{who}" if position else ""
        prevailed = ": no side prevailed" if found.outcome == "contested" else ""
        headline = f"Verdict: {found.outcome.capitalize()}{won or prevailed}"
    caps = format_heading(" ".join(find_verdict_caps(debate)))
    return f"{headline.rstrip('.')}. {caps}" if caps else headline


def count_support(debate: Debate, votes: tuple[Vote, ...]) -> tuple[str, Panel, Confidence]:
    """(the debater with most support, "" for a tie or a position made of the others; the count; how sure it is)."""
    if not votes:
        return "", Panel(), Confidence()
    count = count_panel(debate, votes)
    seats = list_seats(debate, votes)
    voted = sum(bool(seat.side) for seat in seats)
    failed = sum(not has_answered(debate, vote.judge) for vote in votes)
    panel = Panel(
        asked=len(votes),
        voted=voted,
        abstained=len(votes) - voted - failed,
        failed=failed,
        support=str(count.support),
        against=str(count.against),
        voices=round(count.voices, 2),
        proven=[seat.name for seat in seats if seat.is_proven],
        rule=describe_rule_in_force(debate, votes),
        consensus=" ".join(map(describe_agreed, debate.agreements[-1:])),
    )
    return "" if count.ahead == SYNTHESIS else count.ahead, panel, build_confidence(debate, votes, count)


@once
def find_verdict_caps(debate: Debate) -> list[str]:
    """Why the verdict can be no more than leaning, each as a sentence: weaknesses of the talk and of the votes."""
    found = debate.verdict
    if found and found.votes:
        return find_caps(debate, found.winner, list_seats(debate, found.votes))
    return find_talk_caps(debate)


def list_dissent(debate: Debate, found: Concluded) -> list[str]:
    """The first readings of judges who found otherwise. Where no position was found, nobody dissents."""
    is_synthesis = found.outcome == "synthesis"
    if not (found.winner or is_synthesis):
        return []
    others = {
        vote.judge
        for vote in found.votes
        if not vote.abstains and (not vote.for_synthesis if is_synthesis else vote.winner != found.winner)
    }
    readings = [one for one in visible_judgments(debate) if one.slot_index == 1 and one.seat in others]
    return [f"{one.seat}: {one.verdict}" for one in readings]


def find_made_position(debate: Debate) -> str:
    """The position that judges made of the others, in a synthesis; "" otherwise."""
    found = debate.verdict
    return found.verdict if found and found.outcome == "synthesis" else ""


def winner_stance(debate: Debate) -> str:
    """The stance of the winner; "" if there is none."""
    found = debate.verdict
    return debate.debater(found.winner).stance if found and found.winner else ""


def find_deliverable(debate: Debate) -> tuple[str, str]:
    """(the synthesizer's result or "", why there is none or "")."""
    if debate.deliverable and is_visible(debate, "synthesizer"):
        shown = name_debate(debate).deliverable
        return shown.text if shown else "", ""
    slot = (SYNTHESIZER, 0)
    if debate.phase and debate.phase.participants == "synthesizer" and is_exhausted(debate, slot):
        return "", slot_failures(name_debate(debate), slot)[-1].detail
    return "", ""
