"""The exact texts that the models of a debate read, rendered again from the facts that each of them had seen."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from server.debate.answer.debates import build_panel
from server.debate.answer.prompts import find_own_label, order_answers, order_reviews
from server.debate.facts.answers import Answer, Measured, Researched, SlotFact
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Failed, Recorded
from server.debate.machine.render import render
from server.debate.machine.transitions import apply
from server.debate.prompts.prompt import Prompt
from server.debate.replies.extract import normalize_name
from server.debate.rules.calls import Call, acceptable_slots, build_call
from server.debate.seats.registry import name_task
from server.debate.state.debate import Debate
from server.debate.state.labels import order_sides
from server.debate.state.seats import seat_models
from server.debate.views.visibility import keeps_ballots

HIDDEN = "Prompts hold what this debate hides from its readers."
KEPT = "Prompts hold what the caller's own seat has not read: they are shown when the debate has ended."


def list_calls(
    debate: Debate, entries: Sequence[Recorded], seat: str, round_number: int
) -> list[dict[str, Any]]:
    """A row for each call that was made in this debate. `seat`: "" for all; `round_number`: 0 for all.

    Raises:
        InvalidRequestError: no seat has this name.
    """
    if find_obstacle(debate):
        return []
    seats = {normalize_name(name): name for name in (*seat_models(debate.setup), *find_seats(entries))}
    name = seats.get(normalize_name(seat), "")
    if seat and not name:
        raise InvalidRequestError(f"Nobody is called {seat[:60]!r}. Seats: {', '.join(seats.values())}.")
    return [
        {
            "seq": entry.seq,
            "seat": call.seat,
            "round": call.round,
            "task": name_task(call),
            "reading": call.reading,
            "model": call.model,
            "labels": explain_labels(at, call, prompt),
            "messages": [asdict(message) for message in prompt.messages],
        }
        for entry, at, call, prompt in render_calls(debate, entries)
        if name in ("", call.seat) and round_number in (0, call.round)
    ]


def explain_labels(debate: Debate, call: Call, prompt: Prompt) -> dict[str, str]:
    """Who is behind each label in a prompt: a side, or the author of an answer or a review."""
    panel, text = build_panel(debate), prompt.messages[-1].content
    if call.task == "review":
        labels = order_answers(panel, call.seat, call.slot_index)
    elif call.task == "exchange":
        answers = order_answers(panel, call.seat, panel.reviewed[call.seat][0].slot_index)
        labels = answers | order_reviews(panel, call.seat) | {find_own_label(panel): call.seat}
    else:
        labels = order_sides(debate, max(call.reading, 1))
    return {label: name for label, name in labels.items() if label in text}


def find_obstacle(debate: Debate) -> str:
    """Why readers may not see prompts, which hold the words of all seats; "" if they may."""
    return HIDDEN if debate.setup.hidden_from_client else KEPT if keeps_ballots(debate) else ""


def find_seats(entries: Sequence[Recorded]) -> list[str]:
    """Everybody who answered: also advisors and officers that the set-up does not name."""
    return [entry.event.seat for entry in entries if isinstance(entry.event, SlotFact)]


def render_calls(
    debate: Debate, entries: Sequence[Recorded]
) -> Iterator[tuple[Recorded, Debate, Call, Prompt]]:
    """Each entry that a model's reply made, with the debate as it was when it was asked, the call and its prompt."""
    replies = [entry for entry in entries if is_reply(debate, entry)]
    wanted = {entry.event.seen for entry in replies if isinstance(entry.event, SlotFact)}
    versions: dict[int, Debate] = {}
    at: Debate | None = None
    for entry in entries:
        at = apply(at, entry.event)
        if at.version in wanted:
            versions[at.version] = at
    for entry in replies:
        assert isinstance(entry.event, SlotFact)
        before, key = versions[entry.event.seen], (entry.event.seat, entry.event.slot_index)
        for slot in (slot for slot in acceptable_slots(before) if slot.key == key):
            call = build_call(before, slot)
            yield entry, before, call, render(before, call)


def is_reply(debate: Debate, entry: Recorded) -> bool:
    """Whether a model was asked in this debate, with a prompt."""
    event = entry.event
    if not isinstance(event, Answer | Failed | Researched) or isinstance(event, Measured):
        return False
    return debate.is_own(event) and (not isinstance(event, Researched) or event.usage is not None)


def write_calls(debate: Debate, rows: Sequence[dict[str, Any]]) -> str:
    """The calls as text: a line about each, who is behind which label, and what the model read, as it read it."""
    parts = []
    for row in rows:
        reading = f", reading {row['reading']}" if row["reading"] else ""
        legend = "; ".join(f"{label} is {name}" for label, name in row["labels"].items())
        heading = f"## Entry {row['seq']}: {row['seat']}, round {row['round']}, {row['task']}{reading} ({row['model']})"
        texts = [f"### {message['role']}\n\n{message['content']}" for message in row["messages"]]
        parts.append("\n\n".join(filter(None, [heading, legend and f"Labels: {legend}.", *texts])))
    return "\n\n".join(parts) or find_obstacle(debate) or "No model was asked for this yet."
