"""Repeated requests: an identical start or fork by the same caller joins its twin, in whatever process it was made.

Clients with short time limits repeat a call that they gave up, and models repeat one whose result they did not
see. The key of a request is stored in the transaction that opens its debate, so that a process that dies in the
middle leaves both or neither.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from pydantic import BaseModel

from server.debate.facts.errors import DebateError
from storage.canonical import encode_json
from storage.journal import OpeningKey

REPEAT_WINDOW = timedelta(minutes=10)
"""How long after it was opened a debate is joined; one that is being run is joined later, too."""


class TwinError(DebateError):
    """The same caller has asked for the same debate already. Tools join it."""

    def __init__(self, debate_id: str) -> None:
        super().__init__(f"This debate was begun already: {debate_id}.")
        self.debate_id = debate_id


OUTSIDE_IDENTITY = {"run", "wait_seconds", "again"}
"""Arguments in which identical requests may differ."""


def dump_arguments(request: BaseModel) -> dict[str, Any]:
    """What makes a request identical to another: its arguments with the defaults filled in."""
    return request.model_dump(mode="json", exclude=OUTSIDE_IDENTITY)


def build_opening_key(actor: str, asked: Mapping[str, Any], now: datetime) -> OpeningKey:
    """The key of what this actor asks for at this time."""
    digest = sha256(encode_json({"actor": actor, "asked": dict(asked)})).hexdigest()
    since = (now - REPEAT_WINDOW).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return OpeningKey(digest, since, now.timestamp())
