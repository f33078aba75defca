"""How a speaker's choice of the next one is read: from text, from a tool call, or from structured output.

A turn whose choice cannot be used is a turn all the same: who speaks next is drawn, and why is recorded.
"""

import re
from typing import Any, assert_never

from server.debate.facts.config import Handoff
from server.debate.facts.state import Debate
from server.debate.facts.text import clean, one_line
from server.debate.prompts.response_schemas import HandoffResponse
from server.debate.prompts.tool_schemas import arguments_of
from server.debate.replies.extract import Reply, called, find_json, plain, problem
from server.debate.rules.decide import Call

_TRANSITION = re.compile(r"\btransition(?:ing)?\s+to\b[\s:]*([^\n]{1,120})", re.IGNORECASE)

LONGEST_NAME = 60

SENTENCE_ENDS = ("\n", ".", "!", "?", "…", "。")


def handed(debate: Debate, call: Call, text: str, reply: Reply, how: Handoff) -> tuple[str, str, str]:
    """(the turn, who is to speak next or "", why the choice cannot be used or "").

    Raises:
        ValueError: there is no turn either.
    """
    match how:
        case "text":
            said, wanted = from_text(debate, text)
        case "tool":
            said, wanted = from_call(text, reply)
        case "structured":
            said, wanted = from_object(text)
        case _:
            assert_never(how)
    if wanted is None:
        return said, "", missing(how)
    return said, *usable(debate, call, wanted)


def missing(how: Handoff) -> str:
    return {
        "text": 'it named nobody to speak next: no "Transition to …"',
        "tool": "it named nobody to speak next: handoff was not called",
        "structured": "it named nobody to speak next: the answer was no JSON",
    }[how]


def usable(debate: Debate, call: Call, wanted: str) -> tuple[str, str]:
    """(who is meant, "") or ("", why nobody)."""
    found = called(debate, wanted)
    others = ", ".join(name for name in debate.names if name != call.seat)
    if not plain(wanted):
        return "", f"it named nobody to speak next; there are {others}"
    if found == {call.seat}:
        return "", f"it chose itself to speak next, which is no hand-off; there are {others}"
    found -= {call.seat}
    if len(found) != 1:
        return "", f'it chose "{one_line(wanted)[:LONGEST_NAME]}" to speak next; there are {others}'
    return found.pop(), ""


def from_text(debate: Debate, text: str) -> tuple[str, str | None]:
    """(the turn, the choice of the last "Transition to …" in it).

    A choice that the turn ends with is no part of it: it holds a name, and judges read no names.
    """
    found = list(_TRANSITION.finditer(text))
    if not found:
        return text, None
    said = text[: found[-1].start()].rstrip(" \t*_\"'([")
    ends = not text[found[-1].end() :].strip() and said.endswith(SENTENCE_ENDS)
    return said.rstrip() if ends and said.strip() else text, named(debate, found[-1][1])


def named(debate: Debate, said: str) -> str:
    """The name that this begins with, or what stands there."""
    rest = plain(said)
    for known in (plain, without_article):
        beginnings = [name for name in debate.names if begins_with(known(rest), known(name))]
        if beginnings:
            return max(beginnings, key=len)
    return re.split(r"[.,;!?\"')*]", said.strip("\"'* "))[0].removeprefix("the ")


def without_article(name: str) -> str:
    return plain(name).removeprefix("the ")


def begins_with(text: str, name: str) -> bool:
    return text.startswith(name) and not text[len(name) : len(name) + 1].isalnum()


def from_call(text: str, reply: Reply) -> tuple[str, str | None]:
    for made in reply.calls:
        if made.name == "handoff":
            try:
                said, wanted = response(arguments_of(made))
            except ValueError as error:
                if text:
                    return text, None
                raise ValueError(f"handoff was called wrongly: {problem(error, cut=False)}") from error
            return said or text, wanted
    return text, None


def from_object(text: str) -> tuple[str, str | None]:
    try:
        return response(find_json(text))
    except ValueError as error:
        if text.lstrip("` \n").removeprefix("json").lstrip().startswith("{"):
            raise ValueError(problem(error, cut=False)) from error
        return text, None  # prose is a turn, too


def response(given: Any) -> tuple[str, str]:
    """(the turn, who is to speak next). A choice that is no name costs the choice and not the turn."""
    if isinstance(given, dict) and not isinstance(given.get("next_agent_name"), str):
        given = {**given, "next_agent_name": ""}
    read = HandoffResponse.model_validate(given)
    return clean(read.response), read.next_agent_name
