"""Event names and fields, for the conditions and placeholders of hooks."""

import re
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Annotated, Literal, get_args, get_origin

from server.debate.facts.config import Fact
from server.debate.facts.events import Event, Recorded
from server.debate.facts.interventions import InterventionFact
from server.debate.facts.state import Debate
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.rules.decide import status
from server.debate.views.events import EVENT_NAMES, PHASE_END, event_names

ANY_EVENT = "*"

DEBATE_FIELDS = ("debate_id", "question", "format", "status", "tags", "outcome", "winner")
"""Fields of the debate, after the event."""

ENTRY_FIELDS = ("seq", "at", "actor", "event", "kind")

MAX_VALUE_LENGTH = 300
"""Characters of one value in a filled template."""

FieldValue = str | tuple[str, ...]


def all_event_names() -> tuple[str, ...]:
    """All event names that `on` accepts, except `*`."""
    return tuple(sorted({PHASE_END, *EVENT_NAMES.values()}))


def event_models() -> dict[str, type[Fact]]:
    union = get_args(Event)[0]
    return {model.model_fields["kind"].default: model for model in get_args(union)}


def find_event_kinds(event_name: str) -> list[str]:
    """The kinds of facts with this event name."""
    if event_name == PHASE_END:
        return ["phase_entered", "ended"]
    return [kind for kind, name in EVENT_NAMES.items() if event_name in (name, ANY_EVENT)]


def own_fields(kind: str) -> list[str]:
    """The scalar fields of a kind of fact: text, number or boolean."""
    model = event_models()[kind]
    names = [
        name for name, field in model.model_fields.items() if name != "kind" and is_scalar(field.annotation)
    ]
    return ["action", *names] if issubclass(model, InterventionFact) else names


def is_scalar(annotation: object) -> bool:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation in (str, int, bool) or get_origin(annotation) is Literal


def available_fields(chosen_events: Iterable[str]) -> set[str]:
    """The fields that events of these names can have."""
    own = {field for name in chosen_events for kind in find_event_kinds(name) for field in own_fields(kind)}
    return {*DEBATE_FIELDS, *ENTRY_FIELDS, *own}


def collect_fields(debate_id: str, debate: Debate, entry: Recorded) -> dict[str, FieldValue]:
    """The fields of an event and of its debate; the event's own fields win."""
    verdict = debate.verdict
    of_debate: dict[str, FieldValue] = {
        "debate_id": debate_id,
        "question": debate.setup.question,
        "format": debate.setup.format,
        "status": status(debate),
        "tags": debate.setup.tags,
        "outcome": verdict.outcome if verdict else "",
        "winner": verdict.winner if verdict else "",
        "seq": str(entry.seq),
        "at": entry.at,
        "actor": entry.actor,
        "event": ", ".join(event_names(entry.event)),
        "kind": entry.event.kind,
    }
    own = {name: format_value(getattr(entry.event, name)) for name in own_fields(entry.event.kind)}
    return of_debate | own


def format_value(value: object) -> str:
    """A value as text, so that 2 and "2" match."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_event_match(wanted_events: Iterable[str], event: Event) -> bool:
    """Whether the event has one of the names."""
    return not {ANY_EVENT, *event_names(event)}.isdisjoint(wanted_events)


def is_condition_match(conditions: Mapping[str, tuple[str, ...]], fields: Mapping[str, FieldValue]) -> bool:
    """Whether every field has one of its accepted values; one matching tag is enough."""
    for name, accepted in conditions.items():
        value = fields.get(name, ())
        values = {value} if isinstance(value, str) else set(value)
        if values.isdisjoint(accepted):
            return False
    return True


def find_placeholders(template: str) -> list[str]:
    """The names in braces.

    Raises:
        ValueError: a brace is not closed, or contains more than a name.
    """
    names = []
    for _, name, spec, conversion in Formatter().parse(template):
        if name is None:
            continue
        if spec or conversion or not re.fullmatch(r"[a-z_]+", name):
            raise ValueError(f"{{{name[:40]}}} is not a placeholder: write a name, or double the braces")
        names.append(name)
    return names


def fill_template(template: str, fields: Mapping[str, FieldValue], max_length: int) -> str:
    """Fill the placeholders; fields that the event does not have become empty."""
    pieces = []
    for literal, name, _, _ in Formatter().parse(template):
        pieces.append(literal)
        if name is not None:
            value = fields.get(name, "")
            text = collapse_whitespace(clean(value if isinstance(value, str) else ", ".join(value)))
            pieces.append(text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 1] + "…")
    return "".join(pieces)[:max_length]
