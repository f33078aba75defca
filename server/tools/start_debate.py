from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.debate.commands.formats import FORMATS
from server.debate.commands.requests import (
    DebateRequest,
    DebaterInput,
    DocumentInput,
    ModelName,
    OptionsInput,
    Rounds,
)
from server.tools.kit.context import ToolCall, ToolContext, WaitSeconds
from server.tools.kit.results import ProgressResult, build_progress_result


async def start_debate(
    question: str,
    ctx: ToolContext,
    format: Annotated[  # noqa: A002  (the argument's name is a contract)
        str, Field(json_schema_extra={"enum": list(FORMATS)})
    ] = "second_opinion",
    debaters: Annotated[
        list[DebaterInput],
        Field(description="Empty: one for, one against"),
    ] = [],  # noqa: B006  (the SDK copies defaults)
    documents: Annotated[list[DocumentInput], Field(max_length=20, description="Quoted to all seats")] = [],  # noqa: B006
    models: Annotated[
        list[ModelName],
        Field(
            max_length=26,
            description="For the seats in turn, such as openai/gpt-5.2; empty: those configured",
        ),
    ] = [],  # noqa: B006
    max_rounds: Rounds = 0,
    options: OptionsInput = OptionsInput(),  # noqa: B008
    run: Annotated[bool, Field(description="Run it to the verdict")] = False,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Open a debate between models on a question; with run=true also run it: a second opinion in one call."""
    call = ToolCall(ctx)
    request = DebateRequest(
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
    return build_progress_result(snapshot, working=call.manager.is_working(snapshot.id))
