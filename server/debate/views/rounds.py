"""The rounds of a debate: one in detail, every model call as a task, and counts."""

from typing import Any

from server.debate.facts import events
from server.debate.facts.config import MODERATOR, REFEREE, SYNTHESIZER
from server.debate.facts.state import Debate, judge_seats, seat_kind
from server.debate.rules.decide import is_round_over, pending_calls
from server.debate.rules.schedule import current_model
from server.debate.views.state import count_failures, is_visible
from server.debate.views.verdict import build_moderator_decision, visible_judgments, visible_turns

JUDGMENT_FIELDS = {"seat", "slot_index", "winner", "margin", "verdict", "reasoning"}

ANSWER_TASKS: dict[str, str] = {
    "round_opened": "opening",
    "round_closed": "closing",
    "audited": "audit",
    "balloted": "ballot",
    "judged": "judgment",
    "synthesized": "deliverable",
    "researched": "research",
}
"""The task that each kind of answer fulfils, apart from turns."""


def build_round(debate: Debate, round_number: int) -> dict[str, Any]:
    """What was said, judged and decided in a round, its failures, and whether it is over."""
    entered = debate.rounds[round_number - 1]
    plans = debate.round_plans if is_visible(debate, "moderator") else ()
    closings = debate.round_summaries if is_visible(debate, "moderator") else ()
    audits = debate.audits if is_visible(debate, "referee") else ()
    ballots = [b for b in debate.round_ballots(round_number) if is_visible(debate, seat_kind(b.seat))]
    turns = [turn for turn in visible_turns(debate, round_number) if turn.round == round_number]
    judgments = [judged for judged in visible_judgments(debate) if judged.round == round_number]
    failures = [failed for failed in debate.all_failures if failed.round == round_number]
    return {
        "round": round_number,
        "phase": entered.phase,
        "because": events.format_end_cause(entered.because, entered.detail),
        "over": round_number < debate.round or is_round_over(debate),
        "openings": [build_moderator_decision(plan) for plan in plans if plan.round == round_number],
        "turns": [turn.model_dump(exclude_defaults=True) for turn in turns],
        "audits": [audit.text for audit in audits if audit.round == round_number],
        "closings": [
            closing.model_dump(include={"summary", "settled", "decision"})
            for closing in closings
            if closing.round == round_number
        ],
        "ballots": [ballot.model_dump(include={"seat", "choice", "reasoning"}) for ballot in ballots],
        "judgments": [judged.model_dump(include=JUDGMENT_FIELDS) for judged in judgments],
        "failures": [f.model_dump(include={"seat", "slot_index", "cause", "detail"}) for f in failures],
    }


def list_tasks(debate: Debate) -> list[dict[str, Any]]:
    """Every model call as a task of a seat (requirement C16), by round: the done, the failed, the open ones."""
    rows = [
        build_task(debate, answer.round, answer.seat, answered_task(answer), "done", answer.usage)
        for answer in (*debate.answers, *debate.research)
        if answer.usage is not None
    ]
    rows += [
        build_task(debate, f.round, f.seat, failed_task(debate, f), "failed", f.usage, f.attempts, f.detail)
        for f in debate.failures
    ]
    rows += [
        build_task(debate, failed.round, failed.seat, "handoff", "failed", detail=failed.detail)
        for failed in debate.handoff_failures
    ]
    if not debate.ended:
        rows += [
            build_task(debate, call.round, call.seat, call.task, "open", attempts=call.attempt)
            for call in pending_calls(debate)
        ]
    return sorted(rows, key=lambda row: int(row["round"]))


def build_task(
    debate: Debate,
    round_number: int,
    seat: str,
    task: str,
    state: str,
    usage: events.Usage | None = None,
    attempts: int = 1,
    detail: str = "",
) -> dict[str, Any]:
    return {
        "round": round_number,
        "phase": debate.rounds[round_number - 1].phase,
        "seat": seat,
        "task": task,
        "state": state,
        "model": usage.model if usage else current_model(debate, seat),
        "milliseconds": usage.milliseconds if usage else 0,
        "attempts": usage.attempts if usage else attempts,
        "detail": detail,
    }


def failed_task(debate: Debate, failure: events.Failed) -> str:
    if failure.seat == MODERATOR:
        return "closing" if failure.slot_index else "opening"
    wants = debate.round_phase(failure.round).wants
    if failure.seat in debate.names or wants == "ballot":
        return "answer" if wants == "message" and failure.slot_index else wants
    return {REFEREE: "audit", SYNTHESIZER: "deliverable"}.get(failure.seat, "judgment")


def answered_task(answer: events.AnswerEvent | events.Researched) -> str:
    if isinstance(answer, events.Spoke):
        return answer.act if answer.act in ("argument", "answer") else "message"
    return ANSWER_TASKS[answer.kind]


def build_analysis(debate: Debate) -> dict[str, Any]:
    """Counts by round, debater and judge. They are counts, not scores: nothing here is calibrated."""
    counted = {"turns": debate.turns, "judgments": debate.judgments, "failures": debate.all_failures}
    judges: dict[str, list[dict[str, Any]]] = {judge: [] for judge in judge_seats(debate.setup)}
    for judged in visible_judgments(debate):
        reading = {"reading": judged.slot_index, "winner": judged.winner, "margin": judged.margin}
        judges[judged.seat].append(reading)
    debaters = {}
    for name in debate.names:
        turns = [turn for turn in debate.turns if turn.seat == name]
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
    return {"rounds": rounds, "debaters": debaters, "judges": judges}
