"""What a tool is: validated arguments, a result, and errors that say what to do."""

import logging
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import anyio
from mcp import types
from mcp.server import ServerRequestContext
from pydantic import BaseModel, ValidationError

from server.caller import DEBATE, read_caller
from server.debate.commands.inputs import Input
from server.debate.facts.errors import DebateError
from server.debate.facts.setup.seats import HUMAN
from server.debate.facts.text import clean_line, remove_invisible, shorten_to_bytes
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.views.progress import Progress, build_progress, describe_progress
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import find_debate_id
from server.engine.runner import TO_END, has_reached
from server.tools.arguments.refusals import describe_errors
from server.tools.arguments.synonyms import Reading
from server.tools.listing import polls_tasks

MAX_VALUES = 10_000  # in the arguments of a call, at any depth: no debate needs so many
MAX_ERROR_BYTES = 3_000
ERROR_PREFIX = "Error: "

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
    taken: str = ""  # which arguments of the call were taken for what

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


ToolOutput = types.CallToolResult | BegunRun


class AskFirst(Exception):  # noqa: N818  (no error: it carries a question)
    """Ends a call with a question to the client as its result. The client repeats the call with the answer."""

    def __init__(self, question: types.InputRequiredResult) -> None:
        super().__init__()
        self.question = question


logger = logging.getLogger(__name__)


def name_client(context: ServerRequestContext[Any, Any]) -> str:
    client = context.session.client_params
    return clean_line(client.client_info.name)[:60] if client else ""


def name_actor(context: ServerRequestContext[Any, Any]) -> str:
    """The caller's name for the journal."""
    return f"client {name_client(context)}".strip()


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
        self.client_name, self.actor = name_client(context), name_actor(context)
        self.may_debate = read_caller().may(DEBATE)
        self.wait_seconds, self._deadline = 0, 0.0
        self.is_ignored = False  # whether a person has left a form of this call unanswered
        self._report_progress = context.session.report_progress
        self._reported: Progress | None = None
        self._progress, self._total = -PROGRESS_STEP, 0.0

    def start_clock(self, wait_seconds: int) -> None:
        self.wait_seconds, self._deadline = wait_seconds, anyio.current_time() + wait_seconds

    @property
    def seconds_left(self) -> float:
        """Until the call returns."""
        return max(self._deadline - anyio.current_time(), 0)

    @property
    def is_polled(self) -> bool:
        """Whether the client asks for the result of a run later."""
        return self.wait_seconds > 0 and polls_tasks(self.context)

    async def report(self, snapshot: DebateSnapshot) -> None:
        """Report who answered, and how many of how many, if the client asked for progress."""
        progress = build_progress(snapshot.debate)
        message = describe_progress(progress, self._reported, self.manager.find_holdup(snapshot))
        self._reported = progress
        self._progress = max(float(progress.done), round(self._progress + PROGRESS_STEP, 2))
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

    async def run(self, call: ToolCall, listed_tool: types.Tool) -> ToolOutput | types.InputRequiredResult:
        """The result, a question to the client, or an error that tells the model in plain text what to do."""
        if has_more_values(call.params.arguments, MAX_VALUES):
            return build_error(f"The arguments have more than {MAX_VALUES:,} values.")
        reading = Reading(self.arguments, listed_tool.input_schema["properties"])
        reading.take(call.params.arguments or {})
        try:
            arguments = self.arguments.model_validate(reading.arguments)
        except ValidationError as error:
            return build_error(describe_errors(error, reading))
        try:
            await call.manager.presence.reopen_if_told()
            if typed := getattr(arguments, "debate_id", ""):
                full_id = await find_debate_id(call.manager, typed)
                arguments = arguments.model_copy(update={"debate_id": full_id})
            call.start_clock(getattr(arguments, "wait_seconds", 0))
            output, taken = await arguments.execute(call), reading.describe()
            return replace(output, taken=taken) if isinstance(output, BegunRun) else add_taken(output, taken)
        except AskFirst as request:
            return request.question
        except DebateError as error:
            call.manager.presence.acknowledge(error)
            return build_error("\n".join(filter(None, [str(error), reading.describe()])))
        except Exception as error:
            logger.exception("Tool %s failed", listed_tool.name)
            return build_failure(listed_tool.name, error)


def add_taken(result: types.CallToolResult, taken: str) -> types.CallToolResult:
    if not taken:
        return result
    content = [*result.content, types.TextContent(type="text", text=taken)]
    data = {**(result.structured_content or {}), "taken": taken}
    return result.model_copy(update={"content": content, "structured_content": data})


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
