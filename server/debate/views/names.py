"""What people read of a debate: names in place of labels, and nothing that the caller is not to see yet.

The record keeps what was said. Every function here that shows a text of a model reads it from `name_debate`;
what decides the next step never does.
"""

import json
from dataclasses import fields
from typing import Any, TypeVar

from server.debate.documents.marks import disarm_marks, mark_quotes
from server.debate.facts import answers
from server.debate.facts.answers import Answer, DefaultPlanUsed, Digested, HandoffFailed, Lookup, Researched
from server.debate.facts.events import (
    Audited,
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
from server.debate.facts.setup.seats import seat_kind
from server.debate.schemas.output_schema import find_violation
from server.debate.schemas.plain_json import plain_json
from server.debate.state.debate import Debate, replace
from server.debate.state.labels import name_sides
from server.debate.state.memo import once
from server.debate.views.visibility import hide_answers, hide_words

E = TypeVar("E", bound=Fact)

MODEL_TEXTS: dict[type[Fact], tuple[str, ...]] = {
    Digested: ("summary",),
    Spoke: ("text", "no_handoff"),
    RoundOpened: ("briefing", "new_angle"),
    RoundClosed: ("summary", "decision"),
    Audited: ("text",),
    answers.Span: ("quote",),
    answers.Mark: ("why",),
    answers.Claim: ("wording", "evidence"),
    answers.LeftOut: ("why",),
    answers.Contest: ("why",),
    answers.DirectMessage: ("text",),
    Balloted: ("position", "would_check", "new_point", "open_point"),
    Judged: ("verdict", "reasoning", "common_position", "would_change"),
    Synthesized: ("text",),
    Failed: ("detail",),
    HandoffFailed: ("detail",),
    DefaultPlanUsed: ("reason",),
    Lookup: ("arguments", "failed"),
    Paused: ("reason",),
    Challenged: ("text",),
    Concluded: ("verdict", "reasoning"),
}
"""The fields with words of models, also where the server quotes them in its own."""

MODEL_PARTS: dict[type[Fact], tuple[str, ...]] = {
    Researched: ("lookups",),
    Spoke: ("contests", "message"),
    answers.Observed: ("marks",),
    answers.Mark: ("said", "original"),
    answers.Extracted: ("claims", "left_out"),
    answers.Claim: ("said",),
    answers.LeftOut: ("said",),
}
"""The fields with parts that hold words of models."""


def name_event(debate: Debate, event: E, reading: int = 1) -> E:
    """The event with names of debaters in the texts of models, as clients may read it; itself where that is the same.

    `reading`: of a judge, where the event does not tell.
    """
    if isinstance(event, Challenged) and not event.alert:
        return event  # somebody's own words
    event = hide_words(debate, event)
    reading = getattr(event, "slot_index", reading) if is_reading(event) else reading
    changes: dict[str, Any] = {}
    for name in MODEL_TEXTS.get(type(event), ()):
        text = getattr(event, name)
        named = show_to_people(debate, event, text, reading)
        if named != text:
            changes[name] = named
    for name in MODEL_PARTS.get(type(event), ()):
        parts = getattr(event, name)
        if isinstance(parts, Fact):
            changes[name] = name_event(debate, parts, reading)
        elif parts:
            changes[name] = tuple(name_event(debate, part, reading) for part in parts)
    if isinstance(event, Synthesized) and debate.setup.output_schema and changes:
        changes["text"] = name_json(debate, event.text)
    return event.model_copy(update=changes) if changes else event


def show_to_people(debate: Debate, event: Fact, text: str, reading: int) -> str:
    """A model's text with names in place of labels, and with the server's marks behind its quotes."""
    if isinstance(event, Concluded):  # it is in names already
        return mark_quotes(debate, text, debate.version, str)
    if isinstance(event, Spoke) or not isinstance(event, Answer):  # turns: see `show_turn`
        return disarm_marks(name_sides(debate, text, reading))
    return mark_quotes(debate, text, event.seen, lambda part: name_sides(debate, part, reading))


def show_turn(debate: Debate, turn: Spoke, start: int = 0, end: int | None = None) -> str:
    """A turn or a part of it, as recorded, with names in place of labels, and the server's marks behind its quotes."""
    said = find_recorded(debate, turn)
    return mark_quotes(debate, said.text, said.seen, lambda part: name_sides(debate, part), start, end)


def find_recorded(debate: Debate, turn: Spoke) -> Spoke:
    """The turn as it was recorded, of one that people read."""
    said = debate.transcript_turns(turn.round)  # with the messages that came with turns
    return next(one for one in said if (one.seat, one.slot_index) == (turn.seat, turn.slot_index))


def is_reading(event: Fact) -> bool:
    """Whether a judge wrote it in one of the readings, which differ in their labels."""
    if not isinstance(event, Judged | Failed | Researched):
        return False
    return seat_kind(event.seat) == "judges"


def name_json(debate: Debate, text: str) -> str:
    """JSON with names in its strings, as long as it satisfies the schema of the result."""

    def name(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: name(part) for key, part in value.items()}
        if isinstance(value, list):
            return [name(part) for part in value]
        return name_sides(debate, value) if isinstance(value, str) else value

    named = name(json.loads(text))
    return text if find_violation(debate.setup.output_schema, named) else plain_json(named)


@once
def name_debate(debate: Debate) -> Debate:
    """The debate as people read it, without what they are not to see yet."""
    changes: dict[str, Any] = {}
    shown = hide_answers(debate)
    for field in fields(Debate):
        value = getattr(shown, field.name)
        if isinstance(value, Fact):
            changes[field.name] = name_event(debate, value)
        elif field.name == "turns":  # which the transcript holds as well, and comes before
            said = changes.get("transcript_events", ())
            changes["turns"] = tuple(fact for fact in said if isinstance(fact, Spoke))
        elif isinstance(value, tuple) and value and isinstance(value[0], Fact):
            changes[field.name] = tuple(name_event(debate, fact) for fact in value)
    return replace(shown, **changes)
