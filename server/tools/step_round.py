from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.engine.debates import DebateManager
from server.tools.kit.results import ProgressResult, build_progress_result
from server.tools.kit.schema import DebateId, WaitSeconds, build_progress_reporter, get_manager


async def step_round(
    debate_id: DebateId,
    ctx: Context[DebateManager, Any],
    round: Annotated[  # noqa: A002  (the argument's name is a contract)
        int, Field(ge=0, description="The round you expect; one that is over is returned, not run again")
    ] = 0,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Run the next round (the judges' is the last), or go on waiting for the one that runs."""
    hall = get_manager(ctx)
    case = await hall.step(
        debate_id, expected_round=round, wait=wait_seconds, on_change=build_progress_reporter(ctx)
    )
    return build_progress_result(case, working=hall.is_working(debate_id), round_number=round)
