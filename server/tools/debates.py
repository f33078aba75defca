"""The tools. Clients see the fields of their classes as arguments, and the docstrings as descriptions."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from mcp.server import ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import BeforeValidator, Field

from server.debate.commands import inputs, requests
from server.debate.commands.setup import formats
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.quoting import quote_inline
from server.debate.facts.setup.seats import CLIENT
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.positions import PositionsDeclined
from server.debate.interventions.registry import ACTIONS, BY_NAME
from server.debate.machine.decide import next_round
from server.debate.state.seats import uses_client
from server.debate.views import catalog
from server.debate.views.provenance import leave_out_own
from server.engine import queries
from server.engine.database.repeats import TwinError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.values import OUTCOMES, choose_values
from server.engine.debates import DebateManager
from server.models.client import NO_CLIENT
from server.models.registry import NoModelError
from server.redaction import MODEL_FIELDS, redact_model
from server.tools import pages, results, texts
from server.tools.arguments.refusals import ARGUMENT_HINTS
from server.tools.asking import opening
from server.tools.asking.elicitation import can_ask, read_state
from server.tools.asking.opening import CallingGuest
from server.tools.asking.sampling import get_queue, offers_sampling
from server.tools.asking.waiting import Waiting, build_client, wait
from server.tools.hints import suggest_after_list
from server.tools.listing import load_listed_tools
from server.tools.pages import OPTIONS, render_options
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

ANY = "any"  # of all statuses, or outcomes


def parse_debate_id(value: Any) -> Any:
    """The id of a debate, also from capitals, quotation marks, or the address of a resource."""
    if not isinstance(value, str):
        return value
    text = value.strip(" \t\r\n\"'`<>").lower()
    return re.split("[/?#]", text.removeprefix(SCHEME), maxsplit=1)[0] if text.startswith(SCHEME) else text


DebateId = Annotated[
    str,
    Field(min_length=1, max_length=64, description="Its id, or latest"),
    BeforeValidator(parse_debate_id),
]
Again = Annotated[bool, Field(description="Begin another where the same call was made minutes ago")]
WaitSeconds = Annotated[int, Field(ge=0, le=600, description="Seconds until it returns; the debate goes on")]


def list_choices(choices: Mapping[str, str]) -> Any:
    """The values that there are to choose from, with a line for each."""
    lines = [f"{name}: {hint}" for name, hint in choices.items()]
    return Field(description="\n".join(["One of:", *lines]), json_schema_extra={"enum": [*choices]})


def watch(call: ToolCall, debate_id: str) -> Waiting:
    """A function that waits for a debate while it runs."""

    async def wait_for_debate(seconds: float) -> DebateSnapshot:
        return await call.manager.follow(debate_id, wait=seconds, on_change=call.report)

    return wait_for_debate


async def build_step(
    call: ToolCall, snapshot: DebateSnapshot, round_number: int = 0, *, joined: bool = False
) -> CallToolResult:
    """The state of a debate as a result."""
    result = await results.build_step_result(
        call.manager, snapshot, call.params.name, round_number=round_number, joined=joined
    )
    return results.build_tool_result(result, texts.format_step_result)


async def follow(call: ToolCall, snapshot: DebateSnapshot, *, joined: bool) -> ToolOutput:
    """The state of a running debate at the deadline; for a client that polls, the run."""
    waiting = watch(call, snapshot.id)
    if call.is_polled and not uses_client(snapshot.debate):
        return await build_run(call, await waiting(0), 0, joined=joined)
    return await build_step(call, await wait(call, snapshot, waiting), joined=joined)


async def build_run(
    call: ToolCall, snapshot: DebateSnapshot, through_round: int, *, joined: bool = False
) -> ToolOutput:
    """The run of a debate, for a client that polls, or its result if it is over. `through_round`: 0 for all rounds."""
    run = BegunRun(snapshot, call.params.name, through_round, joined, asks=can_ask(call))
    return await build_step(call, snapshot, through_round, joined=joined) if run.is_over else run


class StartDebate(ToolArguments, requests.DebateRequest):
    """Get a second opinion: other models answer independently, check each other and you, and one answer comes out.

    It says how sure it is. Use it to decide between options, compare alternatives, weigh pros and cons or trade-offs,
    review or critique a plan, red team it, play devil's advocate, argue both sides, sanity check or fact check an
    answer, get feedback, peer review or a consensus, find risks and what you are missing, or have a debate. Not to look
    things up or run code: models read only what you pass. In one call: question, my_answer, run=true.
    """

    format: Annotated[
        str,
        list_choices({row.name: row.hint for row in formats.FORMATS.values()}),
    ] = ""
    again: Again = False
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        snapshot, joined = await opening.resume(call, self), False
        try:
            snapshot = snapshot or await self._start(call)
        except TwinError as twin:
            snapshot, joined = await opening.join(call, twin.debate_id, run=self.run), True
        if not self.run or snapshot.debate.find_interventions(PositionsDeclined):
            return await build_step(call, snapshot, joined=joined)
        return await follow(call, snapshot, joined=joined)

    async def _start(self, call: ToolCall) -> DebateSnapshot:
        joins = not self.again
        try:
            return await opening.start(call, opening.add_named_models(call, self), joins=joins)
        except NoModelError as error:
            answered = await opening.ask_for_models(call, self, error)
        return await opening.start(call, answered, joins=joins)


class ForkDebate(ToolArguments):
    """Try a debate otherwise: a new one shares its first rounds, and has other models, stances, judges or documents.

    read_debate(view="family") compares them.
    """

    debate_id: DebateId
    at_round: Annotated[int, Field(ge=0, description="The last round to share; 0: only the question")]
    changes: requests.ChangesInput = Field(
        default_factory=requests.ChangesInput, description="What is different in it"
    )
    again: Again = False
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        joined = False
        try:
            snapshot = await self._find_own_fork(call) or await call.manager.fork(
                self.debate_id,
                self.at_round,
                self.changes,
                actor=call.actor,
                joins=not self.again,
                guest=CallingGuest(build_client(call), call=call),
            )
        except TwinError as twin:
            snapshot, joined = await call.manager.join(twin.debate_id, run=self.changes.run), True
        if not self.changes.run:
            return await build_step(call, snapshot, joined=joined)
        return await follow(call, snapshot, joined=joined)

    async def _find_own_fork(self, call: ToolCall) -> DebateSnapshot | None:
        """The fork that this call opened before it asked the client."""
        state = read_state(call)
        snapshot = await call.manager.load(state.debate_id) if state and state.debate_id else None
        return snapshot if snapshot and snapshot.debate.setup.forked_from == self.debate_id else None


class StepRound(ToolArguments):
    """Run the next round of a debate that was started without run=true, or wait for the one that runs.

    The judges' round is the last.
    """

    debate_id: DebateId
    round: Annotated[int, Field(ge=0, description="The one you expect; a past one is not run again")] = 0
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        snapshot, state = await call.manager.load(self.debate_id), read_state(call)
        is_repeated = state is not None and state.debate_id == snapshot.id
        number = self.round or (state.round if state and is_repeated else 0) or next_round(snapshot.debate)

        async def step(seconds: float) -> DebateSnapshot:
            return await call.manager.step(
                self.debate_id, expected_round=number, wait=seconds, on_change=call.report
            )

        if call.is_polled and not uses_client(snapshot.debate):
            return await build_run(call, await step(0), number)
        return await build_step(call, await wait(call, snapshot, step, number), self.round)


class SubmitTurn(ToolArguments):
    """Write the turn that a debate waits for, of a seat whose model is "caller" or "human".

    Returns when the next one is awaited.
    """

    debate_id: DebateId
    speaker: Annotated[str, Field(max_length=60, description="The seat, as `awaited` names it")]
    text: Annotated[str, Field(description="The turn, whole")]
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        effect, state = "", read_state(call)
        if state and state.debate_id == self.debate_id:
            snapshot = await call.manager.load(self.debate_id)
        else:
            turn = (self.debate_id, self.speaker, self.text)
            snapshot, effect = await call.manager.submit(*turn, actor=call.actor)
        snapshot = await wait(call, snapshot, watch(call, snapshot.id))
        step = await results.build_step_result(call.manager, snapshot, call.params.name)
        return results.build_tool_result(
            results.TurnResult(**dict(step), effect=effect), texts.format_step_result
        )


class Intervene(ToolArguments):
    """Steer a debate, also while it runs: pause, add a note, extend, conclude.

    The result says from when on it counts.
    """

    debate_id: DebateId
    action: Annotated[str, list_choices({name: BY_NAME[name].hint for name in ACTIONS})]
    text: Annotated[str, Field(description="Note, challenge, instruction or tag")] = ""
    to: Annotated[str, Field(description="A debater or seat; empty: all")] = ""
    rounds: Annotated[int, Field(ge=0, description="How many more, for extend")] = 0
    round: Annotated[int, Field(ge=0, description="Of the turn to retract")] = 0
    model: Annotated[inputs.ModelName, Field(description="For replace_model")] = ""
    weights: Annotated[inputs.Weights, Field(description="For weights, such as 3/2")] = Field({})
    threshold: Annotated[
        inputs.FractionText, Field(max_length=20, description="For threshold, such as 2/3")
    ] = ""
    limits: requests.BudgetInput = Field(
        default_factory=requests.BudgetInput, description="New limits, for extend"
    )
    reason: Annotated[str, Field(max_length=1000, description="Why, for the record")] = ""
    request_id: Annotated[
        inputs.Cleaned,
        Field(max_length=100, description="Any text: a repeat with the same one does nothing"),
    ] = ""

    async def execute(self, call: ToolCall) -> CallToolResult:
        require(self.model.strip() != CLIENT or offers_sampling(call), NO_CLIENT)
        fields = self.model_dump(exclude_unset=True, exclude={"debate_id", "action"})
        request = InterventionRequest(**fields)
        if self.action == "resume":
            get_queue(call, self.debate_id).refusals = 0  # the person may have changed their mind
        snapshot, effect = await call.manager.intervene(
            self.debate_id, self.action, request, actor=call.actor
        )
        result = await results.build_steer_result(call.manager, snapshot, effect)
        return results.build_tool_result(result, texts.format_steer_result)


class GetVerdict(ToolArguments):
    """Get the answer or verdict of a debate, or how far it is. Waits while it runs."""

    debate_id: DebateId
    wait_seconds: WaitSeconds = 45

    async def execute(self, call: ToolCall) -> ToolOutput:
        snapshot = await call.manager.load(self.debate_id)
        snapshot = await wait(call, snapshot, watch(call, self.debate_id))
        result = await results.build_verdict_result(call.manager, snapshot)
        return results.build_tool_result(result, texts.format_verdict_result)


class ReadDebate(ToolArguments):
    """Read what was said in a debate, or another view of it: votes, cost, the record of events.

    Results of other tools hold the answer already.
    """

    debate_id: DebateId = ""
    view: Annotated[str, Field(json_schema_extra={"enum": [*catalog.VIEWS, OPTIONS]})] = "transcript"
    since_round: Annotated[int, Field(ge=0, description="For transcript: what came after it")] = 0
    since_seq: Annotated[int, Field(ge=0, description="For events: what came after it")] = 0
    round: Annotated[int, Field(ge=0, description="For round and prompts; 0: the latest, or all")] = 0
    seat: Annotated[str, Field(max_length=60, description="For prompts; empty: all")] = ""
    offset: Annotated[int, Field(ge=0, description="`next_offset` of the page before")] = 0
    limit: Annotated[
        int, Field(ge=0, description="Characters of a page; 0: as many as your client shows")
    ] = 0

    async def execute(self, call: ToolCall) -> CallToolResult:
        page = pages.Part(self.offset, self.limit, pages.choose_limit(call.client_name))
        if self.view == OPTIONS:
            result = pages.build_options_page(render_options(*WITH_OPTIONS), page)
            return results.build_content(result, *texts.format_page(result))
        require(self.debate_id, f"`debate_id` is missing: {ARGUMENT_HINTS['debate_id']}.")
        part: dict[str, int | str] = {"since_round": self.since_round, "since_seq": self.since_seq}
        part |= {"round": self.round, "seat": self.seat}
        view = catalog.find_view(self.view, [name for name, value in part.items() if value], [OPTIONS])
        source = await queries.load_view_source(call.manager, self.debate_id, view, **part)
        result = await pages.build_page(call.manager, source, view, page)
        return results.build_content(result, *texts.format_page(result))


def choose_one(name: str, given: str, known: Sequence[str]) -> str:
    """A value that narrows a list, or "" for any."""
    chosen = "" if given == ANY else given
    if chosen and chosen not in known:
        values = ", ".join((ANY, *known))
        raise InvalidRequestError(f"There is no {name} {chosen[:40]!r}. One of: {values}.")
    return chosen


class FindDebates(ToolArguments):
    """Search earlier debates and list them, newest first."""

    query: Annotated[str, Field(max_length=1000, description="Words of the question or the debate")] = ""
    status: Annotated[str, Field(json_schema_extra={"enum": [ANY, *queries.STATUSES]})] = ANY
    outcome: Annotated[str, Field(json_schema_extra={"enum": [ANY, *OUTCOMES]})] = ANY
    tag: Annotated[str, Field(max_length=100, description="A tag of theirs")] = ""
    limit: Annotated[int, Field(ge=0, le=100, description="Debates of a page; 0: 20")] = 0
    cursor: Annotated[str, Field(max_length=40, description="`cursor` of the page before")] = ""

    async def execute(self, call: ToolCall) -> CallToolResult:
        status = choose_one("status", self.status, queries.STATUSES)
        outcome = choose_one("outcome", self.outcome, OUTCOMES)
        filters: dict[str, str | int] = {"query": self.query, "status": status, "outcome": outcome}
        filters |= {"tag": self.tag, "limit": self.limit}
        limit, values = self.limit or queries.PAGE_SIZE, choose_values({"outcome": outcome, "tag": self.tag})
        rows, cursor = await queries.list_debates(
            call.manager, self.query, status, self.cursor, limit, values
        )
        following = suggest_after_list(filters, cursor, rows[0].debate_id if rows else "")
        shown = [row.model_copy(update={"provenance": leave_out_own(row.provenance)}) for row in rows]
        result = results.DebateListResult(debates=shown, cursor=cursor, next=following)
        return results.build_tool_result(result, texts.format_debate_list)


TOOLS = {
    "start_debate": Tool("Get a second opinion", StartDebate, results.StepResult, WRITE),
    "step_round": Tool("Run the next round", StepRound, results.StepResult, WRITE),
    "intervene": Tool("Steer a debate", Intervene, results.SteerResult, WRITE),
    "get_verdict": Tool("Get the verdict", GetVerdict, results.VerdictResult, READ),
    "submit_turn": Tool("Write a turn", SubmitTurn, results.TurnResult, REPEATABLE),
    "read_debate": Tool("Read a debate", ReadDebate, results.ViewResult, READ),
    "find_debates": Tool("Find debates", FindDebates, results.DebateListResult, READ),
    "fork_debate": Tool("Fork a debate", ForkDebate, results.StepResult, WRITE),
}
"""Clients see `listed.json`, which `python -m docs.generate` makes from this table."""

WITH_OPTIONS = (StartDebate, ForkDebate, Intervene, ReadDebate)
"""The arguments of tools that clients are shown a part of."""


async def call_tool(
    manager: DebateManager, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
) -> ToolOutput | InputRequiredResult:
    """The output of a call, without secrets; an error for a tool that does not exist."""
    tool, listed_tool = TOOLS.get(params.name), load_listed_tools().get(params.name)
    if tool is None or listed_tool is None:
        return build_error(f"There is no tool {quote_inline(params.name, 100)}. Tools: {', '.join(TOOLS)}.")
    output = await tool.run(ToolCall(manager, context, params), listed_tool)
    return output if isinstance(output, BegunRun) else redact_model(output, MODEL_FIELDS)
