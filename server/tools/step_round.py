from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.engine.debates import Hall
from server.tools.kit.results import Progress, progress
from server.tools.kit.schema import DebateId, Wait, hall_of, reporter


async def step_round(
    debate_id: DebateId,
    ctx: Context[Hall, Any],
    round: Annotated[  # noqa: A002  (the argument's name is a contract)
        int, Field(ge=0, description="The round you expect; one that is over is returned, not run again")
    ] = 0,
    wait_seconds: Wait = 45,
) -> Annotated[CallToolResult, Progress]:
    """Run the next round (the judges' is the last), or go on waiting for the one that runs."""
    hall = hall_of(ctx)
    case = await hall.step(debate_id, expected=round, wait=wait_seconds, on_change=reporter(ctx))
    return progress(case, working=hall.is_working(debate_id), number=round)
