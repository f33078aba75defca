"""What research servers say, made fit for a model: their tools as functions, their results as text."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.debate.facts.text import clean, one_line
from server.debate.prompts.tool_schemas import Function
from server.redaction import redact
from server.settings import ResearchServer

LONGEST_RESULT = 8_000
LONGEST_ARGUMENTS = 4_000
LONGEST_DESCRIPTION = 500
LONGEST_COMPLAINT = 300
LARGEST_SCHEMA = 8_000
LONGEST_TOOL_NAME = 200
MOST_FUNCTIONS = 32
LONGEST_NAME = 64

_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as its server describes it, with limits."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    server: str
    tool: str
    function: Function


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of a call. One of `text` and `failed` is empty; both are when the tool found nothing."""

    text: str = ""
    failed: str = ""
    cut: bool = False


def listed(name: str, description: str, parameters: dict[str, Any]) -> Tool | None:
    """A tool, or None for one that no model can be told of."""
    if len(name) > LONGEST_TOOL_NAME or not fits(parameters):
        return None
    told = one_line(clean(description[: 4 * LONGEST_DESCRIPTION]))[:LONGEST_DESCRIPTION]
    return Tool(name, told, parameters)


def offers(tools: Iterable[tuple[str, Tool]]) -> tuple[Offer, ...]:
    """Tools with their servers' names as functions, each with a name of its own."""
    made: dict[str, Offer] = {}
    for server, tool in tools:
        if len(made) == MOST_FUNCTIONS:
            break
        name = unlike(f"{server}__{tool.name}", made)
        made[name] = Offer(server, tool.name, Function(name, tool.description, tool.parameters))
    return tuple(made.values())


def fits(schema: dict[str, Any]) -> bool:
    try:
        return len(json.dumps(schema, ensure_ascii=False).encode()) <= LARGEST_SCHEMA
    except (ValueError, RecursionError):  # no providers could be told of it either
        return False


def unlike(wanted: str, taken: Mapping[str, Any]) -> str:
    """A name that providers accept for a function and that is not taken."""
    plain = _UNFIT.sub("_", wanted)
    name, count = plain[:LONGEST_NAME], 1
    while name in taken:
        count += 1
        name = f"{plain[: LONGEST_NAME - 3]}_{count}"
    return name


def finding(
    texts: Sequence[str], others: Sequence[str], structured: Any, server: ResearchServer, *, is_error: bool
) -> Finding:
    """What a tool answered.

    others: the kinds of its parts that are no text, such as "image".
    """
    whole = "\n\n".join(text for text in texts if text)
    if not whole and structured is not None:
        whole = json.dumps(structured, ensure_ascii=False)
    if is_error:
        quoted = said(whole, server)
        return Finding(
            failed=f"the tool failed: {quoted}" if quoted else "the tool failed and does not say why"
        )
    if not whole and others:
        return Finding(failed=f"the tool answered with {' and '.join(sorted(set(others)))}, and no text")
    # Cut before it is cleaned, which takes time, and after: what is secret may begin before the cut.
    text = clean(redacted(whole[: 4 * LONGEST_RESULT], server))
    return Finding(text[:LONGEST_RESULT], cut=len(text) > LONGEST_RESULT or len(whole) > 4 * LONGEST_RESULT)


def said(text: str, server: ResearchServer) -> str:
    """What a server said of itself, on one line, short and without secrets."""
    line = one_line(clean(redacted(text[: 4 * LONGEST_COMPLAINT], server)))
    return line if len(line) <= LONGEST_COMPLAINT else line[: LONGEST_COMPLAINT - 1].rstrip() + "…"


def redacted(text: str, server: ResearchServer) -> str:
    """The text without the headers and keys that we gave the server, and all that looks like one."""
    words = [word for value in server.headers.values() for word in (value, *value.split())]
    headers = {f"{number}_SECRET": word for number, word in enumerate(words)}
    return redact(text, {**server.env, **headers})
