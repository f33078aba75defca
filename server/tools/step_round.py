from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.tools.kit.context import DebateId, ToolCall, ToolContext, WaitSeconds
from server.tools.kit.results import ProgressResult, build_progress_result


async def step_round(
    debate_id: DebateId,
    ctx: ToolContext,
    round: Annotated[  # noqa: A002  (the argument's name is a contract)
        int, Field(ge=0, description="The round you expect; one that is over is returned, not run again")
    ] = 0,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Run the next round (the judges' is the last), or go on waiting for the one that runs."""
    call = ToolCall(ctx)
    snapshot = await call.manager.step(
        debate_id, expected_round=round, wait=wait_seconds, on_change=call.report
    )
    return build_progress_result(snapshot, working=call.manager.is_working(debate_id), round_number=round)
