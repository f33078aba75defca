"""Debates for those who look closely: who steered, what was asked of whom, every event, the receipt."""

from collections.abc import Sequence
from typing import Any, assert_never, get_args

from pydantic import BaseModel

from server.debate.commands.intervene import ACTIONS
from server.debate.facts.config import MODERATOR, REFEREE, SYNTHESIZER, SeatKind
from server.debate.facts.events import (
    Audited,
    Balloted,
    Concluded,
    DefaultPlanUsed,
    Ended,
    Event,
    Failed,
    HandedOff,
    HandoffFailed,
    Judged,
    Opened,
    Paused,
    PhaseEntered,
    Recorded,
    Researched,
    Resumed,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
    Task,
    Usage,
    format_end_cause,
)
from server.debate.facts.interventions import InterventionEvent, InterventionFact
from server.debate.facts.state import Debate, judge_seats, seat_kind
from server.debate.rules.decide import is_round_over, pending_calls, status
from server.debate.rules.schedule import current_model, seat_models
from server.debate.views.state import count_failures, is_visible, judgments, moderator_decision, turns

EVENT_NAMES: dict[str, tuple[str, ...]] = {
    "opened": ("debate_start",),
    "phase_entered": ("phase_start",),
    "round_opened": ("agent_message",),
    "spoke": ("agent_message",),
    "default_plan_used": ("agent_message",),
    "handed_off": ("handoff",),
    "handoff_failed": ("agent_error",),
    "researched": ("research",),
    "failed": ("agent_error",),
    "audited": ("agent_message",),
    "round_closed": ("agent_message",),
    "balloted": ("vote",),
    "judged": ("vote",),
    "concluded": ("consensus",),
    "synthesized": ("agent_message",),
    **{arm.model_fields["kind"].default: ("intervention",) for arm in get_args(InterventionEvent)},
    "paused": ("debate_pause",),
    "resumed": ("debate_resume",),
    "ended": ("debate_end",),
}
"""What each kind of fact is called by those who subscribe to debates (requirement D21).

A round that begins ends the one before, and so does the end of the debate: `phase_end` comes first.
"""


class InterventionRow(BaseModel):
    seq: int
    at: str
    actor: str
    action: str
    reason: str
    text: str
    to: str


class TaskRow(BaseModel):
    """One question to one seat: what became of it, and how long it took (requirement C16)."""

    round: int
    phase: str
    seat: str
    task: str
    state: str  # open, done, failed
    model: str
    milliseconds: int
    attempts: int
    detail: str


def interventions(debate: Debate, log: Sequence[Recorded]) -> dict[str, Any]:
    """Who steered the debate, how and why, and what is in force."""
    rows = []
    for entry in log:
        made = entry.event
        if isinstance(made, InterventionFact):
            rows.append(intervention_row(entry, made.action, made.reason, made.summary, made.target))
        elif isinstance(made, Paused | Resumed):
            action = "pause" if isinstance(made, Paused) else "resume"
            rows.append(intervention_row(entry, action, made.reason))
    settings = {
        "paused": debate.paused is not None,
        "concluding": debate.is_concluding,
        "max_rounds": debate.max_rounds,
        "limits": debate.limits.model_dump(),
        "weights": {seat: str(weight) for seat, weight in debate.weights.items()},
        "threshold": str(debate.threshold or ""),
        "models": {seat: current_model(debate, seat) for seat in seat_models(debate.setup)},
        "retracted": [{"seat": seat, "round": number} for seat, number, _ in sorted(debate.retracted_turns)],
        "actions": ACTIONS,
    }
    return {"settings": settings, "log": [made.model_dump() for made in rows]}


def intervention_row(
    entry: Recorded, action: str, reason: str, text: str = "", to: str = ""
) -> InterventionRow:
    return InterventionRow(
        seq=entry.seq, at=entry.at, actor=entry.actor, action=action, reason=reason, text=text, to=to
    )


def analysis(debate: Debate) -> dict[str, Any]:
    """Counts of what happened, by round and by debater. Counts, not scores: nothing here is calibrated."""
    return {
        "rounds": [
            {
                "round": entered.round,
                "phase": entered.phase,
                "turns": sum(turn.round == entered.round for turn in debate.turns),
                "judgments": sum(judged.round == entered.round for judged in debate.judgments),
                "failures": len(find_round_failures(debate, entered.round)),
            }
            for entered in debate.rounds
        ],
        "debaters": {
            debater.name: {
                "turns": sum(turn.seat == debater.name for turn in debate.turns),
                "words": sum(len(turn.text.split()) for turn in debate.turns if turn.seat == debater.name),
                "cut": sum(turn.cut for turn in debate.turns if turn.seat == debater.name),
                "failures": count_failures(debate, debater.name),
            }
            for debater in debate.setup.debaters
        },
        "judges": {
            judge: [
                {"reading": judged.slot_index, "winner": judged.winner, "margin": judged.margin}
                for judged in judgments(debate)
                if judged.seat == judge
            ]
            for judge in judge_seats(debate.setup)
        },
    }


def receipt(debate_id: str, debate: Debate, log: Sequence[Recorded]) -> dict[str, Any]:
    """What to keep in order to prove later that nothing was altered: the head of the chain."""
    return {
        "debate_id": debate_id,
        "status": status(debate),
        "entries": log[-1].seq,
        "head": log[-1].hash,
        "algorithm": "sha256(tag + previous + JCS(entry)), tag counterpoint/entry/1",
        "verified": "every entry was checked against the chain when this was read",
        "at": log[-1].at,
    }


def event_row(entry: Recorded, hidden_kinds: Sequence[SeatKind] = ()) -> dict[str, Any]:
    """An entry as it was recorded. Of a seat that is hidden from clients it says only that it answered."""
    event = entry.event
    kept = {"kind", "seat", "round", "usage"} if find_seat_kind(event) in hidden_kinds else None
    return {
        "seq": entry.seq,
        "at": entry.at,
        "actor": entry.actor,
        "hash": entry.hash,
        "names": event_names(event),
        **event.model_dump(mode="json", include=kept),
    }


def event_names(event: Event) -> list[str]:
    names = EVENT_NAMES[event.kind]
    ends_one = event.kind == "ended" or (event.kind == "phase_entered" and event.round > 1)
    return ["phase_end", *names] if ends_one else list(names)


def find_seat_kind(event: Event) -> SeatKind | None:
    """Whose answer an event is; None for what is not hidden with any seat."""
    match event:
        case Spoke() | Balloted() | Researched() | RoundOpened() | RoundClosed() | Audited():
            return seat_kind(event.seat)
        case Judged() | Synthesized():
            return seat_kind(event.seat)
        case Opened() | PhaseEntered() | DefaultPlanUsed() | HandedOff() | HandoffFailed() | Failed():
            return None
        case Concluded() | InterventionFact() | Paused() | Resumed() | Ended():
            return None
        case _:
            assert_never(event)


def tasks(debate: Debate) -> list[TaskRow]:
    """Every question of the debate, round by round: the answered, the failed, the open ones."""
    rows = [
        task_row(debate, fact.round, fact.seat, task_name(fact), "done", fact.usage)
        for fact in (*debate.replies, *debate.research)
        if fact.usage is not None
    ]
    rows += [
        task_row(
            debate, f.round, f.seat, failed_task_name(debate, f), "failed", f.usage, f.attempts, f.detail
        )
        for f in debate.failures
    ]
    rows += [
        task_row(debate, f.round, f.seat, "handoff", "failed", None, 1, f.detail)
        for f in debate.handoff_failures
    ]
    if not debate.ended:
        rows += [
            task_row(debate, c.round, c.seat, c.task, "open", None, c.attempt) for c in pending_calls(debate)
        ]
    return sorted(rows, key=lambda row: row.round)


def task_row(
    debate: Debate,
    round_number: int,
    seat: str,
    name: str,
    state: str,
    usage: Usage | None,
    attempts: int = 1,
    detail: str = "",
) -> TaskRow:
    return TaskRow(
        round=round_number,
        phase=debate.rounds[round_number - 1].phase,
        seat=seat,
        task=name,
        state=state,
        model=usage.model if usage else current_model(debate, seat),
        milliseconds=usage.milliseconds if usage else 0,
        attempts=usage.attempts if usage else attempts,
        detail=detail,
    )


def failed_task_name(debate: Debate, failure: Failed) -> str:
    """What the seat was asked for when it failed."""
    if failure.seat == MODERATOR:
        return "closing" if failure.slot_index else "opening"
    wants = debate.round_phase(failure.round).wants
    if failure.seat in debate.names or wants == "ballot":
        return "answer" if wants == "message" and failure.slot_index else wants
    return {REFEREE: "audit", SYNTHESIZER: "deliverable"}.get(failure.seat, "judgment")


def task_name(event: Event) -> str:
    names: dict[str, Task] = {
        "round_opened": "opening",
        "round_closed": "closing",
        "audited": "audit",
        "balloted": "ballot",
        "judged": "judgment",
        "synthesized": "deliverable",
    }
    if isinstance(event, Spoke):
        return event.act if event.act in ("argument", "answer") else "message"
    return names.get(event.kind, "research")


def round_view(debate: Debate, round_number: int) -> dict[str, Any]:
    """One round: what was said, judged and decided in it, its failures, and whether more is to come."""
    entered = debate.rounds[round_number - 1]
    led, audited = is_visible(debate, "moderator"), is_visible(debate, "referee")
    ballots = [b for b in debate.round_ballots(round_number) if is_visible(debate, seat_kind(b.seat))]
    return {
        "round": round_number,
        "phase": entered.phase,
        "because": format_end_cause(entered.because, entered.detail),
        "over": round_number < debate.round or is_round_over(debate),
        "openings": [
            moderator_decision(made) for made in debate.round_plans if led and made.round == round_number
        ],
        "turns": [
            t.model_dump(exclude_defaults=True)
            for t in turns(debate, round_number)
            if t.round == round_number
        ],
        "audits": [made.text for made in debate.audits if audited and made.round == round_number],
        "closings": [
            made.model_dump(include={"summary", "settled", "decision"})
            for made in debate.round_summaries
            if led and made.round == round_number
        ],
        "ballots": [ballot.model_dump(include={"seat", "choice", "reasoning"}) for ballot in ballots],
        "judgments": [judgment_row(judged) for judged in judgments(debate) if judged.round == round_number],
        "failures": [failure_row(failure) for failure in find_round_failures(debate, round_number)],
    }


def judgment_row(judged: Judged) -> dict[str, Any]:
    return judged.model_dump(include={"seat", "slot_index", "winner", "margin", "verdict", "reasoning"})


def find_round_failures(debate: Debate, round_number: int) -> list[Failed | HandoffFailed]:
    return [failure for failure in debate.all_failures if failure.round == round_number]


def failure_row(failure: Failed | HandoffFailed) -> dict[str, Any]:
    return failure.model_dump(include={"seat", "slot_index", "cause", "detail"})
