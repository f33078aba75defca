"""What research servers say, made fit for a model: their tools as functions, their results as text."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.tool_schemas import Function
from server.redaction import redact
from server.settings import ResearchServer

MAX_RESULT_LENGTH = 8_000
MAX_ARGUMENTS_LENGTH = 4_000
MAX_DESCRIPTION_LENGTH = 500
MAX_ERROR_LENGTH = 300
MAX_SCHEMA_BYTES = 8_000
MAX_TOOL_NAME_LENGTH = 200
MAX_FUNCTIONS = 32
MAX_FUNCTION_NAME_LENGTH = 64

_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")


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
class ToolResult:
    """What came of a call. One of `text` and `failed` is empty; both are when the tool found nothing."""

    text: str = ""
    error: str = ""
    cut: bool = False


def build_tool(name: str, description: str, parameters: dict[str, Any]) -> Tool | None:
    """A tool, or None for one that no model can be told of."""
    if len(name) > MAX_TOOL_NAME_LENGTH or not is_small_enough(parameters):
        return None
    told = collapse_whitespace(clean(description[: 4 * MAX_DESCRIPTION_LENGTH]))[:MAX_DESCRIPTION_LENGTH]
    return Tool(name, told, parameters)


def build_offers(tools: Iterable[tuple[str, Tool]]) -> tuple[Offer, ...]:
    """Tools with their servers' names as functions, each with a name of its own."""
    made: dict[str, Offer] = {}
    for server, tool in tools:
        if len(made) == MAX_FUNCTIONS:
            break
        name = choose_function_name(f"{server}__{tool.name}", made)
        made[name] = Offer(server, tool.name, Function(name, tool.description, tool.parameters))
    return tuple(made.values())


def is_small_enough(schema: dict[str, Any]) -> bool:
    try:
        return len(json.dumps(schema, ensure_ascii=False).encode()) <= MAX_SCHEMA_BYTES
    except (ValueError, RecursionError):  # no providers could be told of it either
        return False


def choose_function_name(preferred: str, used_names: Mapping[str, Any]) -> str:
    """A name that providers accept for a function and that is not taken."""
    plain = _INVALID_CHARACTERS.sub("_", preferred)
    name, count = plain[:MAX_FUNCTION_NAME_LENGTH], 1
    while name in used_names:
        count += 1
        name = f"{plain[: MAX_FUNCTION_NAME_LENGTH - 3]}_{count}"
    return name


def build_tool_result(
    texts: Sequence[str],
    other_kinds: Sequence[str],
    structured: Any,
    server: ResearchServer,
    *,
    is_error: bool,
) -> ToolResult:
    """What a tool answered.

    others: the kinds of its parts that are no text, such as "image".
    """
    whole = "\n\n".join(text for text in texts if text)
    if not whole and structured is not None:
        whole = json.dumps(structured, ensure_ascii=False)
    if is_error:
        quoted = format_error_text(whole, server)
        return ToolResult(
            error=f"the tool failed: {quoted}" if quoted else "the tool failed and does not say why"
        )
    if not whole and other_kinds:
        return ToolResult(
            error=f"the tool answered with {' and '.join(sorted(set(other_kinds)))}, and no text"
        )
    # Cut before it is cleaned, which takes time, and after: what is secret may begin before the cut.
    text = clean(redact_server_secrets(whole[: 4 * MAX_RESULT_LENGTH], server))
    return ToolResult(
        text[:MAX_RESULT_LENGTH], cut=len(text) > MAX_RESULT_LENGTH or len(whole) > 4 * MAX_RESULT_LENGTH
    )


def format_error_text(text: str, server: ResearchServer) -> str:
    """What a server said of itself, on one line, short and without secrets."""
    line = collapse_whitespace(clean(redact_server_secrets(text[: 4 * MAX_ERROR_LENGTH], server)))
    return line if len(line) <= MAX_ERROR_LENGTH else line[: MAX_ERROR_LENGTH - 1].rstrip() + "…"


def redact_server_secrets(text: str, server: ResearchServer) -> str:
    """The text without the headers and keys that we gave the server, and all that looks like one."""
    words = [word for value in server.headers.values() for word in (value, *value.split())]
    headers = {f"{number}_SECRET": word for number, word in enumerate(words)}
    return redact(text, {**server.env, **headers})
