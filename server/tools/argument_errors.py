"""Errors about a tool's arguments, for the model that passed them: one line each, with what to do."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from server.debate.facts.text import collapse_whitespace

MAX_ERRORS = 5
MAX_NAME_LENGTH = 60
MAX_SHOWN_NUMBER = 10**12

Schema = dict[str, Any]
ErrorPath = Sequence[str | int]

TYPE_DESCRIPTIONS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}

ARGUMENT_HINTS = {
    "question": "what the debate is to answer, in a sentence",
    "debate_id": "start_debate returns it, and find_debates lists all",
}
"""What to pass for a missing argument, where the schema does not say."""


def describe_errors(error: ValidationError, schema: Schema) -> str:
    """A line for each of the first errors, and the number of the others."""
    wrong = error.errors(include_url=False)
    lines = []
    for details in wrong[:MAX_ERRORS]:
        # As one would write it: debaters[0].stance. Names that a caller made up are shortened.
        parts = [
            f"[{part}]" if isinstance(part, int) else f".{collapse_whitespace(part)[:MAX_NAME_LENGTH]}"
            for part in details["loc"]
        ]
        lines.append(f"`{''.join(parts).removeprefix('.')}` {describe_error(details, schema)}.")
    if len(wrong) > MAX_ERRORS:
        lines.append(f"And {len(wrong) - MAX_ERRORS} more.")
    return "\n".join(lines)


def describe_error(details: Mapping[str, Any], schema: Schema) -> str:  # noqa: C901, PLR0911  (a case for each kind)
    path, value, context = details["loc"], details["input"], details.get("ctx", {})
    found = find_subschema(schema, path)
    choices = ", ".join(filter(None, found.get("enum", ())))
    match details["type"]:
        case "extra_forbidden":
            return (
                f"is unknown. There are: {', '.join(find_subschema(schema, path[:-1]).get('properties', ()))}"
            )
        case "missing" if choices:
            return f"is missing: one of {choices}"
        case "missing":
            fallback = f"pass {TYPE_DESCRIPTIONS.get(found.get('type', ''), 'it')}"
            return f"is missing: {ARGUMENT_HINTS.get(str(path[-1])) or found.get('description') or fallback}"
        case "less_than_equal":
            return f"must be at most {context['le']}{compare(value, 'more')}"
        case "greater_than_equal":
            return f"must be at least {context['ge']}{compare(value, 'less')}"
        case "greater_than":
            return f"must be more than {context['gt']:g}"
        case "value_error":
            return str(context["error"])
        case "string_too_short":
            return "must not be empty"
        case "string_too_long" | "too_long":
            unit = "characters" if isinstance(value, str) else "entries"
            return f"may have {context['max_length']:,} {unit} at most, and has {len(value):,}"
        case _ if choices:
            return f"must be one of {choices}"
        case kind if expected := TYPE_DESCRIPTIONS.get(found.get("type", "") or kind.removesuffix("_type")):
            return f"must be {expected}"
    return f"is not valid: {details['msg']}"


def find_subschema(schema: Schema, path: ErrorPath) -> Schema:
    """The part of a schema that describes the value at this path; {} if there is none."""
    here = schema
    for part in path:
        inner = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        here = inner or {}
        if reference := here.get("$ref"):
            here = {**schema["$defs"][reference.rsplit("/", 1)[-1]], **here}
    return here


def compare(value: Any, relation: str) -> str:
    """How a number compares with its bound. Very long numbers are not repeated."""
    is_short = isinstance(value, int | float) and abs(value) < MAX_SHOWN_NUMBER
    return f", and {value} is {relation}" if is_short else ""
