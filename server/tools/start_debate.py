from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.debate.commands.formats import FORMATS
from server.debate.commands.requests import (
    DebateRequest,
    DebaterInput,
    DocumentInput,
    ModelName,
    OptionsInput,
)
from server.engine.debates import DebateManager
from server.tools.kit.results import ProgressResult, build_progress_result
from server.tools.kit.schema import WaitSeconds, build_progress_reporter, get_actor, get_manager


async def start_debate(
    question: Annotated[str, Field(examples=["Should we rewrite the billing service in Rust?"])],
    ctx: Context[DebateManager, Any],
    format: Annotated[  # noqa: A002  (the argument's name is a contract)
        str, Field(json_schema_extra={"enum": list(FORMATS)})
    ] = "second_opinion",
    debaters: Annotated[
        list[DebaterInput],
        Field(description="Default: for and against", examples=[[{"name": "Ada", "stance": "ship now"}]]),
    ] = [],  # noqa: B006  (the SDK copies defaults)
    documents: Annotated[list[DocumentInput], Field(max_length=20)] = [],  # noqa: B006
    models: Annotated[
        list[ModelName], Field(max_length=26, examples=[["openai/gpt-5.2", "anthropic/claude-sonnet-4-6"]])
    ] = [],  # noqa: B006
    max_rounds: Annotated[int, Field(ge=0, description="0: the format's")] = 0,
    options: OptionsInput = OptionsInput(),  # noqa: B008
    run: Annotated[bool, Field(description="Run it to the verdict")] = False,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Open a debate between models on a question; with run=true also run it: a second opinion in one call."""
    hall = get_manager(ctx)
    proposal = DebateRequest(
        question=question,
        format=format,
        debaters=debaters,
        documents=documents,
        models=models,
        max_rounds=max_rounds,
        options=options,
        run=run,
    )
    case = await hall.start(proposal, actor=get_actor(ctx))
    if run:
        case = await hall.follow(case.id, wait=wait_seconds, on_change=build_progress_reporter(ctx))
    return build_progress_result(case, working=hall.is_working(case.id))
