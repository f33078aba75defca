"""Turns that the caller writes for the seats whose model is `caller`."""

from server.debate.facts.config import CALLER
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Event, Failed, Judged, Spoke, Usage
from server.debate.facts.state import Debate
from server.debate.facts.text import clean
from server.debate.replies.extract import Reply, normalize_name
from server.debate.replies.interpret import interpret
from server.debate.rules.decide import Call, pending_calls

MAX_SUBMISSION_LENGTH = 50_000


def build_submission(debate: Debate, speaker: str, text: str) -> Event:
    """Return the event of a submitted turn.

    Raises:
        InvalidRequestError: no turn of that speaker is awaited, or the text does not fit its task.
    """
    call = find_awaited_call(debate, speaker)
    if not clean(text):
        raise InvalidRequestError(f"The text is empty. Write in `text` what {call.seat} says.")
    if len(text) > MAX_SUBMISSION_LENGTH:
        raise InvalidRequestError(
            f"The turn has {len(text):,} characters; {MAX_SUBMISSION_LENGTH:,} are allowed."
        )
    event = interpret(debate, call, Reply(text, Usage(model=CALLER, cost_usd="0")))
    if isinstance(event, Failed):
        raise InvalidRequestError(
            f"This is not what {call.seat} was asked for: {event.detail}. Submit it again."
        )
    check_not_repeated(debate, event)
    return event


def check_not_repeated(debate: Debate, event: Event) -> None:
    """Refuse what the seat submitted before: a turn sent again, or one judgment for both reading orders."""
    if isinstance(event, Spoke):
        turns = [turn for turn in debate.turns if turn.seat == event.seat]
        if turns and turns[-1].text == event.text:
            raise InvalidRequestError(
                f"{event.seat} said this in these words in round {turns[-1].round}, and it is recorded. "
                f"Awaited now is another turn, in round {event.round}."
            )
    if isinstance(event, Judged):
        own_fields = {"slot_index", "seen", "usage"}
        recorded = [
            made.model_dump(exclude=own_fields) for made in debate.judgments if made.seat == event.seat
        ]
        if event.model_dump(exclude=own_fields) in recorded:
            raise InvalidRequestError(
                f"{event.seat} found this in these words in its first reading, and it is recorded. Awaited now "
                "is a finding on the turns in the other order; where it is the same, say so in the reasoning."
            )


def find_awaited_call(debate: Debate, speaker: str) -> Call:
    if debate.ended:
        raise InvalidRequestError(f"The debate is over ({debate.ended.ending}), and nobody speaks any more.")
    if debate.paused:
        reason = debate.paused.reason.rstrip(". ")
        raise InvalidRequestError(f"The debate is paused: {reason}. Resume it with intervene first.")
    awaited = [call for call in pending_calls(debate) if call.model == CALLER]
    for call in awaited:
        if normalize_name(call.seat) == normalize_name(speaker):
            return call
    if awaited:
        names = ", ".join(dict.fromkeys(call.seat for call in awaited))
        raise InvalidRequestError(f"No turn of {speaker[:60]!r} is awaited. Awaited: {names}.")
    raise InvalidRequestError("No turn of the caller's is awaited now. Call step_round to go on.")
