"""Every kind of fact, those of the seats that read rounds included, and how a fact is read from the journal."""

from collections.abc import Mapping
from typing import Any, get_args

from server.debate.facts.answers import Reading
from server.debate.facts.events import Event
from server.debate.seats.registry import SEATS

_classes: tuple[type[Event], ...] = (*get_args(Event), *(seat.fact for seat in SEATS))
KINDS: dict[str, type[Event]] = {
    each.model_fields["kind"].default: each for each in _classes if each is not Reading
}


class UnknownKindError(ValueError):
    """A later release may have written it."""


def load(body: Mapping[str, Any]) -> Event:
    """Read an event from the body of a journal entry.

    Raises:
        UnknownKindError: this release has no such kind of event.
        pydantic.ValidationError: it has, and they have another shape.
    """
    kind = KINDS.get(str(body.get("kind")))
    if kind is None:
        raise UnknownKindError(body.get("kind"))
    return kind.model_validate(body)
