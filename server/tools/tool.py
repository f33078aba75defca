"""What a tool is: checked arguments, a result, errors that say what to do."""

import logging
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from mcp import types
from mcp.server import ServerRequestContext
from pydantic import BaseModel, ValidationError

from server.access.caller import DEBATE, read_caller
from server.debate.commands.requests import Input
from server.debate.facts.errors import DebateError
from server.debate.facts.setup.seats import HUMAN
from server.debate.facts.text import clean_line, collapse_whitespace, remove_invisible, shorten_to_bytes
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.views.progress import Progress, build_progress, describe_progress
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.runner import TO_END, has_reached
from server.tools.listing import polls_tasks

MAX_VALUES = 10_000  # in the arguments of a call, at any depth: no debate needs so many
MAX_COMPARED = 1_000  # errors that are compared with what a tool knows
MAX_ERRORS = 5
MAX_ERROR_BYTES = 3_000
MAX_NAME_LENGTH = 60

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

BOUNDS = {
    "less_than_equal": "must be at most {le}",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt:g}",
    "string_too_short": "must not be empty",
    "string_too_long": "may have {max_length:,} characters at most",
    "too_long": "may have {max_length:,} entries at most, and has {actual_length:,}",
}
"""What pydantic's error types say, and fill in."""

ARGUMENT_HINTS = {
    "question": "what the debate is to answer, in a sentence",
    "debate_id": "start_debate returns it, and find_debates lists all",
}
"""What to pass for a missing argument, where the schema does not say."""

ERROR_PREFIX = "Error: "
MAX_SHAPE_FIELDS = 4  # of an object, where an error shows its shape

PROGRESS_STEP = 0.01
"""By which a report without a new answer grows: MCP requires that progress grows with every report."""


ASKED = frozenset({HUMAN})
"""The models of seats whose turns a poll asks the person at the client for."""


@dataclass(frozen=True, slots=True)
class BegunRun:
    """In place of a result, for a client that polls what a call began: it is told now, and asks for the result."""

    snapshot: DebateSnapshot
    tool: str
    through_round: int  # 0: to the end
    joined: bool
    asks: bool  # whether the client can be asked for turns

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens by itself, and the result can be told."""
        debate, status = self.snapshot.debate, self.snapshot.status
        if status == "waiting" and self.asks and find_asked_calls(debate):
            return False
        return status in ("paused", "waiting") or has_reached(debate, self.through_round or TO_END)


def find_asked_calls(debate: Debate) -> dict[str, Call]:
    """The turns that the person at the client is asked for, the next one of each seat."""
    asked: dict[str, Call] = {}
    for call in pending_calls(debate):
        if call.model in ASKED:
            asked.setdefault(call.seat, call)
    return asked


ToolOutput = types.CallToolResult | types.InputRequiredResult | BegunRun
"""A result, or what the client has to ask a person first; it then repeats the call with the answer."""

logger = logging.getLogger(__name__)


def name_actor(context: ServerRequestContext[Any, Any]) -> str:
    """The caller's name for the journal."""
    client = context.session.client_params
    return f"client {clean_line(client.client_info.name)[:60] if client else ''}".strip()


class ToolCall:
    """The debate manager, the caller's name for the journal, and progress reports, for one call of a tool."""

    def __init__(
        self,
        manager: DebateManager,
        context: ServerRequestContext[Any, Any],
        params: types.CallToolRequestParams,
    ) -> None:
        self.context, self.params = context, params
        self.manager = manager
        self.actor = name_actor(context)
        self.may_debate = read_caller().may(DEBATE)
        self.is_polled = polls_tasks(context)
        self.is_ignored = False  # whether a person has left a form of this call unanswered
        self._report_progress = context.session.report_progress
        self._reported: Progress | None = None
        self._progress, self._total = -PROGRESS_STEP, 0.0

    async def report(self, snapshot: DebateSnapshot) -> None:
        """Report to the client, if it asked for reports, who answered, and how many of how many."""
        progress = build_progress(snapshot.debate)
        message = describe_progress(progress, self._reported, self.manager.find_holdup(snapshot))
        self._reported = progress
        self._progress = max(float(progress.done), self._progress + PROGRESS_STEP)
        self._total = max(float(progress.expected), self._progress, self._total)
        await self._report_progress(self._progress, self._total, message)


class ToolArguments(Input):
    """The arguments of a tool, and what it does with them."""

    @abstractmethod
    async def execute(self, call: ToolCall) -> ToolOutput: ...


@dataclass(frozen=True, slots=True)
class Tool:
    title: str
    arguments: type[ToolArguments]  # its docstring is the tool's description
    result: type[BaseModel]
    annotations: types.ToolAnnotations

    async def run(self, call: ToolCall, listed: types.Tool) -> ToolOutput:
        """The result, or an error that tells the model in plain text what to do."""
        if has_more_values(call.params.arguments, MAX_VALUES):
            return build_error(f"The arguments have more than {MAX_VALUES:,} values.")
        try:
            arguments = self.arguments.model_validate(call.params.arguments or {})
        except ValidationError as error:
            return build_error(describe_errors(error, listed.input_schema))
        try:
            await call.manager.presence.reopen_if_told()
            return await arguments.execute(call)
        except DebateError as error:
            call.manager.presence.acknowledge(error)
            return build_error(str(error))
        except Exception as error:
            logger.exception("Tool %s failed", listed.name)
            return build_failure(listed.name, error)


def build_failure(tool: str, error: Exception) -> types.CallToolResult:
    """What a caller is told of an error, which may be a defect of ours."""
    if isinstance(error, DebateError):
        return build_error(str(error))
    return build_error(
        f"{tool} failed with {type(error).__name__}, which is a defect of this server. What was recorded is kept: "
        "find_debates lists it. Details are in the server's log."
    )


def build_error(text: str) -> types.CallToolResult:
    shown = shorten_to_bytes(remove_invisible(text), MAX_ERROR_BYTES)
    content = types.TextContent(type="text", text=f"{ERROR_PREFIX}{shown}")
    return types.CallToolResult(content=[content], is_error=True)


def has_more_values(arguments: object, most: int) -> bool:
    """Whether there are more keys and entries in these than so many. Checking them would hold up everybody else."""
    number, left = 0, [arguments]
    while left and number <= most:
        inner = left.pop()
        if isinstance(inner, dict | list):
            number += len(inner)
            left += inner.values() if isinstance(inner, dict) else inner
    return number > most


def describe_errors(error: ValidationError, schema: Schema) -> str:
    """A line for each of the first errors, and the number of the others."""
    lines: dict[str, None] = {}  # without repetitions: each alternative of a value has errors of its own
    if error.error_count() > MAX_COMPARED:
        return f"These are {error.error_count():,} errors. There are: {', '.join(schema['properties'])}"
    for details in error.errors(include_url=False):
        path = drop_branches(details["loc"], ends_in_key=details["type"] == "extra_forbidden")
        # As one would write it: debaters[0].stance. Names that a caller made up are shortened.
        parts = [
            f"[{part}]" if isinstance(part, int) else f".{collapse_whitespace(part)[:MAX_NAME_LENGTH]}"
            for part in path
        ]
        said = describe_error({**details, "loc": path}, schema)
        lines[f"`{''.join(parts).removeprefix('.')}` {said}."] = None
    shown = [*lines][:MAX_ERRORS]
    return "\n".join([*shown, *([f"And {len(lines) - MAX_ERRORS} more."] if len(lines) > MAX_ERRORS else [])])


def drop_branches(path: ErrorPath, *, ends_in_key: bool) -> ErrorPath:
    """The path without what pydantic calls the alternatives of a value: names of types. A key may look like one."""
    inner, last = (path[:-1], path[-1:]) if ends_in_key else (path, ())
    kept = (
        part
        for part in inner
        if isinstance(part, int) or not re.fullmatch(r"bool|[A-Z]\w*|constrained-\w+|literal\[.*\]", part)
    )
    return (*kept, *last)


def describe_error(details: Mapping[str, Any], schema: Schema) -> str:  # noqa: PLR0911  (a case for each kind)
    path = details["loc"]
    found = find_subschema(schema, path)
    choices = ", ".join(filter(None, found.get("enum", ())))
    match details["type"]:
        case "extra_forbidden":
            known = find_object(find_subschema(schema, path[:-1])).get("properties", ())
            nearest = get_close_matches(str(path[-1])[:MAX_NAME_LENGTH], known, n=1)
            meant = f" Did you mean {nearest[0]}?" if nearest else ""
            return f"is unknown.{meant} There are: {', '.join(known)}"
        case "missing":
            inside = f", in {describe_shape(find_subschema(schema, path[:-1]))}" if path[1:] else ""
            fallback = f"pass {TYPE_DESCRIPTIONS.get(found.get('type', ''), 'it')}"
            hint = ARGUMENT_HINTS.get(str(path[-1])) or found.get("description") or fallback
            return f"is missing: {f'one of {choices}' if choices else hint}{inside}"
        case "value_error":
            return str(details["ctx"]["error"])
        case "too_long" if isinstance(details["input"], str):  # of a text that was cleaned first
            return BOUNDS["string_too_long"].format(**details["ctx"])
        case kind if kind in BOUNDS:
            return BOUNDS[kind].format(**details.get("ctx", {}))
        case _ if choices:
            return f"must be one of {choices}"
        case "literal_error" if "anyOf" in found:
            return f"must be {describe_shape(found)}"
        case kind if kind.endswith(("_type", "_parsing", "_from_float")):
            found = found or {"type": kind.removesuffix("_type")}
            return f"must be {describe_shape(found)}"
    return f"is not valid: {details['msg']}"


def describe_shape(found: Schema) -> str:
    """What a value must be, with the fields of objects: a list of objects {name, stance, role, …}."""
    if alternatives := found.get("anyOf"):
        return " or ".join(describe_shape(part) for part in alternatives)
    if choices := found.get("enum"):
        return f"one of {', '.join(choices)}"
    described = TYPE_DESCRIPTIONS.get(found.get("type", ""), "of another type")
    if "properties" in found:
        names = [*found.get("required", ()), *found["properties"]]
        shown = [*dict.fromkeys(names)]
        more = ", …" if len(shown) > MAX_SHAPE_FIELDS else ""
        return f"{described} {{{', '.join(shown[:MAX_SHAPE_FIELDS])}{more}}}"
    if "items" in found:
        item = describe_shape(found["items"])
        return f"{described} of {'texts' if item == 'text' else item.replace('an object', 'objects', 1)}"
    return described


def find_object(found: Schema) -> Schema:
    """The alternative that is an object, if there are alternatives."""
    return next((one for one in found.get("anyOf", ()) if "properties" in one), found)


def find_subschema(schema: Schema, path: ErrorPath) -> Schema:
    """The part of a schema that describes the value at this path; {} if there is none."""
    here = schema
    for part in path:
        here = find_object(here)
        inner = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        here = inner or {}
    return here
