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
from server.engine.debates import Hall
from server.engine.driver import OnChange, Work
from server.tools.kit.argument_errors import CheckedTool

ToolFunction = Callable[..., Awaitable[CallToolResult]]

DebateId = Annotated[str, Field(min_length=1, max_length=64)]
Wait = Annotated[int, Field(ge=0, le=600, description="At most; call again to wait on")]


class Strict(ArgModelBase):
    model_config = ConfigDict(extra="forbid")


def tool(function: ToolFunction, *, title: str, annotations: ToolAnnotations) -> CheckedTool:
    """A tool whose arguments are checked as declared, unknown ones included.

    The SDK ignores unknown arguments, and a model that misspells one would never learn of it.
    """
    made = CheckedTool.from_function(translated(function), title=title, annotations=annotations)
    assert isinstance(made, CheckedTool)
    loose = made.fn_metadata.arg_model
    made.fn_metadata.arg_model = create_model(loose.__name__, __base__=(Strict, loose))
    made.whole = lean(made.fn_metadata.arg_model.model_json_schema(by_alias=True))
    made.parameters = told_in_words(told_in_words(made.whole, "options"), "changes")
    made.fn_metadata.output_schema = texts_untold(
        lean(made.fn_metadata.output_schema, left_out=NOISE | IN_RESULTS)
    )
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


NOISE = frozenset({"title", "maxLength", "minLength", "maxItems", "minimum", "maximum", "anyOf"})
"""What pydantic adds that an assistant does not need: bounds are enforced, and named when they are broken."""


TEXT = {"type": "string"}

IN_RESULTS = frozenset({"required", "items", "$defs"})
"""Every field of a result is always there; what its lists hold is plain from the first one."""


def texts_untold(schema: dict[str, Any]) -> dict[str, Any]:
    """A result's schema where a field without a type is text, as most of them are."""
    fields = schema["properties"].items()
    return {**schema, "properties": {name: {} if part == TEXT else part for name, part in fields}}


def told_in_words(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """The schema with one argument as a line of text, which is a third as long; the rest as it is."""
    if name not in schema["properties"]:
        return schema
    told = {"type": "object", "description": once(notation(schema["properties"][name], schema["$defs"]))}
    slim = {**schema, "properties": {**schema["properties"], name: told}}
    used = {part["items"]["$ref"].rsplit("/", 1)[-1] for part in slim["properties"].values() if refers(part)}
    del slim["$defs"]
    return {**slim, "$defs": {name: schema["$defs"][name] for name in sorted(used)}} if used else slim


def refers(part: dict[str, Any]) -> bool:
    return "$ref" in part.get("items", {})


def notation(part: dict[str, Any], defs: dict[str, Any]) -> str:
    """What may stand there, as short as a person would write it: {key, key=default, list[], a|b}."""
    if "$ref" in part and "description" in part:  # told by that
        return ""
    if reference := part.get("$ref"):
        part = defs[reference.rsplit("/", 1)[-1]]
    if "properties" in part:
        keys = [key + noted(inner, defs) for key, inner in part["properties"].items()]
        return "{" + ", ".join(keys) + "}"
    if part.get("type") == "array":
        return notation(part["items"], defs) + "[]"
    return "|".join(part["enum"]) if "enum" in part else ""


def once(text: str) -> str:
    """The text with each list of values told where it comes first only."""
    told: set[str] = set()

    def again(found: re.Match[str]) -> str:
        repeated = found[1] in told
        told.add(found[1])
        return "" if repeated else found[0]

    return re.sub(r": (\w+(?:\|\w+)+)", again, text)


def noted(part: dict[str, Any], defs: dict[str, Any]) -> str:
    """What is to be said of a key: what it holds, what it is if left out, what it is for."""
    inner = notation(part, defs)
    default = f"={str(part['default']).lower()}" if "default" in part else ""
    about = f" ({part['description']})" if "description" in part else ""
    return (inner if inner in ("", "[]") else f": {inner}") + default + about


def lean(schema: Any, *, left_out: frozenset[str] = NOISE, names: bool = False) -> Any:
    """A schema as short as it can be told: every assistant pays for it in every conversation.

    Defaults that say "nothing" and docstrings go as well. In results every field is always there, so
    that saying so is left out, too. `names`: the keys are property names.
    """
    if isinstance(schema, list):
        return [lean(part, left_out=left_out) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if names:
        return {key: lean(part, left_out=left_out) for key, part in schema.items()}
    if "anyOf" in schema:  # "or null": optional by being left out
        schema = {**schema, **schema["anyOf"][0]}
    return {
        key: lean(part, left_out=left_out, names=key in {"properties", "$defs"})
        for key, part in schema.items()
        if key not in left_out
        and (key != "additionalProperties" or part is False)
        and not (key == "description" and "properties" in schema)
        and not (key == "default" and (not part or isinstance(part, dict)))
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
    last = -0.01

    async def report(work: Work) -> None:
        nonlocal last
        debate = work.case.debate
        answers = len(debate.usage) + sum(failure.usage is None for failure in debate.failures)
        last = max(float(answers), last + 0.01)
        phase = debate.phase.name if debate.phase else "opening"
        await ctx.report_progress(last, None, f"round {debate.round} ({phase}): {answers} answers")

    return report
