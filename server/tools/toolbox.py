"""How a function becomes a tool: strict arguments, lean schemas, errors that say what to do."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field, create_model

from server.debate.refused import DebateError
from server.hall import Hall, OnChange, Work

ToolFunction = Callable[..., Awaitable[CallToolResult]]

DebateId = Annotated[str, Field(min_length=1, max_length=64)]
Wait = Annotated[int, Field(ge=0, le=600, description="Seconds to wait at most; call again to wait on")]


def tool(function: ToolFunction, *, title: str, annotations: ToolAnnotations) -> Tool:
    """A tool whose arguments are checked as declared, unknown ones included.

    The SDK ignores unknown arguments, and a model that misspells one would never learn of it.
    """
    made = Tool.from_function(translated(function), title=title, annotations=annotations)
    loose = made.fn_metadata.arg_model
    strict: Any = create_model(loose.__name__, __base__=loose)
    strict.model_config["extra"] = "forbid"
    strict.model_rebuild(force=True)
    made.fn_metadata.arg_model = strict
    made.parameters = lean(strict.model_json_schema(by_alias=True))
    if made.fn_metadata.output_schema:
        made.fn_metadata.output_schema = lean(made.fn_metadata.output_schema)
    return made


def translated(function: ToolFunction) -> ToolFunction:
    """The one place where what a caller did wrong becomes an answer to it."""

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> CallToolResult:
        try:
            return await function(*args, **kwargs)
        except DebateError as error:
            raise ToolError(str(error)) from error

    return call


def lean(schema: Any, *, names: bool = False) -> Any:
    """A schema without the titles and docstrings that pydantic adds: they cost context and say nothing new.

    `names` is true where the keys are property names, which may well be "title".
    """
    if isinstance(schema, list):
        return [lean(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if names:
        return {key: lean(part) for key, part in schema.items()}
    return {
        key: lean(part, names=key in {"properties", "$defs"})
        for key, part in schema.items()
        if key != "title" and not (key == "description" and "properties" in schema)
    }


def hall_of(ctx: Context[Hall, Any]) -> Hall:
    return ctx.request_context.lifespan_context


def actor_of(ctx: Context[Hall, Any]) -> str:
    """Who is calling, for the record: the client's own name for itself."""
    params = ctx.session.client_params
    name = params.client_info.name if params else ""
    return f"client {name[:60]}".strip()


def reporter(ctx: Context[Hall, Any]) -> OnChange:
    """Tells a client that asks how far the work is. Its numbers only grow, even when nothing is new."""
    last = 0.0

    async def report(work: Work) -> None:
        nonlocal last
        debate = work.case.debate
        answers = len(debate.turns) + len(debate.judged) + len(debate.failures)
        last = max(float(answers), last + 0.01 if last else 0.0)
        writing = ", ".join(f"{seat} ({count} characters)" for seat, count in work.writing.items())
        phase = debate.phase.name if debate.phase else "opening"
        message = f"round {debate.round} ({phase}): {answers} answers"
        await ctx.report_progress(last, None, f"{message}; writing: {writing}" if writing else message)

    return report
