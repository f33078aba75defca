"""What a tool's arguments must be, told to a model that got them wrong: one line for each, and what to do."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import Field, ValidationError

from server.debate.facts.text import one_line

MOST_TOLD = 5

Schema = dict[str, Any]
Path = Sequence[str | int]

KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}

NEEDED = {
    "question": "what the debate is to answer, in a sentence",
    "debate_id": "start_debate returns it, and find_debates lists all",
}
"""What to pass for an argument that must be there, where the schema does not say."""


class CheckedTool(Tool):
    """A tool that tells what is wrong with its arguments in words; the SDK's own answer is pydantic's."""

    whole: Schema = Field(default_factory=dict)
    """The schema of its arguments in full; what is listed may say parts of it in words."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        try:
            arguments = self.checked(arguments)
        except ValidationError as error:
            raise ToolError(told(error, self.whole)) from error
        return await super().run(arguments, context, convert_result)

    def checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments, valid, without the nulls that stand for what was left out."""
        given = self.fn_metadata.pre_parse_json(arguments)
        try:
            self.fn_metadata.arg_model.model_validate(given)
        except ValidationError as error:
            for wrong in error.errors(include_url=False):
                if wrong["input"] is None and wrong["type"] != "extra_forbidden":
                    given = without(given, wrong["loc"])
            self.fn_metadata.arg_model.model_validate(given)
        return given


def without(value: Any, path: Path) -> Any:
    """A copy without one entry of an object; an entry of a list stays, since leaving it out moves others."""
    key, *rest = path
    if isinstance(value, dict):
        if not rest:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: without(value[key], rest)}
    if isinstance(value, list) and rest:
        return [without(part, rest) if index == key else part for index, part in enumerate(value)]
    return value


def told(error: ValidationError, schema: Schema) -> str:
    """A line for each thing that is wrong, as far as there are few."""
    wrong = error.errors(include_url=False)
    lines = [line(one, schema) for one in wrong[:MOST_TOLD]]
    if len(wrong) > MOST_TOLD:
        lines.append(f"And {len(wrong) - MOST_TOLD} more.")
    return "\n".join(lines)


def line(wrong: Mapping[str, Any], schema: Schema) -> str:
    path = wrong["loc"]
    name = f"`{spelled(path)}`"
    if wrong["type"] == "extra_forbidden":
        return f"{name} is unknown. There are: {', '.join(node(schema, path[:-1]).get('properties', {}))}."
    found = node(schema, path)
    if wrong["type"] == "missing":
        return f"{name} is missing: {needed(str(path[-1]), found)}."
    if say := BOUNDS.get(wrong["type"]):
        return f"{name} {say(wrong.get('ctx', {}), wrong['input'])}."
    if kind := KINDS.get(found.get("type", "") or wrong["type"].removesuffix("_type")):
        return f"{name} must be {kind}."
    return f"{name}: {wrong['msg']}."


def spelled(path: Path) -> str:
    """A path as one would write it: debaters[0].stance. Names that nobody gave an argument may be long."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{one_line(part)[:60]}" for part in path]
    return "".join(parts).removeprefix(".")


def node(schema: Schema, path: Path) -> Schema:
    """The part of a schema that is about this place; {} if there is none."""
    here = schema
    for part in path:
        inner = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        here = inner or {}
        if reference := here.get("$ref"):
            here = {"type": "object", **schema["$defs"][reference.rsplit("/", 1)[-1]], **here}
    return here


def needed(name: str, found: Schema) -> str:
    if choices := found.get("enum"):
        return "one of " + ", ".join(choices)
    return NEEDED.get(name) or found.get("description") or f"pass {KINDS.get(found.get('type', ''), 'it')}"


def too_much(limit: Any, value: Any) -> str:
    return f"must be at most {limit}{compared(value, 'more')}"


def too_little(limit: Any, value: Any) -> str:
    return f"must be at least {limit}{compared(value, 'less')}"


def compared(value: Any, how: str) -> str:
    """Numbers of thousands of digits are not repeated: that takes long, and helps nobody."""
    short = isinstance(value, int | float) and abs(value) < 10**12
    return f", and {value} is {how}" if short else ""


def too_long(what: str, most: int, value: Any) -> str:
    return f"may have {most:,} {what} at most, and has {len(value):,}"


BOUNDS: dict[str, Callable[[dict[str, Any], Any], str]] = {
    "less_than_equal": lambda ctx, value: too_much(ctx["le"], value),
    "greater_than_equal": lambda ctx, value: too_little(ctx["ge"], value),
    "string_too_long": lambda ctx, value: too_long("characters", ctx["max_length"], value),
    "string_too_short": lambda _ctx, _value: "must not be empty",
    "too_long": lambda ctx, value: too_long(
        "characters" if isinstance(value, str) else "entries", ctx["max_length"], value
    ),
}
