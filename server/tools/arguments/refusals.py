"""What a call is told whose arguments cannot be read: a line for each, with what to pass, and where."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from server.debate.commands.inputs import describe_bound
from server.debate.facts.text import collapse_whitespace
from server.tools.arguments.schemas import Schema, build_schema
from server.tools.arguments.synonyms import (
    INSTEAD,
    Path,
    Reading,
    find_names,
    find_places,
    format_path,
    holds,
    normalize,
)

MAX_COMPARED = 1_000  # validation errors that are explained one by one
MAX_ERRORS = 5
MAX_NAME_LENGTH = 60

CLOSE = 0.8
"""How alike a misspelt name and the one that is meant are; less alike ones are rarely meant."""

TYPE_DESCRIPTIONS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}

ARGUMENT_HINTS = {
    "question": "what is to be answered, in a sentence",
    "debate_id": "start_debate returns it, and find_debates lists all",
}
"""What to pass for a missing argument, where the schema does not say."""

MAX_SHAPE_FIELDS = 4


def describe_errors(error: ValidationError, reading: Reading) -> str:
    """A line for each of the first errors, and the number of the others."""
    lines: dict[str, None] = {}  # without repetitions: each alternative of a value has errors of its own
    if error.error_count() > MAX_COMPARED:
        return f"These are {error.error_count():,} errors. There are: {', '.join(reading.listed)}"
    for details in error.errors(include_url=False):
        path = drop_branches(details["loc"], ends_in_key=details["type"] == "extra_forbidden")
        problem = describe_error({**details, "loc": path}, reading)
        for place, old in reading.moved.items():
            if path[: len(place)] != place:
                continue
            if reading.is_listed(old):
                path = (*old, *path[len(place) :])
            else:
                lines[f"`{shorten_path(old)}` {describe_place(place)}."] = None
        lines[f"`{shorten_path(path)}` {problem}."] = None
    first_lines = [*lines][:MAX_ERRORS]
    first_lines += [f"And {len(lines) - MAX_ERRORS} more."] if len(lines) > MAX_ERRORS else []
    return "\n".join([*first_lines, *filter(None, [reading.describe()])])


def shorten_path(path: Path) -> str:
    """The path as one would write it. Names that a caller made up are shortened."""
    return format_path(
        tuple(part if isinstance(part, int) else collapse_whitespace(part)[:MAX_NAME_LENGTH] for part in path)
    )


def drop_branches(path: Path, *, ends_in_key: bool) -> Path:
    """The path without pydantic's names for alternatives of a value: names of types, which a key may look like."""
    inner, key = (path[:-1], path[-1:]) if ends_in_key else (path, ())
    names = (
        part
        for part in inner
        if isinstance(part, int) or not re.fullmatch(r"bool|[A-Z]\w*|constrained-\w+|literal\[.*\]", part)
    )
    return (*names, *key)


def describe_error(details: Mapping[str, Any], reading: Reading) -> str:  # noqa: PLR0911  (a case for each kind)
    path, schema = details["loc"], build_schema(reading.model)
    expected = find_subschema(schema, path)
    choices = ", ".join(filter(None, expected.get("enum", ())))
    match details["type"]:
        case "extra_forbidden":
            return describe_unknown(path, schema, reading)
        case "missing":
            inside = f", in {describe_shape(find_subschema(schema, path[:-1]))}" if path[1:] else ""
            fallback = f"pass {TYPE_DESCRIPTIONS.get(expected.get('type', ''), 'it')}"
            hint = (
                ARGUMENT_HINTS.get(str(path[-1])) or lower_first(expected.get("description", "")) or fallback
            )
            return f"is missing: {f'one of {choices}' if choices else hint}{inside}"
        case "value_error":
            return str(details["ctx"]["error"])
        case _ if bound := describe_bound(details):
            return bound
        case _ if choices:
            return f"must be one of {choices}"
        case "literal_error" if "anyOf" in expected:
            return f"must be {describe_shape(expected)}"
        case kind if kind.endswith(("_type", "_parsing", "_from_float")):
            expected = expected or {"type": kind.removesuffix("_type")}
            is_list = path == ("options",) and isinstance(details["input"], list)
            advice = f". Are these what to choose from? Then {INSTEAD['choices']}" if is_list else ""
            return f"must be {describe_shape(expected)}{advice}"
    return f"is not valid: {details['msg']}"


def describe_unknown(path: Path, schema: Schema, reading: Reading) -> str:
    """Where an argument belongs that is not known at its place, what it may be instead, or what there is."""
    word = str(path[-1])[:MAX_NAME_LENGTH]
    names = [*choose_object(find_subschema(schema, path[:-1])).get("properties", ())]
    if len(given := find_names(word, names)) == 1:
        return f"is another word for `{given[0]}`, which is given as well. Leave one of them out"
    if places := [place for place in find_places(reading.model, word) if place != path]:
        if len(places) == 1 and reading.is_listed(path) and holds(reading.arguments, places[0]):
            return f"is given in `{format_path(places[0][:-1])}` as well. Leave one of them out"
        return " or ".join(map(describe_place, places[:MAX_ERRORS]))
    if advice := INSTEAD.get(normalize(word)):
        return f"is unknown: {advice}"
    shown = names if path[1:] else [*reading.listed]
    nearest = get_close_matches(word, names, n=1, cutoff=CLOSE)
    suggestion = f" Did you mean {nearest[0]}?" if nearest else ""
    return f"is unknown.{suggestion} There are: {', '.join(shown)}"


def describe_place(place: Path) -> str:
    """Where an argument belongs, and how a call has it there."""
    *outer, name = map(str, place)
    if not outer:
        return f"belongs at the top: {name}=…"
    inner = "…"
    for part in reversed((*outer[1:], name)):
        inner = f'{{"{part}": {inner}}}'
    return f"belongs in `{'.'.join(outer)}`: {outer[0]}={inner}"


def lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def describe_shape(schema: Schema) -> str:
    """What a value must be, with the fields of objects: "a list of objects {name, stance, role, …}"."""
    if alternatives := schema.get("anyOf"):
        return " or ".join(describe_shape(part) for part in alternatives)
    if choices := schema.get("enum"):
        return f"one of {', '.join(choices)}"
    description = TYPE_DESCRIPTIONS.get(schema.get("type", ""), "of another type")
    if "properties" in schema:
        names = [*schema.get("required", ()), *schema["properties"]]
        fields = [*dict.fromkeys(names)]
        dots = ", …" if len(fields) > MAX_SHAPE_FIELDS else ""
        return f"{description} {{{', '.join(fields[:MAX_SHAPE_FIELDS])}{dots}}}"
    if "items" in schema:
        item = describe_shape(schema["items"])
        return f"{description} of {'texts' if item == 'text' else item.replace('an object', 'objects', 1)}"
    return description


def choose_object(schema: Schema) -> Schema:
    """The alternative that is an object, if there are alternatives."""
    return next((part for part in schema.get("anyOf", ()) if "properties" in part), schema)


def find_subschema(schema: Schema, path: Path) -> Schema:
    """The part of a schema that describes the value at this path; {} if there is none."""
    here = schema
    for part in path:
        here = choose_object(here)
        inner = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        here = inner or {}
    return here
