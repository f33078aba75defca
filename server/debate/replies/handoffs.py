"""Reads what a turn says beside its text: who speaks next, and a message to another debater.

The next speaker is read from a call of `handoff`, structured output, or "Transition to …" in prose. A turn with an
unusable choice still counts: the next speaker is drawn, and the reason is recorded.
"""

import re
from typing import Any

from server.debate.facts.answers import DirectMessage
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.material import other_labels
from server.debate.prompts.prompt import parse_arguments
from server.debate.prompts.response_schemas import HandoffResponse
from server.debate.replies.extract import (
    Reply,
    describe_error,
    find_debaters,
    find_turn_object,
    normalize_name,
    read_cut_object,
)
from server.debate.rules.calls import Call
from server.debate.rules.schedule import may_send
from server.debate.state.debate import Debate

_TRANSITION = re.compile(r"\btransition(?:ing)?\s+to\b[\s:]*([^\n]{1,120})", re.IGNORECASE)

MAX_NAME_LENGTH = 60


def parse_handoff(debate: Debate, call: Call, text: str, reply: Reply) -> tuple[str, str, str]:
    """(the turn, the next speaker or "", why the choice is unusable or "").

    Raises:
        ValueError: there is no turn.
    """
    turn, choice = parse_tool_handoff(text, reply) or parse_written_handoff(debate, text, reply)
    debaters = find_debaters(debate, choice)
    if len(other_debaters := debaters - {call.seat}) == 1 and normalize_name(choice):
        return turn, other_debaters.pop(), ""
    if not normalize_name(choice):
        problem = "it named nobody to speak next"
    elif debaters == {call.seat}:
        problem = "it chose itself to speak next, which is not a hand-off"
    else:
        problem = f'it chose "{collapse_whitespace(choice)[:MAX_NAME_LENGTH]}" to speak next'
    return turn, "", f"{problem}; there are {', '.join(other_labels(debate, call.seat))}"


def find_text_choice(debate: Debate, text: str) -> str:
    """The choice in the last "Transition to …" of a turn, in which it stays: models read labels, and people names."""
    transitions = _TRANSITION.findall(text)
    return match_debater(debate, transitions[-1]) if transitions else ""


def match_debater(debate: Debate, text: str) -> str:
    """The debater's label or name at the beginning of a text, or the words there."""
    for article in ("", "the "):
        normalized = normalize_name(text).removeprefix(article)
        words = {
            word: normalize_name(word).removeprefix(article) for word in (*debate.setup.labels, *debate.names)
        }
        matches = [word for word in words if re.match(re.escape(words[word]) + r"(?![^\W_])", normalized)]
        if matches:
            return max(matches, key=len)
    return re.split(r"[.,;!?\"')*]", text.strip("\"'* "))[0].removeprefix("the ")


def parse_tool_handoff(text: str, reply: Reply) -> tuple[str, str] | None:
    """None where `handoff` was not called, or where words beside a call that cannot be read are the turn."""
    call = next((call for call in reply.function_calls if call.name == "handoff"), None)
    if call is None:
        return None
    try:
        arguments = read_cut_object(call.arguments) if reply.cut else parse_arguments(call)
        turn, choice = parse_handoff_response(arguments)
    except ValueError as error:
        if text:
            return None
        raise ValueError(f"handoff was called wrongly: {describe_error(error, cut=False)}") from error
    return turn or text, choice


def parse_written_handoff(debate: Debate, text: str, reply: Reply) -> tuple[str, str]:
    found = find_turn_object(text, reply)
    return (text, find_text_choice(debate, text)) if found is None else parse_handoff_response(found)


def parse_handoff_response(value: Any) -> tuple[str, str]:
    """(the turn, the next speaker). If the choice is no name, only the choice is lost, not the turn."""
    if isinstance(value, dict) and not isinstance(value.get("next_agent_name"), str):
        value = {**value, "next_agent_name": ""}
    handoff = HandoffResponse.model_validate(value)
    return clean(handoff.response), handoff.next_agent_name


MAX_MESSAGE_LENGTH = 1_200
"""Characters of a message that are stored."""

_MESSAGE = re.compile(
    r"^[ \t*_>#-]{0,6}MESSAGE TO[ \t]{1,3}(?P<to>[^,:\n]{1,60}?)[ \t*_]{0,4}[,:][ \t*_]{0,4}"
    r"(?P<act>(?i:question|proposal|critique))[ \t*_]{0,4}[:.\u2013\u2014-][ \t*_]{0,4}(?P<text>\S.*)$",
    re.MULTILINE,
)


def take_message(debate: Debate, seat: str, text: str) -> tuple[str, DirectMessage | None]:
    """(the turn without its first line that is a message to another debater, the message).

    If no message may be sent, or its recipient is unknown, the line stays in the turn.
    """
    for match in _MESSAGE.finditer(text) if may_send(debate, seat) else ():
        recipients = find_debaters(debate, match["to"]) - {seat}
        if len(recipients) == 1:
            words = collapse_whitespace(match["text"])[:MAX_MESSAGE_LENGTH]
            turn = text[: match.start()] + text[match.end() :]
            message = {"act": match["act"].lower(), "to": recipients.pop(), "text": words}
            return turn.strip(), DirectMessage.model_validate(message)
    return text, None
