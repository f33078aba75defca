"""How a function becomes a tool: checked arguments, plain schemas, errors that say what to do."""

from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from server.debate.facts.errors import DebateError
from server.tools.argument_errors import ErrorPath, describe_errors

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
        try:
            arguments = self.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(describe_errors(error, self.parameters)) from error
        try:
            return await super().run(arguments, context, convert_result)
        except UnexpectedToolError as error:
            if isinstance(cause := error.__cause__, DebateError):
                raise ToolError(f"{error}: {cause}") from cause
            raise

    def validate_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments without nulls, which count as arguments left out.

        Raises:
            ValidationError: an argument is unknown, missing or wrong.
        """
        given = self.fn_metadata.pre_parse_json(arguments)
        try:
            self.fn_metadata.arg_model.model_validate(given)
        except ValidationError as error:
            for wrong in error.errors(include_url=False):
                if wrong["input"] is None and wrong["type"] != "extra_forbidden":
                    given = remove_path(given, wrong["loc"])
            self.fn_metadata.arg_model.model_validate(given)
        return given


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


def simplify_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that pydantic generated, as short as it can be, because every conversation pays for it.

    A property that may be null is an optional one. A default that matters stands in the description too,
    because some clients drop `default`; an empty one means "not given". Docstrings of classes are dropped.
    """
    simple: dict[str, Any] = {}
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
