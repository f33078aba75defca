"""The rounds of a debate: one in detail, every model call as a task, and counts."""

from collections.abc import Iterable
from typing import Any, TypeVar

from server.debate.analysis import claims
from server.debate.arguments.extraction import describe_extraction, list_claim_rows, list_unread_rounds
from server.debate.arguments.points import format_id
from server.debate.ballots.rhetoric import build_rhetoric, describe_observation
from server.debate.ballots.waves import is_private_ballot
from server.debate.documents.reading import build_reading
from server.debate.documents.report import build_evidence
from server.debate.facts.answers import DefaultPlanUsed, Extracted, Observed, Researched, SlotFact, Usage
from server.debate.facts.causes import format_end_cause
from server.debate.facts.events import AnswerEvent, Balloted, Failed, Judged, SlotEvent, Spoke
from server.debate.facts.fact import Fact
from server.debate.facts.setup.seats import (
    ANALYST,
    FRAMER,
    METER,
    MODERATOR,
    OBSERVER,
    READER,
    REFEREE,
    SYNTHESIZER,
    SeatKind,
)
from server.debate.machine.decide import is_round_over
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.seats import current_model
from server.debate.views.names import name_debate
from server.debate.views.state import Turn, count_failures, sum_usage, visible_turns
from server.debate.views.verdict import build_moderator_decision, visible_judgments
from server.debate.views.visibility import hide_answers, is_visible, shows_claims, shows_marks, shows_seat

T = TypeVar("T", bound=SlotFact | DefaultPlanUsed | Turn)

ANSWER_TASKS = {
    "positions_framed": "framing",
    "digested": "digest",
    "round_opened": "opening",
    "round_closed": "closing",
    "audited": "audit",
    "observed": "observation",
    "extracted": "extraction",
    "measured": "measurement",
    "balloted": "ballot",
    "judged": "judgment",
    "synthesized": "deliverable",
    "researched": "research",
}
"""The task that each kind of answer fulfils, apart from turns."""

OFFICER_TASKS = {
    METER: "measurement",
    REFEREE: "audit",
    OBSERVER: "observation",
    ANALYST: "extraction",
    SYNTHESIZER: "deliverable",
}


def build_round(debate: Debate, round_number: int) -> dict[str, Any]:
    """What was said, judged and decided in a round, its failures, and whether it is over."""

    def held(facts: Iterable[T], kind: SeatKind | None = None) -> list[T]:
        return [f for f in facts if f.round == round_number and (kind is None or is_visible(debate, kind))]

    def dump(facts: Iterable[Fact], *fields: str) -> list[dict[str, Any]]:
        return [fact.model_dump(include=set(fields)) for fact in facts]

    entered = debate.rounds[round_number - 1]
    is_over = round_number < debate.round or is_round_over(debate)
    recorded, debate = hide_answers(debate), name_debate(debate)
    ballots = [b for b in debate.round_ballots(round_number) if shows_seat(debate, b.seat)]
    judgments = held(visible_judgments(debate))
    return {
        "round": round_number,
        "phase": entered.phase,
        "because": format_end_cause(entered.because, entered.detail),
        "over": is_over,
        "openings": [build_moderator_decision(plan) for plan in held(debate.round_plans, "moderator")],
        "turns": [
            turn.model_dump(exclude_defaults=True) for turn in held(visible_turns(debate, round_number))
        ],
        "audits": [audit.text for audit in held(debate.audits, "referee")],
        "marks": [row for row in list_mark_rows(debate) if row["said"]["round"] == round_number],
        "claims": list_claim_rows(recorded, debate, round_number) if shows_claims(debate) else [],
        "unclear": [left for left in list_unclear(debate) if left["said"]["round"] == round_number],
        "closings": dump(held(debate.round_summaries, "moderator"), "summary", "settled", "decision"),
        "ballots": [build_ballot(ballot) for ballot in ballots],
        "judgments": [build_judgment(judged) for judged in judgments],
        "failures": dump(held(debate.all_failures), "seat", "slot_index", "cause", "detail"),
    }


def list_mark_rows(debate: Debate) -> list[dict[str, Any]]:
    """What the observer alleges, if clients may see it."""
    return build_rhetoric(debate)["marks"] if shows_marks(debate) else []


def list_unclear(debate: Debate) -> list[dict[str, Any]]:
    """What the analyst could read in two ways, and why, if clients may see it."""
    extractions = debate.extractions if shows_claims(debate) else ()
    return [left.model_dump() for extracted in extractions for left in extracted.left_out]


def describe_reading(debate: Debate, event: Observed | Extracted) -> tuple[str, str]:
    """(who read a round, what it says of it). `event`: as people read it."""
    if isinstance(event, Observed):
        return "Observer", describe_observation(debate, event)
    return "Analyst", describe_extraction(debate, name_debate(debate), event.round)


def build_judgment(judged: Judged) -> dict[str, Any]:
    """A reading with the ids of the points that it names."""
    fields = {"seat", "slot_index", "winner", "margin", "verdict", "reasoning"}
    return {**judged.model_dump(include=fields), "cited": [format_id(one, one.seat) for one in judged.cited]}


def build_ballot(ballot: Balloted) -> dict[str, Any]:
    """A ballot with the choice that follows from its beliefs. Beliefs are exact decimals, together one."""
    left_out = {"kind", "round", "slot_index", "seen", "usage"}
    return {"choice": ballot.choice, **ballot.model_dump(exclude=left_out)}


def list_tasks(debate: Debate) -> list[dict[str, Any]]:
    """Every model call as a task of a seat (requirement C16), by round: the done, the failed, the open ones."""
    named = name_debate(debate)
    tasks = [
        build_task(debate, answer, answered_task(answer), "done", answer.usage)
        for answer in (*debate.answers, *debate.research)
        if answer.usage
    ]
    tasks += [
        build_task(debate, lost, failed_task(debate, lost), "failed", lost.usage, lost.attempts, lost.detail)
        for lost in named.failures
    ]
    tasks += [build_task(debate, f, "handoff", "failed", detail=f.detail) for f in named.handoff_failures]
    tasks += [build_task(debate, c, c.task, "open", attempts=c.attempt) for c in pending_calls(debate)]
    return sorted(tasks, key=lambda task: int(task["round"]))


def build_task(
    debate: Debate,
    slot: SlotEvent | Call,
    task: str,
    state: str,
    usage: Usage | None = None,
    attempts: int = 1,
    detail: str = "",
) -> dict[str, Any]:
    return {
        "round": slot.round,
        "phase": debate.rounds[slot.round - 1].phase if slot.round else "",
        "seat": slot.seat,
        "task": task,
        "state": state,
        "model": usage.model if usage else current_model(debate, slot.seat),
        "milliseconds": usage.milliseconds if usage else 0,
        "attempts": usage.attempts if usage else attempts,
        "detail": detail,
    }


def failed_task(debate: Debate, failure: Failed) -> str:
    if failure.seat in (FRAMER, READER):
        return "framing" if failure.seat == FRAMER else "digest"
    if failure.seat == MODERATOR:
        return "closing" if failure.slot_index else "opening"
    if is_private_ballot(failure.slot_index):
        return "ballot"
    wants = debate.round_phase(failure.round).wants
    if failure.seat in debate.names or wants == "ballot":
        return "answer" if wants == "message" and failure.slot_index else wants
    return OFFICER_TASKS.get(failure.seat, "judgment")


def answered_task(answer: AnswerEvent | Researched) -> str:
    if isinstance(answer, Spoke):
        return answer.act if answer.act in ("argument", "answer") else "message"
    return ANSWER_TASKS[answer.kind]


def build_extraction(named: Debate) -> dict[str, Any]:
    """What the analyst read, and what it could not."""
    return {
        "rounds": [extracted.round for extracted in named.extractions if extracted.informative],
        "unread_rounds": list_unread_rounds(named),
        "claims": sum(len(extracted.claims) for extracted in named.extractions),
        "dropped": sum(extracted.dropped for extracted in named.extractions),
        "unknown": sum(extracted.unknown for extracted in named.extractions),
        "unclear": list_unclear(named),
    }


def build_analysis(debate: Debate, at: str = "") -> dict[str, Any]:
    """Counts by round, debater and judge. They are counts, not scores: nothing here is calibrated.

    `at`: when the debate was opened, in ISO 8601; "" where unknown.
    """
    counted = {"turns": debate.turns, "judgments": debate.judgments, "failures": debate.all_failures}
    judges: dict[str, list[dict[str, Any]]] = {judge: [] for judge in judge_seats(debate.setup)}
    for judged in visible_judgments(debate):
        reading = {"reading": judged.slot_index, "winner": judged.winner, "margin": judged.margin}
        judges[judged.seat].append(reading)
    debaters = {}
    for name in debate.names:
        turns = [turn for turn in name_debate(debate).turns if turn.seat == name]
        debaters[name] = {
            "turns": len(turns),
            "words": sum(len(turn.text.split()) for turn in turns),
            "cut": sum(turn.cut for turn in turns),
            "failures": count_failures(debate, name),
        }
    rounds = [
        {"round": entered.round, "phase": entered.phase}
        | {what: sum(fact.round == entered.round for fact in facts) for what, facts in counted.items()}
        for entered in debate.rounds
    ]
    found = {"rounds": rounds, "debaters": debaters, "judges": judges}
    found["documents"] = build_reading(name_debate(debate))
    if debate.setup.reader:
        spent = [fact.usage for fact in debate.digests]
        spent += [lost.usage for lost in debate.failures if lost.seat == READER and lost.usage]
        found["digest_cost"] = sum_usage(spent).model_dump()
    found["claims"] = claims.build_analysis(hide_answers(debate))
    found["evidence"] = build_evidence(debate, at) if is_visible(debate, "debaters") else []
    if debate.setup.analyst and shows_claims(debate):
        found["extraction"] = build_extraction(name_debate(debate))
    is_observed = debate.setup.observer is not None and shows_marks(debate)
    return found | ({"rhetoric": build_rhetoric(name_debate(debate))} if is_observed else {})
