"""What a tool's arguments must be, told to a model that got them wrong: one line for each, and what to do."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import Field, ValidationError

from server.debate.facts.text import collapse_whitespace

MAX_ERRORS = 5

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
"""What to pass for an argument that must be there, where the schema does not say."""


class CheckedTool(Tool):
    """A tool that tells what is wrong with its arguments in words; the SDK's own answer is pydantic's."""

    full_schema: Schema = Field(default_factory=dict)
    """The schema of its arguments in full; what is listed may say parts of it in words."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        try:
            arguments = self.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(describe_errors(error, self.full_schema)) from error
        return await super().run(arguments, context, convert_result)

    def validate_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments, valid, without the nulls that stand for what was left out."""
        given = self.fn_metadata.pre_parse_json(arguments)
        try:
            self.fn_metadata.arg_model.model_validate(given)
        except ValidationError as error:
            for wrong in error.errors(include_url=False):
                if wrong["input"] is None and wrong["type"] != "extra_forbidden":
                    given = remove_path(given, wrong["loc"])
            self.fn_metadata.arg_model.model_validate(given)
        return given


def remove_path(value: Any, path: ErrorPath) -> Any:
    """A copy without one entry of an object; an entry of a list stays, since leaving it out moves others."""
    key, *rest = path
    if isinstance(value, dict):
        if not rest:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: remove_path(value[key], rest)}
    if isinstance(value, list) and rest:
        return [remove_path(part, rest) if index == key else part for index, part in enumerate(value)]
    return value


def describe_errors(error: ValidationError, schema: Schema) -> str:
    """A line for each thing that is wrong, as far as there are few."""
    wrong = error.errors(include_url=False)
    lines = [describe_error(one, schema) for one in wrong[:MAX_ERRORS]]
    if len(wrong) > MAX_ERRORS:
        lines.append(f"And {len(wrong) - MAX_ERRORS} more.")
    return "\n".join(lines)


def describe_error(details: Mapping[str, Any], schema: Schema) -> str:
    path = details["loc"]
    name = f"`{format_path(path)}`"
    if details["type"] == "extra_forbidden":
        return f"{name} is unknown. There are: {', '.join(find_subschema(schema, path[:-1]).get('properties', {}))}."
    found = find_subschema(schema, path)
    if details["type"] == "missing":
        return f"{name} is missing: {describe_missing_value(str(path[-1]), found)}."
    if say := BOUND_MESSAGES.get(details["type"]):
        return f"{name} {say(details.get('ctx', {}), details['input'])}."
    if kind := TYPE_DESCRIPTIONS.get(found.get("type", "") or details["type"].removesuffix("_type")):
        return f"{name} must be {kind}."
    return f"{name}: {details['msg']}."


def format_path(path: ErrorPath) -> str:
    """A path as one would write it: debaters[0].stance. Names that nobody gave an argument may be long."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{collapse_whitespace(part)[:60]}" for part in path]
    return "".join(parts).removeprefix(".")


def find_subschema(schema: Schema, path: ErrorPath) -> Schema:
    """The part of a schema that is about this place; {} if there is none."""
    here = schema
    for part in path:
        inner = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        here = inner or {}
        if reference := here.get("$ref"):
            here = {"type": "object", **schema["$defs"][reference.rsplit("/", 1)[-1]], **here}
    return here


def describe_missing_value(name: str, subschema: Schema) -> str:
    if choices := subschema.get("enum"):
        return "one of " + ", ".join(choices)
    return (
        ARGUMENT_HINTS.get(name)
        or subschema.get("description")
        or f"pass {TYPE_DESCRIPTIONS.get(subschema.get('type', ''), 'it')}"
    )


def format_maximum_error(limit: Any, value: Any) -> str:
    return f"must be at most {limit}{format_comparison(value, 'more')}"


def format_minimum_error(limit: Any, value: Any) -> str:
    return f"must be at least {limit}{format_comparison(value, 'less')}"


def format_comparison(value: Any, relation: str) -> str:
    """Numbers of thousands of digits are not repeated: that takes long, and helps nobody."""
    short = isinstance(value, int | float) and abs(value) < 10**12
    return f", and {value} is {relation}" if short else ""


def format_length_error(unit: str, max_length: int, value: Any) -> str:
    return f"may have {max_length:,} {unit} at most, and has {len(value):,}"


BOUND_MESSAGES: dict[str, Callable[[dict[str, Any], Any], str]] = {
    "less_than_equal": lambda ctx, value: format_maximum_error(ctx["le"], value),
    "greater_than_equal": lambda ctx, value: format_minimum_error(ctx["ge"], value),
    "string_too_long": lambda ctx, value: format_length_error("characters", ctx["max_length"], value),
    "string_too_short": lambda _ctx, _value: "must not be empty",
    "too_long": lambda ctx, value: format_length_error(
        "characters" if isinstance(value, str) else "entries", ctx["max_length"], value
    ),
}
