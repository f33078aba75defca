"""Tools and results of research servers in a form fit for models: functions, and text without secrets."""

import json
import re
from collections.abc import Iterable
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

_INVALID_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool of a server as the function that models may call."""

    server: str
    tool: str
    function: Function


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call. At most one of `text` and `error` is set; neither if the tool found nothing."""

    text: str = ""
    error: str = ""
    cut: bool = False


def build_tool(name: str, description: str, parameters: dict[str, Any]) -> Function | None:
    """A tool, or None if its name or its schema is too large for a prompt."""
    try:
        schema_size = len(json.dumps(parameters, ensure_ascii=False).encode())
    except (ValueError, RecursionError):  # cannot be sent to a provider either
        return None
    if len(name) > MAX_TOOL_NAME_LENGTH or schema_size > MAX_SCHEMA_BYTES:
        return None
    text = collapse_whitespace(clean(description[: 4 * MAX_DESCRIPTION_LENGTH]))
    return Function(name, text[:MAX_DESCRIPTION_LENGTH], parameters)


def build_offers(tools: Iterable[tuple[str, Function]]) -> tuple[Offer, ...]:
    """The first 32 of these (server, tool) pairs as functions with unique names that providers accept."""
    offers: dict[str, Offer] = {}
    for server, tool in tools:
        if len(offers) == MAX_FUNCTIONS:
            break
        plain = _INVALID_NAME_CHARACTERS.sub("_", f"{server}__{tool.name}")
        name, count = plain[:MAX_FUNCTION_NAME_LENGTH], 1
        while name in offers:
            count += 1
            name = f"{plain[: MAX_FUNCTION_NAME_LENGTH - 3]}_{count}"
        offers[name] = Offer(server, tool.name, Function(name, tool.description, tool.parameters))
    return tuple(offers.values())


def format_error_text(text: str, server: ResearchServer) -> str:
    """An error message of a server on one line, short and without secrets."""
    line = collapse_whitespace(clean(redact_server_secrets(text[: 4 * MAX_ERROR_LENGTH], server)))
    return line if len(line) <= MAX_ERROR_LENGTH else line[: MAX_ERROR_LENGTH - 1].rstrip() + "…"


def redact_server_secrets(text: str, server: ResearchServer) -> str:
    """The text without the keys and header values of this server, and without what looks like a key."""
    words = [word for value in server.headers.values() for word in (value, *value.split())]
    headers = {f"{number}_SECRET": word for number, word in enumerate(words)}
    return redact(text, {**server.env, **headers})
