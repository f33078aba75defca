"""Repeated requests: an identical start or fork by the same caller joins its twin, whichever process began it.

Clients with short time limits repeat a call that they gave up, and models repeat one whose result they did not
see. The key of a request is stored in the transaction that opens its debate, so that a process that dies in the
middle leaves both or neither. An intervention carries the id of its request.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Literal

from pydantic import BaseModel

from server.debate.commands.requests import DebateRequest
from server.debate.commands.submit import build_submission
from server.debate.facts.errors import DebateError, InvalidRequestError
from server.debate.facts.events import AnswerEvent, Recorded
from server.debate.facts.setup.seats import WRITTEN
from server.debate.interventions.action import Intervention, InterventionRequest
from server.debate.interventions.registry import Steering, build_intervention, find_action
from server.debate.machine.transitions import replay
from server.debate.replies.extract import normalize_name
from server.debate.rules.budget import NO_ELAPSED_TIME
from server.debate.rules.calls import pending_calls
from server.debate.state.debate import Debate
from server.redaction import MODEL_FIELDS, redact_model
from storage.canonical import encode_json
from storage.streams import OpeningKey, format_time

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
    arguments = request.model_dump(mode="json", exclude=OUTSIDE_IDENTITY)
    return arguments | ({"format": request.chosen_format} if isinstance(request, DebateRequest) else {})


Joins = bool | Literal["ever"]
"""Whether a request joins the debate of an identical one: never, of the last ten minutes, or however old it is."""


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """A request as data, if repeats of it are to find its debate, and for how long; None for ever."""

    data: Mapping[str, Any]
    window: timedelta | None


def build_identity(joins: Joins, **arguments: Any) -> RequestIdentity | None:
    """What a request asks for; None where it joins nothing."""
    data = {
        name: dump_arguments(value) if isinstance(value, BaseModel) else value
        for name, value in arguments.items()
    }
    return RequestIdentity(data, None if joins == "ever" else REPEAT_WINDOW) if joins else None


def find_repeated(
    debate_entries: Sequence[Recorded], action: str, request: InterventionRequest
) -> Intervention | None:
    """What was done under the id of this request, as if it had been done just now; None where nothing was.

    Raises:
        InvalidRequestError: the id belongs to another request.
    """
    repeats = [
        (entry, entry.event)
        for entry in debate_entries
        if request.request_id
        and isinstance(entry.event, Steering)
        and entry.event.request_id == request.request_id
    ]
    if not repeats:
        return None
    first_entry, fact = repeats[0]
    debate_before = replay(entry.event for entry in debate_entries[: first_entry.seq - 1])
    recorded_request = find_action(fact).rebuild(fact)
    # It was in time then.
    request = replace(
        request, elapsed=NO_ELAPSED_TIME, price=recorded_request.price, window=recorded_request.window
    )
    with suppress(InvalidRequestError):
        intervention = build_intervention(debate_before, action, request)
        if [redact_model(event, MODEL_FIELDS) for event in intervention.events] == [
            event for _, event in repeats
        ]:
            return Intervention((), intervention.effect)
    raise InvalidRequestError(
        f"request_id={request.request_id!r} belongs to another intervention, entry {first_entry.seq} of this debate. "
        "Pass a new one, or repeat that call as it was."
    )


def find_repeated_turn(
    entries: Sequence[Recorded], debate: Debate, speaker: str, text: str
) -> Intervention | None:
    """What to say of a turn that is sent again, so that it is not taken for the next one; None for a new one.

    A seat that answers the same twice in a row has to use other words the second time.
    """
    answers = (
        (entry.seq, entry.event) for entry in reversed(entries) if isinstance(entry.event, AnswerEvent)
    )
    own = (
        (seq, answer)
        for seq, answer in answers
        if answer.usage.model in WRITTEN and normalize_name(answer.seat) == normalize_name(speaker)
    )
    seq, previous = next(own, (0, None))
    if previous is None or previous in debate.superseded:
        return None
    try:
        debate_before = replay(entry.event for entry in entries[: seq - 1])
        submission = build_submission(debate_before, speaker, text, previous.usage.author)
    except InvalidRequestError:
        return None
    if redact_model(submission, MODEL_FIELDS) != previous:
        return None
    effect = f"{previous.seat} has submitted this in round {previous.round}: it is recorded once."
    if any(call.seat == previous.seat for call in pending_calls(debate)):
        effect += " Awaited now is another answer; where it is the same, say so in other words."
    return Intervention((), effect)


def build_opening_key(owner: str, actor: str, identity: RequestIdentity, now: datetime) -> OpeningKey:
    """The key of what this actor asks for at this time, for debates of this owner."""
    digest = sha256(encode_json({"owner": owner, "actor": actor, "asked": dict(identity.data)})).hexdigest()
    return OpeningKey(digest, format_time(now - identity.window) if identity.window else "")
