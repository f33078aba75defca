"""The tools that open, run and steer a debate. Their docstrings and arguments are what clients see."""

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import BeforeValidator, Field

from server.debate.commands import formats, requests
from server.debate.commands.intervene import ACTIONS, InterventionRequest
from server.debate.views.state import fork_origin_line
from server.tools.call import DebateId, ToolCall, ToolContext, WaitSeconds
from server.tools.results import ProgressResult, VerdictResult, build_verdict_result

# The names of arguments are a contract, and the SDK copies defaults.
# ruff: noqa: A002, B006, B008

FractionText = Annotated[
    str, BeforeValidator(lambda value: str(value) if type(value) in (int, float) else value)
]
"""A fraction as text; numbers are accepted as well."""


async def start_debate(
    question: str,
    ctx: ToolContext,
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
) -> Annotated[CallToolResult, ProgressResult]:
    """Open a debate between models on a question; with run=true also run it: a second opinion in one call."""
    call = ToolCall(ctx)
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
    return call.build_result(snapshot)


async def fork_debate(
    debate_id: DebateId,
    at_round: Annotated[int, Field(ge=0, description="Last round to share; 0: the setup only")],
    ctx: ToolContext,
    changes: requests.ChangesInput = requests.ChangesInput(),
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Open a new debate that shares the first rounds of another. read_debate(view="family") compares them."""
    call = ToolCall(ctx)
    snapshot = await call.manager.fork(debate_id, at_round, changes, actor=call.actor)
    if changes.run:
        snapshot = await call.manager.follow(snapshot.id, wait=wait_seconds, on_change=call.report)
    return call.build_result(snapshot, extra=fork_origin_line(snapshot.debate))


async def step_round(
    debate_id: DebateId,
    ctx: ToolContext,
    round: Annotated[
        int, Field(ge=0, description="The round you expect; one that is over is returned, not run again")
    ] = 0,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Run the next round (the judges' is the last), or go on waiting for the one that runs."""
    call = ToolCall(ctx)
    snapshot = await call.manager.step(
        debate_id, expected_round=round, wait=wait_seconds, on_change=call.report
    )
    return call.build_result(snapshot, round_number=round)


async def submit_turn(
    debate_id: DebateId,
    speaker: Annotated[str, Field(max_length=60, description="As named in `awaited`")],
    text: str,
    ctx: ToolContext,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Write the turn of a seat whose model is "caller"; returns when the next such turn is awaited."""
    call = ToolCall(ctx)
    snapshot = await call.manager.submit(
        debate_id, speaker, text, actor=call.actor, wait=wait_seconds, on_change=call.report
    )
    return call.build_result(snapshot)


async def intervene(
    debate_id: DebateId,
    action: Annotated[str, Field(json_schema_extra={"enum": list(ACTIONS)})],
    ctx: ToolContext,
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
) -> Annotated[CallToolResult, ProgressResult]:
    """Steer a debate, also while it runs. The result says from when on it counts."""
    call = ToolCall(ctx)
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
    return call.build_result(snapshot, extra=effect)


async def get_verdict(
    debate_id: DebateId,
    ctx: ToolContext,
    conclude: Annotated[bool, Field(description="End the talk now and judge what was said")] = False,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, VerdictResult]:
    """The verdict of a debate, or its progress."""
    call = ToolCall(ctx)
    if conclude:
        await call.manager.conclude(debate_id, actor=call.actor)
    snapshot = await call.manager.follow(debate_id, wait=wait_seconds, on_change=call.report)
    return build_verdict_result(snapshot, working=call.manager.is_working(debate_id))
