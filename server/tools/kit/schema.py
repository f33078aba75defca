"""How a function becomes a tool: strict arguments, lean schemas, errors that say what to do."""

import re
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import ConfigDict, Field, create_model

from server.debate.facts.errors import DebateError
from server.engine.debates import DebateManager
from server.engine.driver import DriveTask, OnChange
from server.tools.kit.argument_errors import CheckedTool

ToolFunction = Callable[..., Awaitable[CallToolResult]]

DebateId = Annotated[str, Field(min_length=1, max_length=64)]
WaitSeconds = Annotated[int, Field(ge=0, le=600, description="At most; call again to wait on")]


class StrictArguments(ArgModelBase):
    model_config = ConfigDict(extra="forbid")


def build_tool(function: ToolFunction, *, title: str, annotations: ToolAnnotations) -> CheckedTool:
    """A tool whose arguments are checked as declared, unknown ones included.

    The SDK ignores unknown arguments, and a model that misspells one would never learn of it.
    """
    made = CheckedTool.from_function(translate_errors(function), title=title, annotations=annotations)
    assert isinstance(made, CheckedTool)
    loose = made.fn_metadata.arg_model
    made.fn_metadata.arg_model = create_model(loose.__name__, __base__=(StrictArguments, loose))
    made.full_schema = compact_schema(made.fn_metadata.arg_model.model_json_schema(by_alias=True))
    made.parameters = describe_argument(describe_argument(made.full_schema, "options"), "changes")
    made.fn_metadata.output_schema = omit_string_types(
        compact_schema(
            made.fn_metadata.output_schema, omitted_keywords=OMITTED_KEYWORDS | OMITTED_RESULT_KEYWORDS
        )
    )
    return made


def translate_errors(function: ToolFunction) -> ToolFunction:
    """The one place where what a caller did wrong becomes an answer to it."""

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> CallToolResult:
        try:
            return await function(*args, **kwargs)
        except DebateError as error:
            raise ToolError(str(error)) from error

    return call


OMITTED_KEYWORDS = frozenset({"title", "maxLength", "minLength", "maxItems", "minimum", "maximum", "anyOf"})
"""What pydantic adds that an assistant does not need: bounds are enforced, and named when they are broken."""


STRING_SCHEMA = {"type": "string"}

OMITTED_RESULT_KEYWORDS = frozenset({"required", "items", "$defs"})
"""Every field of a result is always there; what its lists hold is plain from the first one."""


def omit_string_types(schema: dict[str, Any]) -> dict[str, Any]:
    """A result's schema where a field without a type is text, as most of them are."""
    fields = schema["properties"].items()
    return {**schema, "properties": {name: {} if part == STRING_SCHEMA else part for name, part in fields}}


def describe_argument(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """The schema with one argument as a line of text, which is a third as long; the rest as it is."""
    if name not in schema["properties"]:
        return schema
    told = {
        "type": "object",
        "description": remove_repeated_values(format_notation(schema["properties"][name], schema["$defs"])),
    }
    slim = {**schema, "properties": {**schema["properties"], name: told}}
    used = {
        part["items"]["$ref"].rsplit("/", 1)[-1]
        for part in slim["properties"].values()
        if has_item_reference(part)
    }
    del slim["$defs"]
    return {**slim, "$defs": {name: schema["$defs"][name] for name in sorted(used)}} if used else slim


def has_item_reference(part: dict[str, Any]) -> bool:
    return "$ref" in part.get("items", {})


def format_notation(schema: dict[str, Any], defs: dict[str, Any]) -> str:
    """What may stand there, as short as a person would write it: {key, key=default, list[], a|b}."""
    if "$ref" in schema and "description" in schema:  # told by that
        return ""
    if reference := schema.get("$ref"):
        schema = defs[reference.rsplit("/", 1)[-1]]
    if "properties" in schema:
        keys = [key + format_key_note(inner, defs) for key, inner in schema["properties"].items()]
        return "{" + ", ".join(keys) + "}"
    if schema.get("type") == "array":
        return format_notation(schema["items"], defs) + "[]"
    return "|".join(schema["enum"]) if "enum" in schema else ""


def remove_repeated_values(text: str) -> str:
    """The text with each list of values told where it comes first only."""
    told: set[str] = set()

    def replace_repeated(match: re.Match[str]) -> str:
        repeated = match[1] in told
        told.add(match[1])
        return "" if repeated else match[0]

    return re.sub(r": (\w+(?:\|\w+)+)", replace_repeated, text)


def format_key_note(schema: dict[str, Any], defs: dict[str, Any]) -> str:
    """What is to be said of a key: what it holds, what it is if left out, what it is for."""
    inner = format_notation(schema, defs)
    default = f"={str(schema['default']).lower()}" if "default" in schema else ""
    about = f" ({schema['description']})" if "description" in schema else ""
    return (inner if inner in ("", "[]") else f": {inner}") + default + about


def compact_schema(
    schema: Any, *, omitted_keywords: frozenset[str] = OMITTED_KEYWORDS, is_property_map: bool = False
) -> Any:
    """A schema as short as it can be told: every assistant pays for it in every conversation.

    Defaults that say "nothing" and docstrings go as well. In results every field is always there, so
    that saying so is left out, too. `names`: the keys are property names.
    """
    if isinstance(schema, list):
        return [compact_schema(part, omitted_keywords=omitted_keywords) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if is_property_map:
        return {key: compact_schema(part, omitted_keywords=omitted_keywords) for key, part in schema.items()}
    if "anyOf" in schema:  # "or null": optional by being left out
        schema = {**schema, **schema["anyOf"][0]}
    return {
        key: compact_schema(
            part, omitted_keywords=omitted_keywords, is_property_map=key in {"properties", "$defs"}
        )
        for key, part in schema.items()
        if key not in omitted_keywords
        and (key != "additionalProperties" or part is False)
        and not (key == "description" and "properties" in schema)
        and not (key == "default" and (not part or isinstance(part, dict)))
    }


def get_manager(ctx: Context[DebateManager, Any]) -> DebateManager:
    return ctx.request_context.lifespan_context


def get_actor(ctx: Context[DebateManager, Any]) -> str:
    """Who is calling, for the record: the client's own name for itself."""
    params = ctx.session.client_params
    name = params.client_info.name if params else ""
    return f"client {name[:60]}".strip()


def build_progress_reporter(ctx: Context[DebateManager, Any]) -> OnChange:
    """Tells a client that asks how far the work is. Its numbers only grow, even when nothing is new."""
    last = -0.01

    async def report(task: DriveTask) -> None:
        nonlocal last
        debate = task.snapshot.debate
        answers = len(debate.usage) + sum(failure.usage is None for failure in debate.failures)
        last = max(float(answers), last + 0.01)
        phase = debate.phase.name if debate.phase else "opening"
        await ctx.report_progress(last, None, f"round {debate.round} ({phase}): {answers} answers")

    return report
