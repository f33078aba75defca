"""The conformance suite's tools that begin tasks. Each is a debate, so that our own tasks are what is tested."""

import math
from collections.abc import Callable
from typing import Any

import anyio
from mcp import MCPError
from mcp.server import MCPServer
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    ElicitResult,
    InputRequiredResult,
)

from server.debate.commands.requests import DebateRequest
from server.debate.rules.caller_code import CallerCode
from server.engine.debates import DebateManager
from server.models import Model, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from server.tools.listing import TASKS, TaskUpdateParams, polls_tasks
from server.tools.tool import BegunRun
from tests.clients.conformance.inputs import ask, read_text

NAMES = (
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
)
CALLS = 4  # of a debate below, one after another


class SlowModel:
    """Answers after so many seconds. The suite asks its tools to be slow, and shares no clock with this process."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.scripted = seconds, ScriptedModel()

    async def reply(self, request: Request, on_text: Callable[[str], None] | None = None) -> Reply:
        await anyio.sleep(self.seconds)
        return await self.scripted.reply(request, on_text)


def build_slow_models() -> dict[str, Model]:
    """By the seconds that the suite asks for, of a whole debate."""
    return {f"slow{seconds}": SlowModel(seconds / CALLS) for seconds in (0, 1, 2, 60)}


def add_task_tools(fixtures: MCPServer) -> None:
    """The tools as they are listed. Calls of them go to `call`."""

    def begin(seconds: float = 1, label: str = "", filename: str = "") -> str:
        """Begin a task."""
        raise AssertionError(f"{seconds}{label}{filename} is called below")

    for name in NAMES:
        fixtures.add_tool(begin, name=name)


async def call(
    own: Callable[..., Any], begin: Callable[..., Any], context: Any, params: CallToolRequestParams
) -> Any:
    """A call of ours for one of the suite. `begin`: makes a task of a run."""
    arguments = params.arguments or {}
    if params.name in ("failing_job", "protocol_error_job") and not polls_tasks(context):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs tasks", needed)
    if params.name == "failing_job":
        return await begin(await fail(await context.lifespan_context.get()))
    who = ""
    if params.name == "test_tool_with_task":
        answer = (params.input_responses or {}).get("user_name")
        if not isinstance(answer, ElicitResult):
            request = ask("What is your name?", name={"type": "string"})
            return InputRequiredResult(input_requests={"user_name": request}, request_state="asked")
        who = read_text(answer, "name")
    seconds = math.ceil(arguments.get("seconds", 0))
    models = {"confirm_delete": ["human", "slow0"], "multi_input": ["human", "human"]}
    seats = models.get(params.name, [f"slow{seconds}"] * 2)
    who = who or "It"
    debate = {
        "question": f"Is {who} right?",
        "format": "advocates",
        "max_rounds": 1,
        "debaters": [
            {"name": name, "stance": stance, "model": model}
            for name, stance, model in zip(
                ("Ada", "Ben"), (f"{who} is right", f"{who} is wrong"), seats, strict=True
            )
        ],
        "options": {
            "framing": False,
            "ballots": "none",
            "judges": {"models": [seats[-1].replace("human", "slow0")]},
        },
        "run": True,
        "again": True,
    }
    return await own(context, CallToolRequestParams(name="start_debate", arguments=debate))


async def fail(manager: DebateManager) -> BegunRun:
    """A debate whose run ends with an error, that of the caller's own code."""

    def refuse(_debate: Any) -> bool:
        raise ZeroDivisionError

    request = DebateRequest(question="Fails?", format="verdict", models=["slow0"], run=True)
    snapshot = await manager.start(request, actor="suite", code=CallerCode(terminate_when=refuse))
    return BegunRun(snapshot, "start_debate", 0, joined=False, asks=False)


def translate(params: TaskUpdateParams) -> TaskUpdateParams:
    """Answers to forms of the suite's, for those of ours, which ask for a text."""
    given = params.input_responses
    answers = {
        key: {**answer, "content": {"text": str(answer["content"])}} if "content" in answer else answer
        for key, answer in given.items()
    }
    return params.model_copy(update={"input_responses": answers})
