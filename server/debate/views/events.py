"""The events of a debate as rows for clients and hooks: all, the interventions, and the receipt of their chain."""

import json
from itertools import takewhile
from typing import Any

from server.debate.facts.answers import MESSAGE_SLOT, Reading
from server.debate.facts.events import Balloted, Ended, Event, Paused, PhaseEntered, Recorded, Resumed
from server.debate.facts.interventions import InterventionFact
from server.debate.interventions.registry import ACTIONS, BY_FACT, find_action
from server.debate.seats.registry import SEATS, find_seat
from server.debate.state.debate import Debate
from server.debate.state.seats import current_model, seat_models
from server.debate.views.state import StoredDebate
from server.debate.views.visibility import is_blind, is_hidden, list_blind_answers

MESSAGES = (
    *("positions_framed", "round_opened", "default_plan_used", "spoke", "round_closed", "synthesized"),
    *("advised", "reviewed", "exchanged", "reported", "checked", "digested", "answered_blind"),
)
"""The kinds of events with the words of a seat."""

EVENT_NAMES: dict[str, str] = {
    **{seat.fact.model_fields["kind"].default: seat.event_names[0] for seat in SEATS},
    **dict.fromkeys(MESSAGES, "agent_message"),
    "opened": "debate_start",
    "phase_entered": "phase_start",
    "block_ended": "block_end",
    "predicate_lost": "condition_lost",
    "prompts_computed": "prompts_written",
    "prompt_functions_lost": "prompt_functions_lost",
    "handed_off": "handoff",
    "handoff_failed": "agent_error",
    "researched": "research",
    "failed": "agent_error",
    "balloted": "vote",
    "judged": "vote",
    "compared": "comparison",
    "converged": "convergence",
    "measured": "similarity",
    "alerted": "hollow_consensus_alert",
    "agreed": "consensus",
    **dict.fromkeys(("mirror_opened", "mirror_held", "mirror_skipped"), "escalation"),
    "concluded": "verdict",
    **{fact.model_fields["kind"].default: "intervention" for fact in BY_FACT},
    "outcome_recorded": "outcome",
    "paused": "debate_pause",
    "resumed": "debate_resume",
    "ended": "debate_end",
    "passage_read": "passage",
    "earlier_withdrawn": "memory_withdrawn",
}
"""The public name of each kind of event (requirement D21)."""

MAX_PAGE_LENGTH = 30_000
"""Characters of a page of events as JSON: with its frame, a result that clients show whole."""

SHOWN_FIELDS = ("kind", "seat", "round", "usage", "cause", "model", "attempts")
"""The fields shown of an event whose words are hidden: that it happened, its cost, and its kind of failure."""

CUT_TEXT_LENGTHS = (2_000, 400, 80)

PHASE_END = "phase_end"
ADDITIONAL_KINDS = {PHASE_END: ["phase_entered", "ended"]}
"""Additional names of events, here because they end a round."""


def event_names(debate: Debate, event: Event) -> list[str]:
    """The public names of an event, in the order of delivery. `debate`: after it, or later."""
    seat_name = find_seat(event).name_event(event) if isinstance(event, Reading) else ""
    names = [seat_name or EVENT_NAMES[event.kind]]
    if find_ended_round(debate, event):
        names.insert(0, PHASE_END)
    return names


def find_ended_round(debate: Debate, event: Event) -> PhaseEntered | None:
    """The round that an event ends; the start of the next round and the end of the debate end one."""
    number = event.round - 1 if isinstance(event, PhaseEntered) else 0
    if isinstance(event, Ended):
        number = debate.round
    return debate.rounds[number - 1] if number else None


def build_event_row(
    debate: Debate, entry: Recorded, *, is_hidden: bool = False, name: str = ""
) -> dict[str, Any]:
    """An entry as it was recorded; of a hidden answer only that it was given, and its usage.

    `debate`: after it, or later. `name`: one of its public names; the end of a phase describes the phase that ended.
    """
    event = entry.event
    ended_round = find_ended_round(debate, event)
    shown_fields = set(SHOWN_FIELDS) if is_hidden else None
    if ended_round and name == PHASE_END:
        fields = {"kind": event.kind, "phase": ended_round.phase, "round": ended_round.round}
    else:
        fields = event.model_dump(mode="json", include=shown_fields)
    if isinstance(event, Balloted) and not is_hidden:
        fields["choice"] = event.choice
    if ended_round and not name:
        fields["ended_phase"] = ended_round.phase
    return {
        "seq": entry.seq,
        "at": entry.at,
        "actor": entry.actor,
        "hash": entry.hash,
        "names": [name] if name else event_names(debate, event),
        **fields,
    }


def list_shown_entries(stored: StoredDebate) -> tuple[Recorded, ...]:
    """The entries that readers may see, in order: up to the first answer that is not shown yet.

    So a reader who goes on from the last entry seen misses nothing when that answer is shown.
    """
    blind = list_blind_answers(stored.debate)
    return tuple(takewhile(lambda entry: not is_blind(entry.event, blind), stored.entries))


def build_event_page(stored: StoredDebate, since_seq: int, *, is_whole: bool = False) -> dict[str, Any]:
    """{"events": a row for each entry after that one, "next_seq": where the next page begins, "more": if there is one}.

    `is_whole`: all of them. Otherwise a page is at most `MAX_PAGE_LENGTH` long; long texts are cut in a row that
    alone would be longer.
    """
    entries, rows, length = list_shown_entries(stored), list[dict[str, Any]](), 0
    for entry in entries[since_seq:]:
        row = build_event_row(stored.debate, entry, is_hidden=is_hidden(stored.debate, entry.event))
        if not is_whole:
            row = cut_row(row)
            length += count_json(row)
            if rows and length > MAX_PAGE_LENGTH:
                break
        rows.append(row)
    next_seq = rows[-1]["seq"] if rows else since_seq
    return {"events": rows, "next_seq": next_seq, "more": next_seq < len(entries)}


def cut_row(row: dict[str, Any]) -> dict[str, Any]:
    """The row, with texts cut as far as needed to fit on a page; then `cut` is set."""
    lengths = iter(CUT_TEXT_LENGTHS)
    shorter = row
    while count_json(shorter) > MAX_PAGE_LENGTH and (length := next(lengths, 0)):
        shorter = {**cut_texts(row, length), "cut": True}
    return shorter


def cut_texts(value: Any, length: int) -> Any:
    if isinstance(value, dict):
        return {key: cut_texts(part, length) for key, part in value.items()}
    if isinstance(value, list):
        return [cut_texts(part, length) for part in value]
    return value[:length] + "…" if isinstance(value, str) and len(value) > length else value


def count_json(row: dict[str, Any]) -> int:
    """Characters of the row as ASCII JSON: no encoding of it is longer."""
    return len(json.dumps(row))


def build_receipt(stored: StoredDebate) -> dict[str, Any]:
    """The head of the hash chain: stored elsewhere, it proves later that nothing was changed."""
    head = stored.entries[-1]
    return {
        "debate_id": stored.id,
        "status": stored.status,
        "entries": head.seq,
        "head": head.hash,
        "algorithm": "sha256(tag + previous + JCS(entry)), tag counterpoint/entry/1",
        "verified": "every entry was checked against the chain when this was read",
        "at": head.at,
    }


def build_interventions(stored: StoredDebate) -> dict[str, Any]:
    """{"settings": those in force, "log": a row for each intervention, the oldest first}."""
    debate = stored.debate
    settings = {
        "paused": debate.paused is not None,
        "pause_when": list(map(str, debate.setup.pause_when)),
        "concluding": debate.is_concluding,
        "max_rounds": debate.max_rounds,
        "limits": debate.limits.model_dump(),
        "weights": {seat: str(weight) for seat, weight in debate.weights.items()},
        "threshold": str(debate.threshold or ""),
        "voting": debate.voting.model_dump() if debate.voting else None,
        "models": {seat: current_model(debate, seat) for seat in seat_models(debate.setup)},
        "retracted": [
            {"seat": seat, "round": number}
            for seat, number, slot in sorted(debate.retracted_turns)
            if slot != MESSAGE_SLOT
        ],
        "actions": ACTIONS,
    }
    log = []
    for entry in stored.entries:
        event, seat, text = entry.event, "", ""
        if not isinstance(event, InterventionFact | Paused | Resumed):
            continue
        if isinstance(event, InterventionFact):
            seat, text = find_action(event).describe(event)
            text = "" if is_hidden(debate, event) else text
        row = {"action": find_action(event).name, "reason": event.reason, "text": text, "to": seat}
        log.append({"seq": entry.seq, "at": entry.at, "actor": entry.actor, **row})
    return {"settings": settings, "log": log}
