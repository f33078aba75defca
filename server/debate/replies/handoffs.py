"""How a speaker's choice of the next one is read: from text, from a tool call, or from structured output.

A turn whose choice cannot be used is a turn all the same: who speaks next is drawn, and why is recorded.
"""

import re
from typing import Any

from server.debate.facts.setup.options import HandoffMode
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.response_schemas import HandoffResponse
from server.debate.prompts.tool_schemas import parse_arguments
from server.debate.replies.extract import Reply, describe_error, find_debaters, find_json, normalize_name
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate

_TRANSITION = re.compile(r"\btransition(?:ing)?\s+to\b[\s:]*([^\n]{1,120})", re.IGNORECASE)

MAX_NAME_LENGTH = 60
SENTENCE_ENDS = ("\n", ".", "!", "?", "…", "。")
MISSING_CHOICES: dict[HandoffMode, str] = {
    "text": 'no "Transition to …"',
    "tool": "handoff was not called",
    "structured": "the answer was no JSON",
}


def parse_handoff(
    debate: Debate, call: Call, text: str, reply: Reply, handoff_mode: HandoffMode
) -> tuple[str, str, str]:
    """(the turn, who is to speak next or "", why the choice cannot be used or "").

    Raises:
        ValueError: there is no turn either.
    """
    if handoff_mode == "text":
        turn, choice = parse_text_handoff(debate, text)
    elif handoff_mode == "tool":
        turn, choice = parse_tool_handoff(text, reply)
    else:
        turn, choice = parse_structured_handoff(text)
    if choice is None:
        return turn, "", f"it named nobody to speak next: {MISSING_CHOICES[handoff_mode]}"
    found = find_debaters(debate, choice, prefer_names=True)
    if len(others := found - {call.seat}) == 1 and normalize_name(choice):
        return turn, others.pop(), ""
    if not normalize_name(choice):
        problem = "it named nobody to speak next"
    elif found == {call.seat}:
        problem = "it chose itself to speak next, which is no hand-off"
    else:
        problem = f'it chose "{collapse_whitespace(choice)[:MAX_NAME_LENGTH]}" to speak next'
    names = ", ".join(name for name in debate.names if name != call.seat)
    return turn, "", f"{problem}; there are {names}"


def parse_text_handoff(debate: Debate, text: str) -> tuple[str, str | None]:
    """(the turn, the choice of the last "Transition to …" in it).

    A choice that the turn ends with is no part of it: it holds a name, and judges read no names.
    """
    found = list(_TRANSITION.finditer(text))
    if not found:
        return text, None
    turn = text[: found[-1].start()].rstrip(" \t*_\"'([")
    ends = not text[found[-1].end() :].strip() and turn.endswith(SENTENCE_ENDS)
    return turn.rstrip() if ends and turn.strip() else text, match_debater_name(debate, found[-1][1])


def match_debater_name(debate: Debate, text: str) -> str:
    """The name that this begins with, or what stands there."""
    for article in ("", "the "):
        rest = normalize_name(text).removeprefix(article)
        known = {name: normalize_name(name).removeprefix(article) for name in debate.names}
        matches = [name for name in known if re.match(re.escape(known[name]) + r"(?![^\W_])", rest)]
        if matches:
            return max(matches, key=len)
    return re.split(r"[.,;!?\"')*]", text.strip("\"'* "))[0].removeprefix("the ")


def parse_tool_handoff(text: str, reply: Reply) -> tuple[str, str | None]:
    call = next((call for call in reply.function_calls if call.name == "handoff"), None)
    if call is None:
        return text, None
    try:
        turn, choice = parse_handoff_response(parse_arguments(call))
    except ValueError as error:
        if text:
            return text, None
        raise ValueError(f"handoff was called wrongly: {describe_error(error, cut=False)}") from error
    return turn or text, choice


def parse_structured_handoff(text: str) -> tuple[str, str | None]:
    try:
        return parse_handoff_response(find_json(text))
    except ValueError:
        if text.lstrip("` \n").removeprefix("json").lstrip().startswith("{"):
            raise
        return text, None  # prose is a turn, too


def parse_handoff_response(value: Any) -> tuple[str, str]:
    """(the turn, who is to speak next). A choice that is no name costs the choice and not the turn."""
    if isinstance(value, dict) and not isinstance(value.get("next_agent_name"), str):
        value = {**value, "next_agent_name": ""}
    read = HandoffResponse.model_validate(value)
    return clean(read.response), read.next_agent_name
