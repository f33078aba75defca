"""Event names and fields, for the conditions and placeholders of hooks."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from string import Formatter
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from server.debate.facts.events import Balloted, Event, Recorded
from server.debate.facts.fact import Fact
from server.debate.facts.interventions import InterventionFact
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.interventions.registry import find_action
from server.debate.machine.decide import status
from server.debate.machine.kinds import KINDS
from server.debate.seats.registry import SEATS
from server.debate.state.debate import Debate
from server.debate.views.events import ADDITIONAL_KINDS, EVENT_NAMES, PHASE_END, find_ended_round
from server.debate.views.names import name_event

ANY_EVENT = "*"
MAX_VALUE_LENGTH = 300  # characters of one value in a filled template

NAMED_EVENTS = tuple(sorted({*ADDITIONAL_KINDS, *EVENT_NAMES.values()}))
"""The event names that `on` accepts besides `*`."""

COMMON_FIELDS = (
    *("debate_id", "owner", "question", "format", "status", "tags", "outcome", "winner"),
    *("seq", "at", "actor", "event", "kind"),
)
"""Fields of every event: those of its debate, after the event, and those of its entry."""

Fields = Mapping[str, tuple[str, ...]]
"""The values of fields. Only `tags` has any number of them, the others have one."""


def find_event_kinds(event_name: str) -> list[str]:
    own = [kind for kind, name in EVENT_NAMES.items() if event_name in (name, ANY_EVENT)]
    return own or ADDITIONAL_KINDS.get(event_name, [])


def is_scalar(annotation: Any) -> bool:
    """Whether a type is text, numbers, booleans, literals, or a union of these."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return is_scalar(arguments[0])
    if origin in (Union, UnionType):
        return all(map(is_scalar, arguments))
    return annotation in (str, int, bool) or origin is Literal


@cache
def own_fields(kind: str) -> list[str]:
    """The scalar fields of a kind of fact, and what follows from its others: text, number or boolean."""
    model = KINDS[kind]
    types = {name: field.annotation for name, field in model.model_fields.items() if name != "kind"}
    names = [name for name, annotation in types.items() if is_scalar(annotation)]
    properties: list[tuple[str, type[Fact]]] = [("action", InterventionFact), ("choice", Balloted)]
    properties += [(name, seat.fact) for seat in SEATS for name in seat.hook_fields]
    return names + [name for name, base in properties if issubclass(model, base)]


def find_field(event: Event, field: str) -> object:
    if field == "action" and isinstance(event, InterventionFact):
        return find_action(event).name
    return getattr(event, field)


def available_fields(chosen_events: Iterable[str]) -> set[str]:
    """The fields that events of these names can have."""
    return {*COMMON_FIELDS, *chain.from_iterable(map(event_fields, chosen_events))}


def event_fields(event_name: str) -> set[str]:
    """The fields of their own that events of this name can have."""
    if event_name == PHASE_END:
        return {"phase", "round"}
    return {field for kind in find_event_kinds(event_name) for field in own_fields(kind)}


def collect_fields(debate_id: str, owner: str, debate: Debate, entry: Recorded, name: str) -> Fields:
    """The fields of an event, as people read it, and of its debate; the event's own fields win.

    `owner`: whose debate it is. `name`: which of the public events of the entry.
    """
    event = name_event(debate, entry.event)
    round_ended = find_ended_round(debate, event)
    if round_ended and name == PHASE_END:
        own: dict[str, object] = {"phase": round_ended.phase, "round": round_ended.round}
    else:
        own = {field: find_field(event, field) for field in own_fields(event.kind)}
    values = {
        "debate_id": debate_id,
        "owner": owner,
        "question": debate.setup.question,
        "format": debate.setup.format,
        "status": status(debate),
        "outcome": debate.verdict.outcome if debate.verdict else "",
        "winner": debate.verdict.winner if debate.verdict else "",
        "seq": entry.seq,
        "at": entry.at,
        "actor": entry.actor,
        "event": name,
        "kind": event.kind,
        **own,
    }
    texts = {
        field: str(value).lower() if isinstance(value, bool) else str(value)
        for field, value in values.items()
    }
    return {"tags": debate.tags} | {field: (text,) for field, text in texts.items()}


def find_placeholders(template: str) -> list[str]:
    """The names in braces. Raises ValueError if a brace is not closed, or contains more than a name."""
    names = []
    for _, name, spec, conversion in Formatter().parse(template):
        if name is None:
            continue
        if spec or conversion or not re.fullmatch(r"[a-z_]+", name):
            raise ValueError(f"{{{name[:40]}}} is not a placeholder: write a name, or double the braces")
        names.append(name)
    return names


def fill_template(template: str, fields: Fields, max_length: int) -> str:
    """Fill the placeholders; fields that the event does not have become empty."""
    texts = defaultdict(str)
    for name, values in fields.items():
        text = collapse_whitespace(clean(", ".join(values)))
        texts[name] = text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 1] + "…"
    return template.format_map(texts)[:max_length]
