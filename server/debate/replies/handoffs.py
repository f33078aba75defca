"""How a speaker's choice of the next one is read: from text, from a tool call, or from structured output.

A turn whose choice cannot be used is a turn all the same: who speaks next is drawn, and why is recorded.
"""

import re
from typing import Any, assert_never

from server.debate.facts.config import HandoffMode
from server.debate.facts.state import Debate
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.response_schemas import HandoffResponse
from server.debate.prompts.tool_schemas import parse_arguments
from server.debate.replies.extract import (
    Reply,
    describe_error,
    find_debaters_by_name,
    find_json,
    normalize_name,
)
from server.debate.rules.decide import Call

_TRANSITION = re.compile(r"\btransition(?:ing)?\s+to\b[\s:]*([^\n]{1,120})", re.IGNORECASE)

MAX_NAME_LENGTH = 60

SENTENCE_ENDS = ("\n", ".", "!", "?", "…", "。")


def parse_handoff(
    debate: Debate, call: Call, text: str, reply: Reply, handoff_mode: HandoffMode
) -> tuple[str, str, str]:
    """(the turn, who is to speak next or "", why the choice cannot be used or "").

    Raises:
        ValueError: there is no turn either.
    """
    match handoff_mode:
        case "text":
            said, wanted = parse_text_handoff(debate, text)
        case "tool":
            said, wanted = parse_tool_handoff(text, reply)
        case "structured":
            said, wanted = parse_structured_handoff(text)
        case _:
            assert_never(handoff_mode)
    if wanted is None:
        return said, "", describe_missing_choice(handoff_mode)
    return said, *resolve_choice(debate, call, wanted)


def describe_missing_choice(handoff_mode: HandoffMode) -> str:
    return {
        "text": 'it named nobody to speak next: no "Transition to …"',
        "tool": "it named nobody to speak next: handoff was not called",
        "structured": "it named nobody to speak next: the answer was no JSON",
    }[handoff_mode]


def resolve_choice(debate: Debate, call: Call, choice: str) -> tuple[str, str]:
    """(who is meant, "") or ("", why nobody)."""
    found = find_debaters_by_name(debate, choice)
    others = ", ".join(name for name in debate.names if name != call.seat)
    if not normalize_name(choice):
        return "", f"it named nobody to speak next; there are {others}"
    if found == {call.seat}:
        return "", f"it chose itself to speak next, which is no hand-off; there are {others}"
    found -= {call.seat}
    if len(found) != 1:
        return (
            "",
            f'it chose "{collapse_whitespace(choice)[:MAX_NAME_LENGTH]}" to speak next; there are {others}',
        )
    return found.pop(), ""


def parse_text_handoff(debate: Debate, text: str) -> tuple[str, str | None]:
    """(the turn, the choice of the last "Transition to …" in it).

    A choice that the turn ends with is no part of it: it holds a name, and judges read no names.
    """
    found = list(_TRANSITION.finditer(text))
    if not found:
        return text, None
    said = text[: found[-1].start()].rstrip(" \t*_\"'([")
    ends = not text[found[-1].end() :].strip() and said.endswith(SENTENCE_ENDS)
    return said.rstrip() if ends and said.strip() else text, match_debater_name(debate, found[-1][1])


def match_debater_name(debate: Debate, text: str) -> str:
    """The name that this begins with, or what stands there."""
    rest = normalize_name(text)
    for known in (normalize_name, strip_article):
        beginnings = [name for name in debate.names if has_name_prefix(known(rest), known(name))]
        if beginnings:
            return max(beginnings, key=len)
    return re.split(r"[.,;!?\"')*]", text.strip("\"'* "))[0].removeprefix("the ")


def strip_article(name: str) -> str:
    return normalize_name(name).removeprefix("the ")


def has_name_prefix(text: str, name: str) -> bool:
    return text.startswith(name) and not text[len(name) : len(name) + 1].isalnum()


def parse_tool_handoff(text: str, reply: Reply) -> tuple[str, str | None]:
    for made in reply.function_calls:
        if made.name == "handoff":
            try:
                said, wanted = parse_handoff_response(parse_arguments(made))
            except ValueError as error:
                if text:
                    return text, None
                raise ValueError(f"handoff was called wrongly: {describe_error(error, cut=False)}") from error
            return said or text, wanted
    return text, None


def parse_structured_handoff(text: str) -> tuple[str, str | None]:
    try:
        return parse_handoff_response(find_json(text))
    except ValueError as error:
        if text.lstrip("` \n").removeprefix("json").lstrip().startswith("{"):
            raise ValueError(describe_error(error, cut=False)) from error
        return text, None  # prose is a turn, too


def parse_handoff_response(value: Any) -> tuple[str, str]:
    """(the turn, who is to speak next). A choice that is no name costs the choice and not the turn."""
    if isinstance(value, dict) and not isinstance(value.get("next_agent_name"), str):
        value = {**value, "next_agent_name": ""}
    read = HandoffResponse.model_validate(value)
    return clean(read.response), read.next_agent_name
