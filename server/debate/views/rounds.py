"""The rounds of a debate: one in detail, every model call as a task, and counts."""

from collections.abc import Iterable
from typing import Any, TypeVar

from server.debate.analysis import claims
from server.debate.arguments.points import format_id
from server.debate.ballots.waves import is_private_ballot
from server.debate.documents.digests import build_reading
from server.debate.documents.evidence import build_evidence
from server.debate.facts.advice import ADVICE_FACTS
from server.debate.facts.answers import DefaultPlanUsed, Measured, Reading, Researched, SlotFact, Usage
from server.debate.facts.causes import format_end_cause
from server.debate.facts.events import AnswerEvent, Balloted, Failed, Judged, SlotEvent, Spoke
from server.debate.facts.fact import Fact
from server.debate.facts.setup.phases import ADVICE_TASKS
from server.debate.facts.setup.seats import FRAMER, METER, MODERATOR, READER, SYNTHESIZER, WRITER, SeatKind
from server.debate.machine.decide import is_round_over
from server.debate.rules.calls import Call, pending_calls
from server.debate.rules.schedule import is_blind_answer
from server.debate.seats.registry import DUTIES, SEATS, find_seat, name_task
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.seats import current_model
from server.debate.views.findings import visible_judgments
from server.debate.views.names import name_debate
from server.debate.views.state import Turn, count_failures, sum_usage, visible_turns
from server.debate.views.verdict import build_moderator_decision
from server.debate.views.visibility import hide_answers, is_visible, shows_seat

T = TypeVar("T", bound=SlotFact | DefaultPlanUsed | Turn)

ANSWER_TASKS: dict[type[Fact], str] = {
    **{fact: task for task, fact in ADVICE_FACTS.items()},
    **{duty.fact: duty.task for duty in (*DUTIES.values(), *SEATS)},
    Measured: "measurement",
    Balloted: "ballot",
    Judged: "judgment",
    Researched: "research",
}
"""The task behind each kind of answer, apart from turns."""

OFFICER_TASKS = {
    METER: "measurement",
    SYNTHESIZER: "deliverable",
    **{seat.name: seat.task for seat in SEATS},
}


def build_round(debate: Debate, round_number: int) -> dict[str, Any]:
    """What was said, judged and decided in a round, its failures, and whether it is over."""

    def select(facts: Iterable[T], kind: SeatKind | None = None) -> list[T]:
        return [f for f in facts if f.round == round_number and (kind is None or is_visible(debate, kind))]

    def dump(facts: Iterable[Fact], *fields: str) -> list[dict[str, Any]]:
        return [fact.model_dump(include=set(fields)) for fact in facts]

    entry = debate.rounds[round_number - 1]
    is_over = round_number < debate.round or is_round_over(debate)
    recorded, debate = hide_answers(debate), name_debate(debate)
    ballots = [b for b in debate.round_ballots(round_number) if shows_seat(debate, b.seat)]
    judgments = select(visible_judgments(debate))
    return {
        "round": round_number,
        "phase": entry.phase,
        "because": format_end_cause(entry.because, entry.detail),
        "over": is_over,
        "openings": [build_moderator_decision(plan) for plan in select(debate.round_plans, "moderator")],
        "turns": [
            turn.model_dump(exclude_defaults=True) for turn in select(visible_turns(debate, round_number))
        ],
        "advice": [event.model_dump(exclude={"kind", "seen", "usage"}) for event in select(debate.advice)],
        **build_seat_fields(recorded, debate, round_number),
        "closings": dump(select(debate.round_summaries, "moderator"), "summary", "settled", "decision"),
        "ballots": [build_ballot(ballot) for ballot in ballots],
        "judgments": [build_judgment(judgment) for judgment in judgments],
        "failures": dump(select(debate.all_failures), "seat", "slot_index", "cause", "detail"),
    }


def build_seat_fields(recorded: Debate, named: Debate, round_number: int) -> dict[str, Any]:
    """The readings of seats in a round; empty fields for seats that clients may not see."""
    fields: dict[str, Any] = {}
    for seat in SEATS:
        seat_fields = seat.build_round_fields(recorded, named, round_number)
        fields |= seat_fields if seat.is_visible(recorded) else {name: [] for name in seat_fields}
    return fields


def describe_reading(debate: Debate, event: Reading) -> tuple[str, str]:
    """(who read a round, what the reading says). `event`: as people read it."""
    seat = find_seat(event)
    return seat.title, seat.describe(hide_answers(debate), name_debate(debate), event)


def build_judgment(judgment: Judged) -> dict[str, Any]:
    """A reading with the position it finds better by each criterion, and the ids of the points that it names."""
    fields = {"seat", "slot_index", "winner", "margin", "verdict", "reasoning"}
    return {
        **judgment.model_dump(include=fields),
        "criteria": {criterion.name: criterion.better for criterion in judgment.criteria},
        "cited": [format_id(point, point.seat) for point in judgment.cited],
    }


def build_ballot(ballot: Balloted) -> dict[str, Any]:
    """A ballot with the choice that follows from its beliefs. Beliefs are exact decimals, in sum one."""
    left_out = {"kind", "round", "slot_index", "seen", "usage"}
    return {"choice": ballot.choice, **ballot.model_dump(exclude=left_out)}


def list_tasks(debate: Debate) -> list[dict[str, Any]]:
    """Every model call as a task of a seat (requirement C16), by round: done, failed, then open."""
    named = name_debate(debate)
    tasks = [
        build_task(debate, answer, answered_task(answer), "done", answer.usage)
        for answer in (*debate.answers, *debate.research)
        if answer.usage
    ]
    tasks += [
        build_task(
            debate,
            failure,
            failed_task(debate, failure),
            "failed",
            failure.usage,
            failure.attempts,
            failure.detail,
        )
        for failure in named.failures
    ]
    tasks += [build_task(debate, f, "handoff", "failed", detail=f.detail) for f in named.handoff_failures]
    tasks += [build_task(debate, c, name_task(c), "open", attempts=c.attempt) for c in pending_calls(debate)]
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
        framing = "blind_answer" if is_blind_answer((failure.seat, failure.slot_index)) else "framing"
        return framing if failure.seat == FRAMER else "digest"
    if failure.seat == MODERATOR:
        return "closing" if failure.slot_index else "opening"
    if is_private_ballot(failure.slot_index):
        return "ballot"
    wants = debate.round_phase(failure.round).wants
    if failure.seat == WRITER:
        return "report"
    if failure.seat in debate.names or wants in ("ballot", *ADVICE_TASKS):
        return "answer" if wants == "message" and failure.slot_index else wants
    return OFFICER_TASKS.get(failure.seat, "judgment")


def answered_task(answer: AnswerEvent | Researched) -> str:
    if isinstance(answer, Spoke):
        return answer.act if answer.act in ("argument", "answer") else "message"
    return ANSWER_TASKS[type(answer)]


def build_analysis(debate: Debate, at: str = "") -> dict[str, Any]:
    """Counts by round, debater and judge. They are counts, not scores: nothing here is calibrated.

    `at`: when the debate was opened, in ISO 8601; "" if unknown.
    """
    facts_by_kind = {"turns": debate.turns, "judgments": debate.judgments, "failures": debate.all_failures}
    judges: dict[str, list[dict[str, Any]]] = {judge: [] for judge in judge_seats(debate.setup)}
    for judgment in visible_judgments(debate):
        reading = {"reading": judgment.slot_index, "winner": judgment.winner, "margin": judgment.margin}
        judges[judgment.seat].append(reading)
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
        {"round": entry.round, "phase": entry.phase}
        | {kind: sum(fact.round == entry.round for fact in facts) for kind, facts in facts_by_kind.items()}
        for entry in debate.rounds
    ]
    analysis = {"rounds": rounds, "debaters": debaters, "judges": judges}
    analysis["documents"] = build_reading(name_debate(debate))
    if debate.setup.reader:
        usages = [fact.usage for fact in debate.digests]
        usages += [failure.usage for failure in debate.failures if failure.seat == READER and failure.usage]
        analysis["digest_cost"] = sum_usage(usages).model_dump()
    analysis["claims"] = claims.build_analysis(hide_answers(debate))
    analysis["evidence"] = build_evidence(debate, at) if is_visible(debate, "debaters") else []
    for seat in SEATS:
        if debate.setup.find_officer(seat.name) and seat.is_visible(debate):
            analysis |= seat.build_analysis_fields(name_debate(debate))
    return analysis
