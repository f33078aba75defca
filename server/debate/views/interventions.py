"""Interventions: who steered a debate, how and why, and which settings are in force."""

from collections.abc import Sequence
from typing import Any

from server.debate.commands.intervene import ACTIONS
from server.debate.facts.events import Event, Paused, Recorded, Resumed
from server.debate.facts.interventions import InterventionFact, describe_change
from server.debate.facts.state import Debate
from server.debate.rules.schedule import current_model, seat_models


def build_interventions(debate: Debate, entries: Sequence[Recorded]) -> dict[str, Any]:
    """{"settings": those in force, "log": a row for each intervention, the oldest first}."""
    log = [
        {"seq": entry.seq, "at": entry.at, "actor": entry.actor, **described}
        for entry in entries
        if (described := describe_intervention(entry.event))
    ]
    return {"settings": settings_in_force(debate), "log": log}


def describe_intervention(event: Event) -> dict[str, str]:
    """Action, reason, text and target of an intervention; {} for other events."""
    if isinstance(event, InterventionFact):
        seat, text = describe_change(event)
        return {"action": event.action, "reason": event.reason, "text": text, "to": seat}
    if isinstance(event, Paused | Resumed):
        action = "pause" if isinstance(event, Paused) else "resume"
        return {"action": action, "reason": event.reason, "text": "", "to": ""}
    return {}


def settings_in_force(debate: Debate) -> dict[str, Any]:
    return {
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
