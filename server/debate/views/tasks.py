"""Every model call of a debate as a task: open, done or failed."""

from typing import Literal

from pydantic import BaseModel

from server.debate.facts.config import MODERATOR, REFEREE, SYNTHESIZER
from server.debate.facts.events import Event, Failed, Spoke, Task, Usage
from server.debate.facts.state import Debate
from server.debate.rules.decide import pending_calls
from server.debate.rules.schedule import current_model

ANSWER_TASKS: dict[str, Task] = {
    "round_opened": "opening",
    "round_closed": "closing",
    "audited": "audit",
    "balloted": "ballot",
    "judged": "judgment",
    "synthesized": "deliverable",
}
"""The task that each kind of answer fulfils, apart from turns and research."""


class TaskRow(BaseModel):
    """One task of one seat, its state and its duration (requirement C16)."""

    round: int
    phase: str
    seat: str
    task: str
    state: Literal["open", "done", "failed"]
    model: str
    milliseconds: int
    attempts: int
    detail: str


def list_tasks(debate: Debate) -> list[TaskRow]:
    """The tasks by round; in each the done, then the failed, then the open ones."""
    rows = [
        build_task_row(debate, answer.round, answer.seat, answered_task(answer), "done", answer.usage)
        for answer in (*debate.answers, *debate.research)
        if answer.usage is not None
    ]
    for failure in debate.all_failures:
        usage, attempts = (failure.usage, failure.attempts) if isinstance(failure, Failed) else (None, 1)
        task = failed_task(debate, failure) if isinstance(failure, Failed) else "handoff"
        rows.append(
            build_task_row(
                debate, failure.round, failure.seat, task, "failed", usage, attempts, failure.detail
            )
        )
    if not debate.ended:
        rows += [
            build_task_row(debate, call.round, call.seat, call.task, "open", None, call.attempt)
            for call in pending_calls(debate)
        ]
    return sorted(rows, key=lambda row: row.round)


def build_task_row(
    debate: Debate,
    round_number: int,
    seat: str,
    task: str,
    state: Literal["open", "done", "failed"],
    usage: Usage | None,
    attempts: int = 1,
    detail: str = "",
) -> TaskRow:
    return TaskRow(
        round=round_number,
        phase=debate.rounds[round_number - 1].phase,
        seat=seat,
        task=task,
        state=state,
        model=usage.model if usage else current_model(debate, seat),
        milliseconds=usage.milliseconds if usage else 0,
        attempts=usage.attempts if usage else attempts,
        detail=detail,
    )


def failed_task(debate: Debate, failure: Failed) -> str:
    if failure.seat == MODERATOR:
        return "closing" if failure.slot_index else "opening"
    wants = debate.round_phase(failure.round).wants
    if failure.seat in debate.names or wants == "ballot":
        return "answer" if wants == "message" and failure.slot_index else wants
    return {REFEREE: "audit", SYNTHESIZER: "deliverable"}.get(failure.seat, "judgment")


def answered_task(event: Event) -> str:
    if isinstance(event, Spoke):
        return event.act if event.act in ("argument", "answer") else "message"
    return ANSWER_TASKS.get(event.kind, "research")
