from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.engine.debates import Hall
from server.tools.kit.results import Finding, finding
from server.tools.kit.schema import DebateId, Wait, actor_of, hall_of, reporter


async def get_verdict(
    debate_id: DebateId,
    ctx: Context[Hall, Any],
    conclude: Annotated[bool, Field(description="End the talk now and judge what is there")] = False,
    wait_seconds: Wait = 45,
) -> Annotated[CallToolResult, Finding]:
    """The verdict of a debate, or how far it is."""
    hall = hall_of(ctx)
    if conclude:
        await hall.conclude(debate_id, actor=actor_of(ctx))
    case = await hall.follow(debate_id, wait=wait_seconds, on_change=reporter(ctx))
    return finding(case, working=hall.is_working(debate_id))
