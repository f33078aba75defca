"""Every kind of fact, those of actions and of seats that read rounds included, and how one is read from the journal."""

from collections.abc import Mapping
from typing import Any, get_args

from server.debate.facts.answers import Reading
from server.debate.facts.events import Event
from server.debate.facts.interventions import InterventionFact
from server.debate.interventions.registry import REGISTRY
from server.debate.seats.registry import SEATS

_own = (kind for kind in get_args(Event) if kind not in (Reading, InterventionFact))
_classes: tuple[type[Event], ...] = (
    *_own,
    *(seat.fact for seat in SEATS),
    *(fact for action in REGISTRY for fact in action.facts),
)
KINDS: dict[str, type[Event]] = {each.model_fields["kind"].default: each for each in _classes}


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
