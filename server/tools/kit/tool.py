"""How a function becomes a tool: checked arguments, plain schemas, errors that say what to do."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from server.debate.facts.errors import DebateError
from server.tools.kit.argument_errors import ErrorPath, describe_errors
from server.tools.kit.schema import simplify_schema

ToolFunction = Callable[..., Awaitable[CallToolResult]]


class StrictArguments(ArgModelBase):
    model_config = ConfigDict(extra="forbid")


class CheckedTool(Tool):
    """A tool that explains wrong arguments in plain text instead of pydantic's list."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        try:
            arguments = self.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(describe_errors(error, self.parameters)) from error
        return await super().run(arguments, context, convert_result)

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


def build_tool(function: ToolFunction, *, title: str, annotations: ToolAnnotations) -> CheckedTool:
    """A tool that refuses unknown arguments. The SDK ignores them, so a misspelt one would go unnoticed."""
    tool = CheckedTool.from_function(translate_errors(function), title=title, annotations=annotations)
    assert isinstance(tool, CheckedTool)
    loose = tool.fn_metadata.arg_model
    tool.fn_metadata.arg_model = create_model(loose.__name__, __base__=(StrictArguments, loose))
    tool.parameters = simplify_schema(tool.fn_metadata.arg_model.model_json_schema(by_alias=True))
    # As serialized, where every field is always present.
    output = TypeAdapter(tool.fn_metadata.output_model).json_schema(mode="serialization")
    tool.fn_metadata.output_schema = simplify_schema(output)
    return tool


def translate_errors(function: ToolFunction) -> ToolFunction:
    """The function with errors of the caller as tool errors, whose text the model sees."""

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> CallToolResult:
        try:
            return await function(*args, **kwargs)
        except DebateError as error:
            raise ToolError(str(error)) from error

    return call


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
