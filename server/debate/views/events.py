"""The events of a debate as rows for clients and hooks: all, the interventions, and the receipt of their chain."""

from collections.abc import Sequence
from typing import Any, get_args

from server.debate.commands.intervene import ACTIONS
from server.debate.facts.config import AnySeatKind, SeatKind
from server.debate.facts.events import AnswerEvent, Event, Paused, Recorded, Researched, Resumed
from server.debate.facts.interventions import InterventionEvent, InterventionFact, describe_change
from server.debate.facts.state import seat_kind
from server.debate.rules.decide import status
from server.debate.rules.schedule import current_model, seat_models
from server.debate.views.state import StoredDebate

EVENT_NAMES: dict[str, str] = {
    "opened": "debate_start",
    "positions_framed": "agent_message",
    "default_positions_used": "agent_message",
    "phase_entered": "phase_start",
    "block_ended": "block_end",
    "predicate_lost": "condition_lost",
    "round_opened": "agent_message",
    "spoke": "agent_message",
    "default_plan_used": "agent_message",
    "handed_off": "handoff",
    "handoff_failed": "agent_error",
    "researched": "research",
    "failed": "agent_error",
    "audited": "agent_message",
    "round_closed": "agent_message",
    "balloted": "vote",
    "judged": "vote",
    "concluded": "consensus",
    "synthesized": "agent_message",
    **{arm.model_fields["kind"].default: "intervention" for arm in get_args(InterventionEvent)},
    "paused": "debate_pause",
    "resumed": "debate_resume",
    "ended": "debate_end",
}
"""The public name of each kind of event (requirement D21)."""

PHASE_END = "phase_end"
"""The additional name of an event that ends a round: the start of the next one, or the end of the debate."""


def event_names(event: Event) -> list[str]:
    """The public names of an event, in the order in which they are delivered."""
    ends_round = event.kind == "ended" or (event.kind == "phase_entered" and event.round > 1)
    return [PHASE_END, EVENT_NAMES[event.kind]] if ends_round else [EVENT_NAMES[event.kind]]


def build_event_row(entry: Recorded, hidden_kinds: Sequence[SeatKind] = ()) -> dict[str, Any]:
    """An entry as it was recorded; of an answer of a hidden seat only that it was given, and its usage."""
    event = entry.event
    included = {"kind", "seat", "round", "usage"} if find_seat_kind(event) in hidden_kinds else None
    return {
        "seq": entry.seq,
        "at": entry.at,
        "actor": entry.actor,
        "hash": entry.hash,
        "names": event_names(event),
        **event.model_dump(mode="json", include=included),
    }


def find_seat_kind(event: Event) -> AnySeatKind | None:
    """The kind of seat whose answer an event is; None for events that no seat's visibility hides."""
    return seat_kind(event.seat) if isinstance(event, AnswerEvent | Researched) else None


def build_receipt(stored: StoredDebate) -> dict[str, Any]:
    """The head of the hash chain: kept elsewhere, it proves later that nothing was altered."""
    head = stored.entries[-1]
    return {
        "debate_id": stored.id,
        "status": status(stored.debate),
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
        "concluding": debate.is_concluding,
        "max_rounds": debate.max_rounds,
        "limits": debate.limits.model_dump(),
        "weights": {seat: str(weight) for seat, weight in debate.weights.items()},
        "threshold": str(debate.threshold or ""),
        "models": {seat: current_model(debate, seat) for seat in seat_models(debate.setup)},
        "retracted": [{"seat": seat, "round": number} for seat, number, _ in sorted(debate.retracted_turns)],
        "actions": ACTIONS,
    }
    log = []
    for entry in stored.entries:
        event, seat, text = entry.event, "", ""
        if isinstance(event, InterventionFact):
            action, (seat, text) = event.action, describe_change(event)
        elif isinstance(event, Paused | Resumed):
            action = "pause" if isinstance(event, Paused) else "resume"
        else:
            continue
        row = {"action": action, "reason": event.reason, "text": text, "to": seat}
        log.append({"seq": entry.seq, "at": entry.at, "actor": entry.actor, **row})
    return {"settings": settings, "log": log}
