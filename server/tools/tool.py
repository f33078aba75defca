"""How a function becomes a tool: checked arguments, plain schemas, errors that say what to do."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from server.debate.facts.errors import DebateError
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

OMITTED_KEYWORDS = frozenset(
    {"title", "maxLength", "minLength", "maxItems", "maximum", "minimum", "exclusiveMinimum"}
)
"""Titles repeat names. Bounds are enforced, and an error names the one that was broken."""


class StrictArguments(ArgModelBase):
    model_config = ConfigDict(extra="forbid")


class CheckedTool(Tool):
    """A tool whose errors tell the model in plain text what to do."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        given = self.fn_metadata.pre_parse_json(arguments)
        validate = self.fn_metadata.arg_model.model_validate
        try:
            try:
                validate(given)
            except ValidationError as error:
                for wrong in error.errors(include_url=False):  # a null counts as an argument left out
                    if wrong["input"] is None and wrong["type"] != "extra_forbidden":
                        given = remove_path(given, wrong["loc"])
                validate(given)
        except ValidationError as error:
            raise ToolError(describe_errors(error, self.parameters)) from error
        try:
            return await super().run(given, context, convert_result)
        except UnexpectedToolError as error:
            if isinstance(cause := error.__cause__, DebateError):
                raise ToolError(f"{error}: {cause}") from cause
            raise


def build_tool(
    function: Callable[..., Awaitable[CallToolResult]], *, title: str, annotations: ToolAnnotations
) -> CheckedTool:
    """A tool that refuses unknown arguments. The SDK ignores them, so a misspelt one would go unnoticed."""
    tool = CheckedTool.from_function(function, title=title, annotations=annotations)
    assert isinstance(tool, CheckedTool)
    loose = tool.fn_metadata.arg_model
    tool.fn_metadata.arg_model = create_model(loose.__name__, __base__=(StrictArguments, loose))
    tool.parameters = simplify_schema(tool.fn_metadata.arg_model.model_json_schema(by_alias=True))
    # As serialized, where every field is always present.
    output = TypeAdapter(tool.fn_metadata.output_model).json_schema(mode="serialization")
    tool.fn_metadata.output_schema = simplify_schema(output)
    return tool


def simplify_schema(schema: Schema) -> Schema:
    """The schema that pydantic generated, as short as it can be, because every conversation pays for it.

    A property that may be null is an optional one. A default that matters stands in the description too,
    because some clients drop `default`; an empty one means "not given". Docstrings of classes are dropped.
    """
    simple: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            simple[key] = {name: simplify_schema(part) for name, part in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            simple[key] = simplify_schema(value)
        elif key == "anyOf":
            kept = [simplify_schema(part) for part in value if part != {"type": "null"}]
            simple |= kept[0] if len(kept) == 1 else {"anyOf": kept}
        elif key not in OMITTED_KEYWORDS and not (key == "description" and "properties" in schema):
            simple[key] = value
    default = simple.get("default")
    if not default or isinstance(default, dict):
        simple.pop("default", None)
    else:
        lead = f"{simple['description']}. " if "description" in simple else ""
        simple["description"] = f"{lead}Default: {'true' if default is True else default}"
    return simple


def remove_path(value: Any, path: ErrorPath) -> Any:
    """A copy without the object member at this path. Items of lists stay: removing one would shift others."""
    key, *rest = path
    if isinstance(value, dict):
        if not rest:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: remove_path(value[key], rest)}
    if isinstance(value, list) and rest:
        return [remove_path(part, rest) if index == key else part for index, part in enumerate(value)]
    return value


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
