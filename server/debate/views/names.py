"""A debate as people read it: names in place of labels, and nothing that the caller may not see yet.

The record keeps what was said. Every function here that shows a text of a model reads it from `name_debate`; the code
that decides the next step never does.
"""

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from inspect import isclass
from typing import Any, TypeVar, get_args

from server.debate.arguments.points import format_id, split_turn
from server.debate.documents.marks import disarm_marks, mark_quotes
from server.debate.facts import answers
from server.debate.facts.answers import Answer, DefaultPlanUsed, Digested, HandoffFailed, Lookup, Researched
from server.debate.facts.events import (
    JUDGE_ADVICE,
    Balloted,
    Concluded,
    Failed,
    Judged,
    Paused,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
)
from server.debate.facts.fact import Fact
from server.debate.facts.interventions import Challenged
from server.debate.facts.setup.seats import is_judge
from server.debate.schemas.output_schema import find_violation
from server.debate.schemas.plain_json import plain_json
from server.debate.seats.registry import SEATS
from server.debate.state.debate import Debate, replace
from server.debate.state.labels import name_sides
from server.debate.state.memo import once
from server.debate.views.visibility import hide_answers, hide_words

E = TypeVar("E", bound=Fact)

MODEL_TEXTS: dict[type[Fact], tuple[str, ...]] = {
    **{fact: tuple(fields) for seat in SEATS for fact, fields in seat.texts.items()},
    Digested: ("summary",),
    Spoke: ("text", "no_handoff"),
    RoundOpened: ("briefing", "new_angle"),
    RoundClosed: ("summary", "decision"),
    answers.Span: ("quote",),
    answers.Contest: ("why",),
    answers.DirectMessage: ("text",),
    Balloted: ("position", "would_check", "new_point", "open_point"),
    Judged: ("verdict", "reasoning", *JUDGE_ADVICE),
    Synthesized: ("text",),
    Failed: ("detail",),
    HandoffFailed: ("detail",),
    DefaultPlanUsed: ("reason",),
    Lookup: ("arguments", "failed"),
    Paused: ("reason",),
    Challenged: ("text",),
    Concluded: ("verdict", "reasoning"),
}
"""The fields with words of models, also where the server quotes them in texts of its own."""


@cache
def list_part_fields(kind: type[Fact]) -> tuple[str, ...]:
    """The fields of a fact whose parts hold words of models."""
    return tuple(
        name
        for name, field in kind.model_fields.items()
        if any(part in MODEL_TEXTS or list_part_fields(part) for part in list_facts(field.annotation))
    )


def list_facts(annotation: Any) -> Iterator[type[Fact]]:
    """The facts that a value of this type may hold."""
    if isclass(annotation) and issubclass(annotation, Fact):
        yield annotation
    for part in get_args(annotation):
        yield from list_facts(part)


def name_event(debate: Debate, event: E, reading: int = 1) -> E:
    """The event with names of debaters in the texts of models, as clients may read it; itself if nothing changes.

    `reading`: of a judge, if the event does not say.
    """
    if isinstance(event, Challenged) and not event.alert:
        return event  # somebody's own words
    event = hide_words(debate, event)
    reading = getattr(event, "slot_index", reading) if is_reading(event) else reading
    changes: dict[str, Any] = {}
    for name in MODEL_TEXTS.get(type(event), ()):
        text = getattr(event, name)
        shown_text = show_to_people(debate, event, text, reading)
        if shown_text != text:
            changes[name] = shown_text
    for name in list_part_fields(type(event)):
        parts = getattr(event, name)
        if isinstance(parts, Fact):
            changes[name] = name_event(debate, parts, reading)
        elif parts:
            changes[name] = tuple(name_event(debate, part, reading) for part in parts)
    if isinstance(event, Synthesized) and debate.setup.output_schema and changes:
        changes["text"] = name_json(debate, event.text)
    return event.model_copy(update=changes) if changes else event


def show_to_people(debate: Debate, event: Fact, text: str, reading: int) -> str:
    """A model's text with names in place of labels, and the server's marks after its quotes."""
    version = 0 if isinstance(event, Spoke) else find_version(debate, event)  # turns: see `show_turn`
    if not version:
        return disarm_marks(name_sides(debate, text, reading))
    return mark_quotes(debate, text, version, lambda part: name_sides(debate, part, reading))


def find_version(debate: Debate, event: Fact) -> int:
    """The version of the debate that the author of an event's texts had read; 0 if that is unknown."""
    if isinstance(event, Concluded):
        return debate.version
    return event.seen if isinstance(event, Answer) else 0


def show_turn(debate: Debate, turn: Spoke, start: int = 0, end: int | None = None) -> str:
    """A turn as recorded, or a part of it, with names in place of labels and the server's marks after its quotes."""
    recorded = find_recorded_turn(debate, turn)
    return mark_quotes(
        debate, recorded.text, recorded.seen, lambda part: name_sides(debate, part), start, end
    )


def list_shown_points(debate: Debate, turn: Spoke) -> list[tuple[str, str]]:
    """A turn in parts, as people read it: the id of each point with its words, and "" with those before the first."""
    parts = split_turn(debate, find_recorded_turn(debate, turn))
    before = [("", show_turn(debate, turn, 0, len(parts.before)))] if parts.before else []
    spans = [(format_id(point.id, turn.seat), point.span) for point in parts.points]
    return before + [(name, show_turn(debate, turn, span.start, span.end)) for name, span in spans]


def show_turn_with_ids(debate: Debate, turn: Spoke) -> str:
    """A turn as the terminal prints it: its points have the ids by which others cite them. A retracted one has none."""
    if not debate.is_active(turn):
        return show_turn(debate, turn)
    return "\n\n".join(f"[{name}] {text}" if name else text for name, text in list_shown_points(debate, turn))


def find_recorded_turn(debate: Debate, turn: Spoke) -> Spoke:
    """The turn as recorded, for a turn as people read it."""
    turns = debate.transcript_turns(turn.round)  # with the messages that came with turns
    return next(
        recorded for recorded in turns if (recorded.seat, recorded.slot_index) == (turn.seat, turn.slot_index)
    )


def is_reading(event: Fact) -> bool:
    """Whether a judge wrote it in one of its readings, which have different labels."""
    if not isinstance(event, Judged | Failed | Researched):
        return False
    return is_judge(event.seat)


def name_json(debate: Debate, text: str) -> str:
    """JSON with names in its strings, as long as it matches the schema of the result."""

    def name(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: name(part) for key, part in value.items()}
        if isinstance(value, list):
            return [name(part) for part in value]
        return name_sides(debate, value) if isinstance(value, str) else value

    named_value = name(json.loads(text))
    return text if find_violation(debate.setup.output_schema, named_value) else plain_json(named_value)


@once
def name_debate(debate: Debate) -> Debate:
    """The debate as people read it, without what they may not see yet."""
    changes: dict[str, Any] = {}
    visible = hide_answers(debate)
    for field in fields(Debate):
        value = getattr(visible, field.name)
        if isinstance(value, Fact):
            changes[field.name] = name_event(debate, value)
        elif field.name == "turns":  # copied from the transcript, a field that comes earlier
            transcript = changes.get("transcript_events", ())
            changes["turns"] = tuple(fact for fact in transcript if isinstance(fact, Spoke))
        elif isinstance(value, tuple) and value and isinstance(value[0], Fact):
            changes[field.name] = tuple(name_event(debate, fact) for fact in value)
    return replace(visible, **changes)
