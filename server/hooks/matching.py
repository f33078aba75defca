"""Event names and fields, for the conditions and placeholders of hooks."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from string import Formatter
from typing import Literal, get_args, get_origin

from server.debate.facts.config import Fact
from server.debate.facts.events import Event, Recorded
from server.debate.facts.interventions import InterventionFact
from server.debate.facts.state import Debate
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.rules.decide import status
from server.debate.views.events import EVENT_NAMES, PHASE_END, event_names
from server.debate.views.names import name_event

ANY_EVENT = "*"
MAX_VALUE_LENGTH = 300  # characters of one value in a filled template

NAMED_EVENTS = tuple(sorted({PHASE_END, *EVENT_NAMES.values()}))
"""The event names that `on` accepts besides `*`."""

COMMON_FIELDS = (
    *("debate_id", "question", "format", "status", "tags", "outcome", "winner"),
    *("seq", "at", "actor", "event", "kind"),
)
"""Fields of every event: those of its debate, after the event, and those of its entry."""

Fields = Mapping[str, tuple[str, ...]]
"""The values of fields. Only `tags` has any number of them, the others have one."""


def find_event_kinds(event_name: str) -> list[str]:
    """The kinds of facts with this event name."""
    if event_name == PHASE_END:
        return ["phase_entered", "ended"]
    return [kind for kind, name in EVENT_NAMES.items() if event_name in (name, ANY_EVENT)]


@cache
def own_fields(kind: str) -> list[str]:
    """The scalar fields of a kind of fact: text, number or boolean."""
    models: tuple[type[Fact], ...] = get_args(get_args(Event)[0])
    [model] = [one for one in models if one.model_fields["kind"].default == kind]
    types = {name: field.annotation for name, field in model.model_fields.items() if name != "kind"}
    names = [name for name, one in types.items() if one in (str, int, bool) or get_origin(one) is Literal]
    return [*names, "action"] if issubclass(model, InterventionFact) else names


def available_fields(chosen_events: Iterable[str]) -> set[str]:
    """The fields that events of these names can have."""
    own = {field for name in chosen_events for kind in find_event_kinds(name) for field in own_fields(kind)}
    return {*COMMON_FIELDS, *own}


def collect_fields(debate_id: str, debate: Debate, entry: Recorded) -> Fields:
    """The fields of an event, as people read it, and of its debate; the event's own fields win."""
    event = name_event(debate, entry.event)
    values = {
        "debate_id": debate_id,
        "question": debate.setup.question,
        "format": debate.setup.format,
        "status": status(debate),
        "outcome": debate.verdict.outcome if debate.verdict else "",
        "winner": debate.verdict.winner if debate.verdict else "",
        "seq": entry.seq,
        "at": entry.at,
        "actor": entry.actor,
        "event": ", ".join(event_names(event)),
        "kind": event.kind,
        **{name: getattr(event, name) for name in own_fields(event.kind)},
    }
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()
    }
    return {"tags": debate.setup.tags} | {name: (text,) for name, text in texts.items()}


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
