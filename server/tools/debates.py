"""The tools. Their docstrings and arguments are what clients see."""

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.debate.commands import formats, requests
from server.debate.commands.intervene import ACTIONS, InterventionRequest
from server.debate.facts.errors import InvalidRequestError
from server.debate.views import catalog
from server.debate.views.state import fork_origin_line
from server.engine import queries
from server.tools import results
from server.tools.tool import ToolCall

# The names of arguments are a contract, and pydantic copies defaults.
# ruff: noqa: A002, B006, B008

PAGE_LENGTH = 60_000  # characters of one page: clients refuse results above about 25,000 tokens

DebateId = Annotated[str, Field(min_length=1, max_length=64)]
WaitSeconds = Annotated[int, Field(ge=0, le=600, description="Then call again to wait on")]
FractionText = Annotated[str, Field(coerce_numbers_to_str=True)]
ProgressToolResult = Annotated[CallToolResult, results.ProgressResult]


async def start_debate(
    question: str,
    call: ToolCall,
    format: Annotated[str, Field(json_schema_extra={"enum": list(formats.FORMATS)})] = "second_opinion",
    debaters: Annotated[list[requests.DebaterInput], Field(description="Empty: one for, one against")] = [],
    documents: Annotated[
        list[requests.DocumentInput], Field(max_length=20, description="Quoted to all seats")
    ] = [],
    models: Annotated[
        list[requests.ModelName],
        Field(
            max_length=26,
            description="For the seats in turn, such as openai/gpt-5.2; empty: those configured",
        ),
    ] = [],
    max_rounds: requests.Rounds = 0,
    options: requests.OptionsInput = requests.OptionsInput(),
    run: Annotated[bool, Field(description="Run it to the verdict")] = False,
    wait_seconds: WaitSeconds = 45,
) -> ProgressToolResult:
    """Open a debate between models on a question; with run=true also run it: a second opinion in one call."""
    request = requests.DebateRequest(
        question=question,
        format=format,
        debaters=debaters,
        documents=documents,
        models=models,
        max_rounds=max_rounds,
        options=options,
        run=run,
    )
    snapshot = await call.manager.start(request, actor=call.actor)
    if run:
        snapshot = await call.manager.follow(snapshot.id, wait=wait_seconds, on_change=call.report)
    return results.build_progress_result(call.manager, snapshot)


async def fork_debate(
    debate_id: DebateId,
    at_round: Annotated[int, Field(ge=0, description="Last round to share; 0: the setup only")],
    call: ToolCall,
    changes: requests.ChangesInput = requests.ChangesInput(),
    wait_seconds: WaitSeconds = 45,
) -> ProgressToolResult:
    """Open a new debate that shares the first rounds of another. read_debate(view="family") compares them."""
    snapshot = await call.manager.fork(debate_id, at_round, changes, actor=call.actor)
    if changes.run:
        snapshot = await call.manager.follow(snapshot.id, wait=wait_seconds, on_change=call.report)
    return results.build_progress_result(call.manager, snapshot, extra=fork_origin_line(snapshot.debate))


async def step_round(
    debate_id: DebateId,
    call: ToolCall,
    round: Annotated[
        int, Field(ge=0, description="The round you expect; one that is over is returned, not run again")
    ] = 0,
    wait_seconds: WaitSeconds = 45,
) -> ProgressToolResult:
    """Run the next round (the judges' is the last), or go on waiting for the one that runs."""
    snapshot = await call.manager.step(
        debate_id, expected_round=round, wait=wait_seconds, on_change=call.report
    )
    return results.build_progress_result(call.manager, snapshot, round_number=round)


async def submit_turn(
    debate_id: DebateId,
    speaker: Annotated[str, Field(max_length=60, description="As named in `awaited`")],
    text: str,
    call: ToolCall,
    wait_seconds: WaitSeconds = 45,
) -> ProgressToolResult:
    """Write the turn of a seat whose model is "caller"; returns when the next such turn is awaited."""
    snapshot = await call.manager.submit(
        debate_id, speaker, text, actor=call.actor, wait=wait_seconds, on_change=call.report
    )
    return results.build_progress_result(call.manager, snapshot)


async def intervene(
    debate_id: DebateId,
    action: Annotated[str, Field(json_schema_extra={"enum": list(ACTIONS)})],
    call: ToolCall,
    text: Annotated[str, Field(description="The note or instruction")] = "",
    to: Annotated[str, Field(description="A debater or seat; empty: all")] = "",
    rounds: Annotated[int, Field(ge=0, description="For extend: how many more")] = 0,
    round: Annotated[int, Field(ge=0, description="For retract: round of the turn")] = 0,
    model: requests.ModelName = "",
    weights: Annotated[dict[str, FractionText], Field(description="Fraction by voter, such as 3/2")] = {},
    threshold: Annotated[
        FractionText, Field(max_length=20, description="Share needed to win, such as 2/3")
    ] = "",
    limits: Annotated[
        requests.BudgetInput, Field(description="For extend: the limits to change")
    ] = requests.BudgetInput(),
    reason: Annotated[str, Field(max_length=1000, description="Kept in the journal")] = "",
) -> ProgressToolResult:
    """Steer a debate, also while it runs. The result says from when on it counts."""
    request = InterventionRequest(
        text=text,
        to=to,
        reason=reason,
        rounds=rounds,
        round=round,
        model=model,
        weights=weights,
        threshold=threshold,
        limits=limits.model_dump(exclude_unset=True),
    )
    snapshot, effect = await call.manager.intervene(debate_id, action, request, actor=call.actor)
    return results.build_progress_result(call.manager, snapshot, extra=effect)


async def get_verdict(
    debate_id: DebateId,
    call: ToolCall,
    conclude: Annotated[bool, Field(description="End the talk now and judge what was said")] = False,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, results.VerdictResult]:
    """The verdict of a debate, or its progress."""
    if conclude:
        await call.manager.conclude(debate_id, actor=call.actor)
    snapshot = await call.manager.follow(debate_id, wait=wait_seconds, on_change=call.report)
    return results.build_verdict_result(call.manager, snapshot)


async def read_debate(
    debate_id: DebateId,
    call: ToolCall,
    view: Annotated[str, Field(json_schema_extra={"enum": list(catalog.VIEWS)})] = "transcript",
    since_round: Annotated[int, Field(ge=0, description="For transcript and events")] = 0,
    round: Annotated[int, Field(ge=0, description="For round; 0: the latest")] = 0,
    offset: Annotated[int, Field(ge=0, description="`next_offset` of the page before")] = 0,
) -> Annotated[CallToolResult, results.ViewResult]:
    """Read a debate: its transcript, or another view of it."""
    chosen = catalog.find_view(view)
    source = await queries.load_view_source(
        call.manager, debate_id, chosen, since_round=since_round, round_number=round
    )
    whole = chosen.render_text(source)
    if offset >= max(len(whole), 1):
        raise InvalidRequestError(
            f"offset={offset} is beyond the end: there are {len(whole):,} characters. Begin at 0."
        )
    text, end = whole[offset : offset + PAGE_LENGTH], offset + PAGE_LENGTH
    if end < len(whole):
        text += f"\n\n[{end:,} of {len(whole):,} characters so far. Go on with offset={end}.]"
    else:
        end = 0
    data = {} if offset or end else chosen.build(source)
    result = results.ViewResult(debate_id=source.id, view=view, data=data, next_offset=end)
    return results.build_tool_result(text, result, source)


async def find_debates(
    call: ToolCall,
    query: Annotated[str, Field(max_length=1000, description="Words of the question or the debate")] = "",
    status: Annotated[
        str, Field(description="Empty: any", json_schema_extra={"enum": ["", *queries.STATUSES]})
    ] = "",
    cursor: Annotated[str, Field(max_length=40, description="`cursor` of the page before")] = "",
) -> Annotated[CallToolResult, results.DebateListResult]:
    """Search and list debates, newest first."""
    if status and status not in queries.STATUSES:
        statuses = ", ".join(queries.STATUSES)
        raise InvalidRequestError(f"There is no status {status[:40]!r}. Statuses: {statuses}.")
    rows, next_cursor = await queries.list_debates(call.manager, query, status, cursor)
    result = results.DebateListResult(debates=rows, cursor=next_cursor)
    return results.build_tool_result(results.format_debate_list(rows, next_cursor), result)
