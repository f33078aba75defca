"""The tools: their fields are the arguments, and with the docstrings what clients see."""

import re
from typing import Annotated, Any

import anyio
from mcp.server import ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import BeforeValidator, Field

from server.debate.commands import input_types, requests
from server.debate.commands.setup import formats
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.interventions import PositionsDeclined
from server.debate.facts.quoting import quote_inline
from server.debate.facts.setup.seats import CLIENT
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import ACTIONS
from server.debate.machine.decide import next_round
from server.debate.state.seats import uses_client
from server.debate.views import catalog
from server.engine import queries
from server.engine.database.repeats import TwinError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.models.client import NO_CLIENT
from server.models.registry import NoModelError
from server.redaction import MODEL_FIELDS, redact_model
from server.tools import pages, results, texts
from server.tools.asking import model_choice, positions
from server.tools.asking.elicitation import AskFirst, can_ask, read_state
from server.tools.asking.sampling import offers_sampling
from server.tools.asking.spending import CallingGuest
from server.tools.asking.waiting import Waiting, build_client, wait
from server.tools.hints import suggest_after_list
from server.tools.listing import load_listed_tools
from server.tools.results import SCHEME
from server.tools.tool import BegunRun, Tool, ToolArguments, ToolCall, ToolOutput, build_error

READ = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
WRITE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)
REPEATABLE = WRITE.model_copy(update={"idempotent_hint": True})
"""A repeated call adds nothing."""

ANY = "any"  # status


def take_address(given: Any) -> Any:
    """The id of a debate, also in capitals, between quotation marks, or in the address of a resource."""
    if not isinstance(given, str):
        return given
    text = given.strip(" \t\r\n\"'`<>").lower()
    return re.split("[/?#]", text.removeprefix(SCHEME), maxsplit=1)[0] if text.startswith(SCHEME) else text


DebateId = Annotated[str, Field(min_length=1, max_length=64), BeforeValidator(take_address)]
Again = Annotated[bool, Field(description="Not the one this call began")]
WaitSeconds = Annotated[int, Field(ge=0, le=600)]


def watch(call: ToolCall, debate_id: str) -> Waiting:
    """Wait for a debate as far as it runs."""

    async def wait_for_debate(seconds: float) -> DebateSnapshot:
        return await call.manager.follow(debate_id, wait=seconds, on_change=call.report)

    return wait_for_debate


async def build_step(
    call: ToolCall,
    snapshot: DebateSnapshot,
    round_number: int = 0,
    *,
    joined: bool = False,
) -> CallToolResult:
    result = await results.build_step_result(
        call.manager, snapshot, call.params.name, round_number=round_number, joined=joined
    )
    return results.build_tool_result(result, texts.format_step_result)


async def follow(
    call: ToolCall, snapshot: DebateSnapshot, deadline: float, *, joined: bool, is_polled: bool
) -> ToolOutput:
    """What a debate that runs has come to by then, or what the client is asked; that it runs, to those who poll."""
    watching = watch(call, snapshot.id)
    if is_polled and call.is_polled and not uses_client(snapshot.debate):
        return await begin(call, await watching(0), 0, joined=joined)
    found = await wait(call, snapshot, deadline, watching)
    return found if isinstance(found, InputRequiredResult) else await build_step(call, found, joined=joined)


async def begin(
    call: ToolCall, snapshot: DebateSnapshot, through_round: int, *, joined: bool = False
) -> ToolOutput:
    """That a debate runs, for a client that polls; its result if that is there. `through_round`: 0: to its end."""
    begun = BegunRun(snapshot, call.params.name, through_round, joined, asks=can_ask(call))
    return await build_step(call, snapshot, through_round, joined=joined) if begun.is_over else begun


class StartDebate(ToolArguments, requests.DebateRequest):
    """Open a debate between models on a question; with run=true also run it: a second opinion in one call."""

    format: Annotated[str, Field(json_schema_extra={"enum": [*formats.FORMATS]})] = "second_opinion"
    again: Again = False
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        deadline, joined = anyio.current_time() + self.wait_seconds, False
        found = await positions.find_begun(call, self, deadline)
        try:
            found = found or await self._start(call, deadline)
        except TwinError as twin:
            found, joined = await positions.join(call, twin.debate_id, deadline, run=self.run), True
        except AskFirst as first:
            return first.question
        if isinstance(found, InputRequiredResult):
            return found
        if not self.run or found.debate.find_interventions(PositionsDeclined):
            return await build_step(call, found, joined=joined)
        return await follow(call, found, deadline, joined=joined, is_polled=self.wait_seconds > 0)

    async def _start(self, call: ToolCall, deadline: float) -> DebateSnapshot | InputRequiredResult:
        joins = not self.again
        try:
            return await positions.start(call, model_choice.take_answer(call, self), deadline, joins=joins)
        except NoModelError as missing:
            found = await model_choice.ask_for_models(call, self, missing, deadline)
        if isinstance(found, InputRequiredResult):
            return found
        return await positions.start(call, found, deadline, joins=joins)


class ForkDebate(ToolArguments):
    """Open a new debate that shares the first rounds of another. read_debate(view="family") compares them."""

    debate_id: DebateId
    at_round: Annotated[int, Field(ge=0, description="Last round to share; 0: the setup")]
    changes: requests.ChangesInput = Field(default_factory=requests.ChangesInput)
    again: Again = False
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        deadline, joined = anyio.current_time() + self.wait_seconds, False
        try:
            snapshot = await self._find_begun(call) or await self._fork(call, deadline)
        except TwinError as twin:
            snapshot, joined = await call.manager.join(twin.debate_id, run=self.changes.run), True
        except AskFirst as first:
            return first.question
        if not self.changes.run:
            return await build_step(call, snapshot, joined=joined)
        return await follow(call, snapshot, deadline, joined=joined, is_polled=self.wait_seconds > 0)

    async def _fork(self, call: ToolCall, deadline: float) -> DebateSnapshot:
        guest = CallingGuest(build_client(call), call=call, deadline=deadline)
        return await call.manager.fork(
            self.debate_id, self.at_round, self.changes, actor=call.actor, joins=not self.again, guest=guest
        )

    async def _find_begun(self, call: ToolCall) -> DebateSnapshot | None:
        """The fork that this call has opened before it asked the client."""
        state = read_state(call)
        found = await call.manager.load(state.debate_id) if state and state.debate_id else None
        return found if found and found.debate.setup.forked_from == self.debate_id else None


class StepRound(ToolArguments):
    """Run the next round (the judges' is the last), or go on waiting for the one that runs."""

    debate_id: DebateId
    round: Annotated[int, Field(ge=0, description="The round you expect; a past one is not run again")] = 0
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        snapshot, state = await call.manager.load(self.debate_id), read_state(call)
        is_repeated = state is not None and state.debate_id == snapshot.id
        number = self.round or (state.round if state and is_repeated else 0) or next_round(snapshot.debate)

        async def step(seconds: float) -> DebateSnapshot:
            return await call.manager.step(
                self.debate_id, expected_round=number, wait=seconds, on_change=call.report
            )

        if call.is_polled and self.wait_seconds > 0 and not uses_client(snapshot.debate):
            return await begin(call, await step(0), number)
        deadline = anyio.current_time() + self.wait_seconds
        found = await wait(call, snapshot, deadline, step, number)
        return found if isinstance(found, InputRequiredResult) else await build_step(call, found, self.round)


class SubmitTurn(ToolArguments):
    """Write the turn of a seat whose model is "caller" or "human"; returns when the next such turn is awaited."""

    debate_id: DebateId
    speaker: Annotated[str, Field(max_length=60, description="As named in `awaited`")]
    text: str
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        deadline, effect, state = anyio.current_time() + self.wait_seconds, "", read_state(call)
        if state and state.debate_id == self.debate_id:
            snapshot = await call.manager.load(self.debate_id)
        else:
            turn = (self.debate_id, self.speaker, self.text)
            snapshot, effect = await call.manager.submit(*turn, actor=call.actor)
        found = await wait(call, snapshot, deadline, watch(call, snapshot.id))
        if isinstance(found, InputRequiredResult):
            return found
        step = await results.build_step_result(call.manager, found, call.params.name)
        return results.build_tool_result(
            results.TurnResult(**dict(step), effect=effect), texts.format_step_result
        )


class Intervene(ToolArguments):
    """Steer a debate, also while it runs. The result says from when on it counts."""

    debate_id: DebateId
    action: Annotated[str, Field(json_schema_extra={"enum": [*ACTIONS]})]
    text: Annotated[str, Field(description="Note or instruction")] = ""
    to: Annotated[
        str, Field(description="A debater or seat; empty: all. For outcome: who was right, or none")
    ] = ""
    rounds: Annotated[int, Field(ge=0, description="For extend")] = 0
    round: Annotated[int, Field(ge=0, description="For retract")] = 0
    model: input_types.ModelName = ""
    weights: input_types.Weights = Field({}, description="Such as 3/2")
    threshold: Annotated[
        input_types.FractionText, Field(max_length=20, description="Needed share, such as 2/3")
    ] = ""
    limits: requests.BudgetInput = Field(default_factory=requests.BudgetInput, description="For extend")
    reason: Annotated[str, Field(max_length=1000)] = ""
    request_id: Annotated[input_types.Cleaned, Field(max_length=100, description="A repeat does nothing")] = (
        ""
    )

    async def execute(self, call: ToolCall) -> CallToolResult:
        require(self.model.strip() != CLIENT or offers_sampling(call), NO_CLIENT)
        given = self.model_dump(exclude_unset=True, exclude={"debate_id", "action"})
        request = InterventionRequest(**given)
        snapshot, effect = await call.manager.intervene(
            self.debate_id, self.action, request, actor=call.actor
        )
        result = await results.build_steer_result(call.manager, snapshot, effect)
        return results.build_tool_result(result, texts.format_steer_result)


class GetVerdict(ToolArguments):
    """The verdict of a debate, or its progress. Waits while it runs."""

    debate_id: DebateId
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        snapshot, deadline = await call.manager.load(self.debate_id), anyio.current_time() + self.wait_seconds
        found = await wait(call, snapshot, deadline, watch(call, self.debate_id))
        if isinstance(found, InputRequiredResult):
            return found
        result = await results.build_verdict_result(call.manager, found)
        return results.build_tool_result(result, texts.format_verdict_result)


class ReadDebate(ToolArguments):
    """Read a debate: its transcript, or another view."""

    debate_id: DebateId
    view: Annotated[str, Field(json_schema_extra={"enum": [*catalog.VIEWS]})] = "transcript"
    since_round: Annotated[int, Field(ge=0, description="For transcript")] = 0
    since_seq: Annotated[int, Field(ge=0, description="For events")] = 0
    round: Annotated[int, Field(ge=0, description="For round; 0: the latest")] = 0
    offset: Annotated[int, Field(ge=0, description="`next_offset` of the page before")] = 0

    async def execute(self, call: ToolCall) -> CallToolResult:
        part = {"since_round": self.since_round, "since_seq": self.since_seq, "round": self.round}
        chosen = catalog.find_view(self.view, [name for name, number in part.items() if number])
        source = await queries.load_view_source(call.manager, self.debate_id, chosen, **part)
        result = await pages.build_page(call.manager, source, chosen, self.offset)
        return results.build_content(result, *texts.format_page(result))


class FindDebates(ToolArguments):
    """Search and list debates, newest first."""

    query: Annotated[str, Field(max_length=1000, description="Words of question or debate")] = ""
    status: Annotated[str, Field(json_schema_extra={"enum": [ANY, *queries.STATUSES]})] = ANY
    cursor: Annotated[str, Field(max_length=40, description="`cursor` of the page before")] = ""

    async def execute(self, call: ToolCall) -> CallToolResult:
        status = "" if self.status == ANY else self.status
        if status and status not in queries.STATUSES:
            statuses = ", ".join((ANY, *queries.STATUSES))
            raise InvalidRequestError(f"There is no status {status[:40]!r}. Statuses: {statuses}.")
        rows, cursor = await queries.list_debates(call.manager, self.query, status, self.cursor)
        following = suggest_after_list(self.query, status, cursor, rows[0].debate_id if rows else "")
        result = results.DebateListResult(debates=rows, cursor=cursor, next=following)
        return results.build_tool_result(result, texts.format_debate_list)


TOOLS = {
    "start_debate": Tool("Start a debate", StartDebate, results.StepResult, WRITE),
    "step_round": Tool("Run the next round", StepRound, results.StepResult, WRITE),
    "intervene": Tool("Steer a debate", Intervene, results.SteerResult, WRITE),
    "get_verdict": Tool("Get the verdict", GetVerdict, results.VerdictResult, READ),
    "submit_turn": Tool("Write a turn", SubmitTurn, results.TurnResult, REPEATABLE),
    "read_debate": Tool("Read a debate", ReadDebate, results.ViewResult, READ),
    "find_debates": Tool("Find debates", FindDebates, results.DebateListResult, READ),
    "fork_debate": Tool("Fork a debate", ForkDebate, results.StepResult, WRITE),
}
"""Clients are shown them as `listed.json` has them, which `python -m docs.generate` makes of this table."""


async def call_tool(
    manager: DebateManager, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
) -> ToolOutput:
    """What comes of a call, without secrets; an error for a tool that does not exist."""
    tool, listed = TOOLS.get(params.name), load_listed_tools().get(params.name)
    if tool is None or listed is None:
        return build_error(f"There is no tool {quote_inline(params.name, 100)}. Tools: {', '.join(TOOLS)}.")
    output = await tool.run(ToolCall(manager, context, params), listed)
    return output if isinstance(output, BegunRun) else redact_model(output, MODEL_FIELDS)
