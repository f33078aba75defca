"""Errors about a tool's arguments, for the model that passed them: one line each, with what to do."""

from collections.abc import Callable, Mapping, Sequence
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

ERROR_MESSAGES: dict[str, Callable[[dict[str, Any], Any], str]] = {
    "less_than_equal": lambda ctx, value: f"must be at most {ctx['le']}{compare(value, 'more')}",
    "greater_than_equal": lambda ctx, value: f"must be at least {ctx['ge']}{compare(value, 'less')}",
    "greater_than": lambda ctx, _value: f"must be more than {ctx['gt']:g}",
    "value_error": lambda ctx, _value: str(ctx["error"]),
    "string_too_long": lambda ctx, value: describe_length("characters", ctx, value),
    "string_too_short": lambda _ctx, _value: "must not be empty",
    "too_long": lambda ctx, value: describe_length(
        "characters" if isinstance(value, str) else "entries", ctx, value
    ),
}


def describe_errors(error: ValidationError, schema: Schema) -> str:
    """A line for each of the first errors, and the number of the others."""
    wrong = error.errors(include_url=False)
    lines = [describe_error(one, schema) for one in wrong[:MAX_ERRORS]]
    if len(wrong) > MAX_ERRORS:
        lines.append(f"And {len(wrong) - MAX_ERRORS} more.")
    return "\n".join(lines)


def describe_error(details: Mapping[str, Any], schema: Schema) -> str:
    path, kind = details["loc"], details["type"]
    name = f"`{format_path(path)}`"
    if kind == "extra_forbidden":
        known = find_subschema(schema, path[:-1]).get("properties", {})
        return f"{name} is unknown. There are: {', '.join(known)}."
    found = find_subschema(schema, path)
    if kind == "missing":
        return f"{name} is missing: {describe_missing_value(str(path[-1]), found)}."
    if kind in ERROR_MESSAGES:
        return f"{name} {ERROR_MESSAGES[kind](details.get('ctx', {}), details['input'])}."
    if choices := found.get("enum"):
        return f"{name} must be one of {', '.join(filter(None, choices))}."
    if expected := TYPE_DESCRIPTIONS.get(found.get("type", "") or kind.removesuffix("_type")):
        return f"{name} must be {expected}."
    return f"{name}: {details['msg']}."


def format_path(path: ErrorPath) -> str:
    """A path as one would write it: debaters[0].stance. Names that a caller made up are shortened."""
    parts = [
        f"[{part}]" if isinstance(part, int) else f".{collapse_whitespace(part)[:MAX_NAME_LENGTH]}"
        for part in path
    ]
    return "".join(parts).removeprefix(".")


def find_subschema(schema: Schema, path: ErrorPath) -> Schema:
    """The part of a schema that describes the value at this path; {} if there is none."""
    here = schema
    for part in path:
        inner = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        here = inner or {}
        if reference := here.get("$ref"):
            here = {**schema["$defs"][reference.rsplit("/", 1)[-1]], **here}
    return here


def describe_missing_value(name: str, subschema: Schema) -> str:
    if choices := subschema.get("enum"):
        return "one of " + ", ".join(choices)
    expected = TYPE_DESCRIPTIONS.get(subschema.get("type", ""), "it")
    return ARGUMENT_HINTS.get(name) or subschema.get("description") or f"pass {expected}"


def compare(value: Any, relation: str) -> str:
    """How a number compares with its bound. Very long numbers are not repeated."""
    is_short = isinstance(value, int | float) and abs(value) < MAX_SHOWN_NUMBER
    return f", and {value} is {relation}" if is_short else ""


def describe_length(unit: str, context: dict[str, Any], value: Any) -> str:
    return f"may have {context['max_length']:,} {unit} at most, and has {len(value):,}"
