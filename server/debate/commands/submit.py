"""Turns that the caller writes for the seats whose model is `caller`."""

from server.debate.ballots.waves import is_private_ballot
from server.debate.facts.answers import Usage
from server.debate.facts.errors import InvalidRequestError, require, require_length
from server.debate.facts.events import Event, Failed
from server.debate.facts.setup.seats import WRITTEN
from server.debate.facts.text import clean
from server.debate.machine.interpret import interpret
from server.debate.replies.extract import Reply, normalize_name
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.state.labels import name_sides

MAX_SUBMISSION_LENGTH = 50_000


def build_submission(debate: Debate, speaker: str, text: str, author: str = "") -> Event:
    """Return the event of a submitted turn. `author`: who submits it.

    Raises:
        InvalidRequestError: no turn of that speaker is awaited, or the text does not fit its task.
    """
    call = find_awaited_call(debate, speaker)
    require(clean(text), f"The text is empty. Write in `text` what {call.seat} says.")
    require_length("The turn has", len(text), MAX_SUBMISSION_LENGTH)
    event = interpret(debate, call, Reply(text, Usage(model=call.model, author=author, cost_usd="0")))
    if isinstance(event, Failed):
        detail = name_sides(debate, event.detail, max(call.reading, 1))
        subject = "the private ballot that" if is_private_ballot(call.slot_index) else "what"
        problem = f"This is not {subject} {call.seat} was asked for: {detail}. Submit it again."
        raise InvalidRequestError(problem)
    return event


def find_awaited_call(debate: Debate, speaker: str) -> Call:
    if debate.ended:
        raise InvalidRequestError(f"The debate is over ({debate.ended.ending}), and nobody speaks any more.")
    if debate.paused:
        reason = debate.paused.reason.rstrip(". ")
        raise InvalidRequestError(f"The debate is paused: {reason}. Resume it first.")
    calls = [call for call in pending_calls(debate) if call.model in WRITTEN]
    require(calls, "No turn is expected from the caller now. Run the next round to go on.")
    calls_of_speaker = [call for call in calls if normalize_name(call.seat) == normalize_name(speaker)]
    names = ", ".join(dict.fromkeys(call.seat for call in calls))
    require(calls_of_speaker, f"No turn of {speaker[:60]!r} is awaited. Awaited: {names}.")
    return calls_of_speaker[0]
