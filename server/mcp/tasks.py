"""Runs of debates as tasks of the protocol (SEP-2663): begun by a call, polled, answered and cancelled.

A task is no record of its own. Its id holds what the call asked for and the version of the debate that it began
with, and everything else follows from the entries since: whichever process is asked, also after a crash, the answer
is the same. Only that somebody gave a task up is kept, beside the debate. Whoever can read a debate can ask for its
tasks.
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from mcp import MCPError, types
from mcp.shared.inbound import decode_header_value
from pydantic import ValidationError

from server.debate.facts.errors import DebateError, InvalidRequestError
from server.debate.facts.events import Ended, Paused
from server.debate.facts.text import remove_invisible
from server.debate.machine.transitions import apply, replay
from server.debate.rules.calls import Call
from server.debate.views.progress import build_progress, describe_progress
from server.debate.views.state import status_reason
from server.engine.database.errors import DebateNotFoundError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.mcp.late_manager import RequestContext
from server.redaction import MODEL_FIELDS, redact, redact_model
from server.tools import results, texts
from server.tools.asking.waiting import build_form
from server.tools.hints import format_call
from server.tools.listing import TaskParams, TaskUpdateParams, require_tasks
from server.tools.tool import BegunRun, build_failure, find_asked_calls, name_actor

POLL_INTERVAL_MS = 1_000
CANCELLED = "cancelled"
DECLINED = "declined at "
"""How a text begins that says at which version of the debate the person did not want to write."""

TOOL_LETTERS = {"s": "start_debate", "f": "fork_debate", "r": "step_round"}
TASK_ID = re.compile(r"([2-9a-hjkmnp-z]{12})-([sfr])(\d{1,5})-v(\d{1,6})-t(\d{13})-([ja]*)-([0-9a-f]{16})")

Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TaskId:
    debate_id: str
    tool: str
    through_round: int  # 0: to the end
    version: int  # of the debate when the task began
    created_ms: int  # Unix time
    joined: bool
    asks: bool  # whether the client can be asked for turns
    nonce: str  # tells apart what two calls began at the same version

    @classmethod
    def of(cls, begun: BegunRun, now: datetime) -> "TaskId":
        version, created = begun.snapshot.debate.version, int(now.timestamp() * 1000)
        target = (begun.snapshot.id, begun.tool, begun.through_round)
        return cls(*target, version, created, begun.joined, begun.asks, secrets.token_hex(8))

    @classmethod
    def parse(cls, text: str) -> "TaskId":
        """Raises MCPError for a text that is no id of ours."""
        found = TASK_ID.fullmatch(text)
        if not found:
            raise build_unknown()
        debate_id, letter, through, version, created, flags, nonce = found.groups()
        target = (debate_id, TOOL_LETTERS[letter], int(through), int(version), int(created))
        return cls(*target, "j" in flags, "a" in flags, nonce)

    def __str__(self) -> str:
        letter = next(letter for letter, tool in TOOL_LETTERS.items() if tool == self.tool)
        flags = "j" * self.joined + "a" * self.asks
        moment = f"v{self.version}-t{self.created_ms}"
        return f"{self.debate_id}-{letter}{self.through_round}-{moment}-{flags}-{self.nonce}"


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it is now. `given_up`: what is kept of that; `end`: the debate when its result could be told."""

    id: TaskId
    snapshot: DebateSnapshot
    given_up: str
    end: DebateSnapshot | None

    @property
    def is_over(self) -> bool:
        return self.end is not None or self.given_up == CANCELLED


def create(manager: DebateManager, begun: BegunRun) -> Wire:
    """The result of a call whose work goes on. Nothing has to be stored for it to be found again."""
    task = Task(TaskId.of(begun, manager.clock()), begun.snapshot, "", None)
    return {**describe(manager, task, "working"), "resultType": "task"}


async def get(context: RequestContext, params: TaskParams) -> Wire:
    manager = await check_request(context, params)
    with translate_errors(manager):
        task = await load(manager, params.task_id)
        if task.given_up == CANCELLED:
            return describe(manager, task, "cancelled")
        try:
            task = await go_on(manager, task)
        except Exception:
            if task.id.debate_id not in manager.failures:
                raise  # the database cannot be read now, which is no end of the run
        if not task.end and (error := manager.failures.get(task.id.debate_id)):
            failure = build_failure(task.id.tool, error)
            return describe(manager, task, "completed", result=dump_result(failure))
        if task.end:
            return describe(manager, task, "completed", result=await build_result(manager, task, task.end))
        if requests := build_input_requests(task):
            return describe(manager, task, "input_required", inputRequests=requests)
    return describe(manager, task, "working")


async def update(context: RequestContext, params: TaskUpdateParams) -> Wire:
    """Take turns that a person has written. One who declines leaves them to the caller, and the task ends.

    Answers to what is not asked any more are ignored.
    """
    manager = await check_request(context, params)
    with translate_errors(manager):
        task = await load(manager, params.task_id)
        asked = {} if task.is_over else find_requests(task)
        declined = False
        for key, response in params.input_responses.items():
            if key in asked:
                text = read_answer(response)
                declined = declined or text is None
                if text is not None:
                    turn = (task.id.debate_id, asked[key].seat, text)
                    await manager.submit(*turn, actor=name_actor(context))
        if declined:
            version = (await manager.load(task.id.debate_id)).debate.version
            await give_up(manager, params.task_id, f"{DECLINED}{version}")
    return {}


async def cancel(context: RequestContext, params: TaskParams) -> Wire:
    """Nobody waits any more; the debate goes on. A task that is over stays as it is."""
    manager = await check_request(context, params)
    with translate_errors(manager):
        task = await load(manager, params.task_id)
        if not task.is_over:
            await give_up(manager, params.task_id, CANCELLED)
    return {}


async def check_request(context: RequestContext, params: TaskParams) -> DebateManager:
    """Raises MCPError where the client or its request do not follow the extension."""
    require_tasks(context)
    headers = getattr(context.request, "headers", None)  # of HTTP only
    named = headers.get("mcp-name") if headers is not None else None
    if named is not None and decode_header_value(named) != params.task_id:
        raise MCPError(types.HEADER_MISMATCH, "Mcp-Name is another task than params.taskId")
    return await context.lifespan_context.get()


def build_unknown() -> MCPError:
    """One error for whatever is not found, so that it does not tell what there is."""
    return MCPError(types.INVALID_PARAMS, "There is no such task")


@contextmanager
def translate_errors(manager: DebateManager) -> Iterator[None]:
    try:
        yield
    except DebateNotFoundError:
        raise build_unknown() from None
    except DebateError as error:
        manager.presence.acknowledge(error)
        code = types.INVALID_PARAMS if isinstance(error, InvalidRequestError) else types.INTERNAL_ERROR
        raise MCPError(code, redact(remove_invisible(str(error)))) from error


async def load(manager: DebateManager, text: str) -> Task:
    """Raises MCPError, DebateError."""
    task_id = TaskId.parse(text)
    await manager.presence.reopen_if_told()
    snapshot = await manager.load(task_id.debate_id)
    if not 0 < task_id.version <= snapshot.debate.version:
        raise build_unknown()
    given_up = await manager.store.find_text(task_id.debate_id, name_text(text))
    return Task(task_id, snapshot, given_up, find_end(task_id, snapshot, given_up))


async def give_up(manager: DebateManager, text: str, how: str) -> None:
    await manager.store.keep_text(TaskId.parse(text).debate_id, name_text(text), how)


def name_text(text: str) -> str:
    return f"task {text}"


async def go_on(manager: DebateManager, task: Task) -> Task:
    """The task after its debate is run, if nobody runs it: the process that did may be gone.

    What a run here has failed with is not tried again. Raises it if that happens now.
    """
    if task.end or task.id.debate_id in manager.failures:
        return task
    if through := task.id.through_round:
        snapshot = await manager.step(task.id.debate_id, expected_round=through, wait=0)
    else:
        snapshot = await manager.follow(task.id.debate_id, wait=0)
    return replace(task, snapshot=snapshot, end=find_end(task.id, snapshot, task.given_up))


def find_end(task: TaskId, snapshot: DebateSnapshot, given_up: str) -> DebateSnapshot | None:
    """The debate when the run that a task is about was first over; None while it goes on.

    It may have been resumed since, and a task that is over stays so. What is recorded at one moment is one step.
    """
    entries = snapshot.entries
    if given_up.startswith(DECLINED):
        version = int(given_up.removeprefix(DECLINED))
        return replace(snapshot, debate=replay(e.event for e in entries[:version]), entries=entries[:version])
    later = entries[task.version :]
    may_have_stopped = any(
        isinstance(entry.event, Ended | Paused) or not is_by_model(entry.event) for entry in later
    )
    if not may_have_stopped and not is_over(task, snapshot):
        return None
    reached = replace(
        snapshot,
        debate=replay(entry.event for entry in entries[: task.version]),
        entries=entries[: task.version],
    )
    for index, (entry, following) in enumerate(pairwise([*entries[task.version - 1 :], None])):
        assert entry is not None
        if index:
            reached = replace(
                reached, debate=apply(reached.debate, entry.event), entries=entries[: entry.seq]
            )
        if (following is None or following.at != entry.at) and is_over(task, reached):
            return snapshot if following is None else reached
    return None


def is_by_model(event: Any) -> bool:
    """Whether no person and no caller has written it, for whom the debate had to wait."""
    usage = getattr(event, "usage", None)
    return usage is None or not getattr(usage, "author", "")


def is_over(task: TaskId, snapshot: DebateSnapshot) -> bool:
    return BegunRun(snapshot, task.tool, task.through_round, task.joined, task.asks).is_over


def find_requests(task: Task) -> dict[str, Call]:
    """The turns that the client is asked for, by the keys of their calls, which no others have."""
    is_waiting = task.id.asks and task.snapshot.status == "waiting"
    calls = find_asked_calls(task.snapshot.debate).values() if is_waiting else ()
    return {call.key: call for call in calls}


def build_input_requests(task: Task) -> Wire:
    """A form for each turn that is awaited."""
    built = {}
    for key, call in find_requests(task).items():
        request = types.ElicitRequest(params=redact_model(build_form(task.snapshot, call)))
        built[key] = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    return built


def read_answer(response: Any) -> str | None:
    """What the person has written; None if nobody wants to. Raises MCPError for what is no answer to a form."""
    try:
        answer = types.ElicitResult.model_validate(response, by_name=False)
    except ValidationError:
        raise MCPError(
            types.INVALID_PARAMS, "An answer is {action, content} as of elicitation/create"
        ) from None
    if answer.action != "accept":
        return None
    text = (answer.content or {}).get("text")
    if not isinstance(text, str):
        raise MCPError(types.INVALID_PARAMS, "The field `text` of an answer holds what is said")
    return text


async def build_result(manager: DebateManager, task: Task, end: DebateSnapshot) -> Wire:
    """The result as the call itself would have returned it at that moment."""
    result = await results.build_step_result(
        manager, end, task.id.tool, round_number=task.id.through_round, joined=task.id.joined
    )
    return dump_result(
        redact_model(results.build_tool_result(result, texts.format_step_result), MODEL_FIELDS)
    )


def dump_result(result: types.CallToolResult) -> Wire:
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def describe(manager: DebateManager, task: Task, status: str, **more: Mapping[str, Any]) -> Wire:
    """A task as clients see it. It is kept as long as its debate, without a limit of time."""
    end = task.end or task.snapshot
    changed = max(datetime.fromisoformat(end.entries[-1].at).timestamp() * 1000, task.id.created_ms)
    return {
        "taskId": str(task.id),
        "status": status,
        "statusMessage": redact(describe_status(manager, task, status)),
        "createdAt": format_time(task.id.created_ms),
        "lastUpdatedAt": format_time(int(changed)),
        "ttlMs": None,
        "pollIntervalMs": POLL_INTERVAL_MS,
        **more,
    }


def format_time(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def describe_status(manager: DebateManager, task: Task, status: str) -> str:
    snapshot, this = task.snapshot, task.id.debate_id
    if status == "cancelled":
        return (
            f"The wait was given up, and the debate was not: {format_call('get_verdict', debate_id=this)} tells how "
            f"far it is, and {format_call('intervene', debate_id=this, action='pause')} stops it."
        )
    if status == "completed":
        return f"Debate {this}: {(task.end or snapshot).status}."
    if reason := status_reason(snapshot.debate):
        return f"Debate {this}: {reason}"
    progress = describe_progress(build_progress(snapshot.debate), None, manager.find_holdup(snapshot))
    return f"Debate {this}: {progress}."
