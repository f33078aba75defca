"""Runs of debates as tasks of the protocol (SEP-2663): a call begins them; clients poll, answer and cancel them.

A task has no record of its own. Its id holds what the call asked for and the version of the debate at its beginning;
everything else follows from the entries since then. So every process gives the same answer, also after a crash. Stored
beside the debate are only the end of a task that was given up, and how the arguments of its call were taken. Whoever
can read a debate can ask for its tasks.
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
from server.debate.views.state import status_reason, tell_standing
from server.engine.database.errors import DebateNotFoundError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.mcp.late_manager import RequestContext
from server.redaction import MODEL_FIELDS, redact, redact_model
from server.tools import results, texts
from server.tools.asking.waiting import build_form
from server.tools.hints import format_call
from server.tools.listing import TaskParams, TaskUpdateParams, require_tasks
from server.tools.tool import BegunRun, add_taken, build_failure, list_person_calls, name_actor
from storage.streams import format_time

POLL_INTERVAL_MS = 1_000
CANCELLED = "cancelled"
TAKEN = "taken by "
"""The beginning of the name of a stored text: which arguments a task's call was taken to have."""

DECLINED = "declined at "
"""The beginning of a stored text; the version of the debate at which the person declined to write follows."""

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
    nonce: str  # tells apart two tasks that began at the same version

    @classmethod
    def of(cls, run: BegunRun, now: datetime) -> "TaskId":
        version, created = run.snapshot.debate.version, int(now.timestamp() * 1000)
        target = (run.snapshot.id, run.tool, run.through_round)
        return cls(*target, version, created, run.joined, run.asks, secrets.token_hex(8))

    @classmethod
    def parse(cls, text: str) -> "TaskId":
        """Raises MCPError for a text that is no id of ours."""
        match = TASK_ID.fullmatch(text)
        if not match:
            raise build_unknown()
        debate_id, letter, through, version, created, flags, nonce = match.groups()
        target = (debate_id, TOOL_LETTERS[letter], int(through), int(version), int(created))
        return cls(*target, "j" in flags, "a" in flags, nonce)

    def __str__(self) -> str:
        letter = next(letter for letter, tool in TOOL_LETTERS.items() if tool == self.tool)
        flags = "j" * self.joined + "a" * self.asks
        moment = f"v{self.version}-t{self.created_ms}"
        return f"{self.debate_id}-{letter}{self.through_round}-{moment}-{flags}-{self.nonce}"


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it is now. `given_up`: the stored text, if it was given up. `end`: the debate when its run ended."""

    id: TaskId
    snapshot: DebateSnapshot
    given_up: str
    end: DebateSnapshot | None

    @property
    def is_over(self) -> bool:
        return self.end is not None or self.given_up == CANCELLED


async def create(manager: DebateManager, run: BegunRun) -> Wire:
    """The result of a call whose work goes on. The id of the task says all but what was taken for what."""
    task = Task(TaskId.of(run, manager.clock()), run.snapshot, "", None)
    if run.taken:
        await manager.store.keep_text(task.id.debate_id, f"{TAKEN}{task.id}", run.taken)
    return {**describe(manager, task, "working"), "resultType": "task"}


async def get(context: RequestContext, params: TaskParams) -> Wire:
    manager = await check_request(context, params)
    with translate_errors(manager):
        task = await load(manager, params.task_id)
        if task.given_up == CANCELLED:
            return describe(manager, task, "cancelled")
        try:
            task = await advance(manager, task)
        except Exception:
            if task.id.debate_id not in manager.failures:
                raise  # the database cannot be read now, which does not end the run
        if not task.end and (error := manager.failures.get(task.id.debate_id)):
            failure = build_failure(task.id.tool, error)
            return describe(manager, task, "completed", result=dump_result(failure))
        if task.end:
            return describe(manager, task, "completed", result=await build_result(manager, task, task.end))
        if requests := build_input_requests(task):
            return describe(manager, task, "input_required", inputRequests=requests)
    return describe(manager, task, "working")


async def update(context: RequestContext, params: TaskUpdateParams) -> Wire:
    """Submit turns that a person has written. If the person declines, the turns are the caller's, and the task ends.

    Answers to requests that are not open any more are ignored.
    """
    manager = await check_request(context, params)
    with translate_errors(manager):
        task = await load(manager, params.task_id)
        requests = {} if task.is_over else list_requests(task)
        declined = False
        for key, response in params.input_responses.items():
            if key in requests:
                text = read_answer(response)
                declined = declined or text is None
                if text is not None:
                    turn = (task.id.debate_id, requests[key].seat, text)
                    await manager.submit(*turn, actor=name_actor(context))
        if declined:
            version = (await manager.load(task.id.debate_id)).debate.version
            await give_up(manager, params.task_id, f"{DECLINED}{version}")
    return {}


async def cancel(context: RequestContext, params: TaskParams) -> Wire:
    """Give the task up; the debate goes on. A task that is over stays as it is."""
    manager = await check_request(context, params)
    with translate_errors(manager):
        task = await load(manager, params.task_id)
        if not task.is_over:
            await give_up(manager, params.task_id, CANCELLED)
    return {}


async def check_request(context: RequestContext, params: TaskParams) -> DebateManager:
    """Raises MCPError if the client or its request does not follow the extension."""
    require_tasks(context)
    headers = getattr(context.request, "headers", None)  # of HTTP only
    name = headers.get("mcp-name") if headers is not None else None
    if name is not None and decode_header_value(name) != params.task_id:
        raise MCPError(types.HEADER_MISMATCH, "Mcp-Name is another task than params.taskId")
    return await context.lifespan_context.get()


def build_unknown() -> MCPError:
    """The same error for everything that is not found, so that it reveals nothing about what exists."""
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
    return Task(task_id, snapshot, given_up, compute_end(task_id, snapshot, given_up))


async def give_up(manager: DebateManager, text: str, reason: str) -> None:
    await manager.store.keep_text(TaskId.parse(text).debate_id, name_text(text), reason)


def name_text(text: str) -> str:
    return f"task {text}"


async def advance(manager: DebateManager, task: Task) -> Task:
    """Run the debate of a task if no process runs it: the one that did may be gone.

    A run that has failed in this process is not repeated. Raises its error if it fails now.
    """
    if task.end or task.id.debate_id in manager.failures:
        return task
    if through := task.id.through_round:
        snapshot = await manager.step(task.id.debate_id, expected_round=through, wait=0)
    else:
        snapshot = await manager.follow(task.id.debate_id, wait=0)
    return replace(task, snapshot=snapshot, end=compute_end(task.id, snapshot, task.given_up))


def compute_end(task: TaskId, snapshot: DebateSnapshot, given_up: str) -> DebateSnapshot | None:
    """The debate when the run of the task was first over; None while the run goes on.

    The debate may have been resumed since, but a task that is over stays over. Entries with the same time are one step.
    """
    entries = snapshot.entries
    if given_up.startswith(DECLINED):
        version = int(given_up.removeprefix(DECLINED))
        return replace(snapshot, debate=replay(e.event for e in entries[:version]), entries=entries[:version])
    later = entries[task.version :]
    may_be_over = any(
        isinstance(entry.event, Ended | Paused) or not is_by_model(entry.event) for entry in later
    )
    if not may_be_over and not is_over(task, snapshot):
        return None
    state = replace(
        snapshot,
        debate=replay(entry.event for entry in entries[: task.version]),
        entries=entries[: task.version],
    )
    for index, (entry, following) in enumerate(pairwise([*entries[task.version - 1 :], None])):
        assert entry is not None
        if index:
            state = replace(state, debate=apply(state.debate, entry.event), entries=entries[: entry.seq])
        if (following is None or following.at != entry.at) and is_over(task, state):
            return snapshot if following is None else state
    return None


def is_by_model(event: Any) -> bool:
    """Whether a model wrote it. For a person or a caller the debate had to wait."""
    usage = getattr(event, "usage", None)
    return usage is None or not getattr(usage, "author", "")


def is_over(task: TaskId, snapshot: DebateSnapshot) -> bool:
    return BegunRun(snapshot, task.tool, task.through_round, task.joined, task.asks).is_over


def list_requests(task: Task) -> dict[str, Call]:
    """The turns that the client is asked for, by the unique keys of their calls."""
    is_waiting = task.id.asks and task.snapshot.status == "waiting"
    calls = list_person_calls(task.snapshot.debate).values() if is_waiting else ()
    return {call.key: call for call in calls}


def build_input_requests(task: Task) -> Wire:
    """A form for each turn that is awaited."""
    forms = {}
    for key, call in list_requests(task).items():
        request = types.ElicitRequest(params=redact_model(build_form(task.snapshot, call)))
        forms[key] = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    return forms


def read_answer(response: Any) -> str | None:
    """The text that the person wrote; None if they declined. Raises MCPError for anything but an answer to a form."""
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
    taken = await manager.store.find_text(task.id.debate_id, f"{TAKEN}{task.id}")
    output = add_taken(results.build_tool_result(result, texts.format_step_result), taken)
    return dump_result(redact_model(output, MODEL_FIELDS))


def dump_result(result: types.CallToolResult) -> Wire:
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def describe(manager: DebateManager, task: Task, status: str, **fields: Mapping[str, Any]) -> Wire:
    """A task as clients see it. It exists as long as its debate, without a time limit."""
    end = task.end or task.snapshot
    created_at = format_time(datetime.fromtimestamp(task.id.created_ms / 1000, UTC))
    return {
        "taskId": str(task.id),
        "status": status,
        "statusMessage": redact(describe_status(manager, task, status)),
        "createdAt": created_at,
        "lastUpdatedAt": max(end.entries[-1].at, created_at),
        "ttlMs": None,
        "pollIntervalMs": POLL_INTERVAL_MS,
        **fields,
    }


def describe_status(manager: DebateManager, task: Task, status: str) -> str:
    snapshot, debate_id = task.snapshot, task.id.debate_id
    if status == "cancelled":
        return (
            "The wait was given up, and the debate goes on: "
            f"{format_call('get_verdict', debate_id=debate_id)} tells how far it is, and "
            f"{format_call('intervene', debate_id=debate_id, action='pause')} stops it."
        )
    if status == "completed":
        return f"Debate {debate_id}: {tell_standing((task.end or snapshot).status)}."
    if reason := status_reason(snapshot.debate):
        return f"Debate {debate_id}: {reason}"
    progress = describe_progress(build_progress(snapshot.debate), None, manager.find_holdup(snapshot))
    return f"Debate {debate_id}: {progress}."
