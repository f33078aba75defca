"""What a tool is: validated arguments, a result, and errors that say what to do."""

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

from server.caller import DEBATE, read_caller
from server.debate.commands.inputs import Input
from server.debate.facts.errors import DebateError
from server.debate.facts.setup.seats import HUMAN
from server.debate.facts.text import clean_line, collapse_whitespace, remove_invisible, shorten_to_bytes
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.views.progress import Progress, build_progress, describe_progress
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import find_debate_id
from server.engine.runner import TO_END, has_reached
from server.tools.listing import polls_tasks

MAX_VALUES = 10_000  # in the arguments of a call, at any depth: no debate needs so many
MAX_COMPARED = 1_000  # validation errors that are explained one by one
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
"""Texts for pydantic's error types, with placeholders for their details."""

ARGUMENT_HINTS = {
    "question": "what the debate is to answer, in a sentence",
    "debate_id": "start_debate returns it, and find_debates lists all",
}
"""What to pass for a missing argument, where the schema does not say."""

ERROR_PREFIX = "Error: "
MAX_SHAPE_FIELDS = 4  # of an object, where an error shows its shape

PROGRESS_STEP = 0.01
"""The growth of progress in a report without a new answer: MCP requires that progress always grows."""

PERSON_MODELS = frozenset({HUMAN})
"""Models of seats whose turns the person at the client writes when a task is polled."""


@dataclass(frozen=True, slots=True)
class BegunRun:
    """The output of a call for a client that polls: the run has begun, and the client asks for the result later."""

    snapshot: DebateSnapshot
    tool: str
    through_round: int  # 0: to the end
    joined: bool
    asks: bool  # whether the client can be asked for turns

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens by itself, so that the result can be given."""
        debate, status = self.snapshot.debate, self.snapshot.status
        if status == "waiting" and self.asks and list_person_calls(debate):
            return False
        return status in ("paused", "waiting") or has_reached(debate, self.through_round or TO_END)


def list_person_calls(debate: Debate) -> dict[str, Call]:
    """The turns that the person at the client is asked for, the next one of each seat."""
    calls: dict[str, Call] = {}
    for call in pending_calls(debate):
        if call.model in PERSON_MODELS:
            calls.setdefault(call.seat, call)
    return calls


ToolOutput = types.CallToolResult | types.InputRequiredResult | BegunRun
"""A result, a question to a person, after which the client repeats the call with the answer, or a run."""

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
        """Report who answered, and how many of how many, if the client asked for progress."""
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

    async def run(self, call: ToolCall, listed_tool: types.Tool) -> ToolOutput:
        """The result, or an error that tells the model in plain text what to do."""
        if has_more_values(call.params.arguments, MAX_VALUES):
            return build_error(f"The arguments have more than {MAX_VALUES:,} values.")
        try:
            arguments = self.arguments.model_validate(call.params.arguments or {})
        except ValidationError as error:
            return build_error(describe_errors(error, listed_tool.input_schema))
        try:
            await call.manager.presence.reopen_if_told()
            if typed := getattr(arguments, "debate_id", ""):
                full_id = await find_debate_id(call.manager, typed)
                arguments = arguments.model_copy(update={"debate_id": full_id})
            return await arguments.execute(call)
        except DebateError as error:
            call.manager.presence.acknowledge(error)
            return build_error(str(error))
        except Exception as error:
            logger.exception("Tool %s failed", listed_tool.name)
            return build_failure(listed_tool.name, error)


def build_failure(tool: str, error: Exception) -> types.CallToolResult:
    """The result for an error: its text, or a notice of a defect in this server."""
    if isinstance(error, DebateError):
        return build_error(str(error))
    return build_error(
        f"{tool} failed with {type(error).__name__}, which is a defect of this server. What was recorded is kept: "
        "find_debates lists it. Details are in the server's log."
    )


def build_error(text: str) -> types.CallToolResult:
    shortened = shorten_to_bytes(remove_invisible(text), MAX_ERROR_BYTES)
    content = types.TextContent(type="text", text=f"{ERROR_PREFIX}{shortened}")
    return types.CallToolResult(content=[content], is_error=True)


def has_more_values(arguments: object, limit: int) -> bool:
    """Whether arguments have more keys and entries than `limit`: validating them would block all other callers."""
    number, stack = 0, [arguments]
    while stack and number <= limit:
        inner = stack.pop()
        if isinstance(inner, dict | list):
            number += len(inner)
            stack += inner.values() if isinstance(inner, dict) else inner
    return number > limit


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
        problem = describe_error({**details, "loc": path}, schema)
        lines[f"`{''.join(parts).removeprefix('.')}` {problem}."] = None
    first_lines = [*lines][:MAX_ERRORS]
    return "\n".join(
        [*first_lines, *([f"And {len(lines) - MAX_ERRORS} more."] if len(lines) > MAX_ERRORS else [])]
    )


def drop_branches(path: ErrorPath, *, ends_in_key: bool) -> ErrorPath:
    """The path without pydantic's names for alternatives of a value: names of types, which a key may look like."""
    inner, key = (path[:-1], path[-1:]) if ends_in_key else (path, ())
    names = (
        part
        for part in inner
        if isinstance(part, int) or not re.fullmatch(r"bool|[A-Z]\w*|constrained-\w+|literal\[.*\]", part)
    )
    return (*names, *key)


def describe_error(details: Mapping[str, Any], schema: Schema) -> str:  # noqa: PLR0911  (a case for each kind)
    path = details["loc"]
    expected = find_subschema(schema, path)
    choices = ", ".join(filter(None, expected.get("enum", ())))
    match details["type"]:
        case "extra_forbidden":
            names = choose_object(find_subschema(schema, path[:-1])).get("properties", ())
            nearest = get_close_matches(str(path[-1])[:MAX_NAME_LENGTH], names, n=1)
            suggestion = f" Did you mean {nearest[0]}?" if nearest else ""
            return f"is unknown.{suggestion} There are: {', '.join(names)}"
        case "missing":
            inside = f", in {describe_shape(find_subschema(schema, path[:-1]))}" if path[1:] else ""
            fallback = f"pass {TYPE_DESCRIPTIONS.get(expected.get('type', ''), 'it')}"
            hint = ARGUMENT_HINTS.get(str(path[-1])) or expected.get("description") or fallback
            return f"is missing: {f'one of {choices}' if choices else hint}{inside}"
        case "value_error":
            return str(details["ctx"]["error"])
        case "too_long" if isinstance(details["input"], str):  # a text that was cleaned before the check
            return BOUNDS["string_too_long"].format(**details["ctx"])
        case kind if kind in BOUNDS:
            return BOUNDS[kind].format(**details.get("ctx", {}))
        case _ if choices:
            return f"must be one of {choices}"
        case "literal_error" if "anyOf" in expected:
            return f"must be {describe_shape(expected)}"
        case kind if kind.endswith(("_type", "_parsing", "_from_float")):
            expected = expected or {"type": kind.removesuffix("_type")}
            return f"must be {describe_shape(expected)}"
    return f"is not valid: {details['msg']}"


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


def find_subschema(schema: Schema, path: ErrorPath) -> Schema:
    """The part of a schema that describes the value at this path; {} if there is none."""
    here = schema
    for part in path:
        here = choose_object(here)
        inner = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        here = inner or {}
    return here
