from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.engine.debates import DebateManager
from server.tools.kit.results import VerdictResult, build_verdict_result
from server.tools.kit.schema import DebateId, WaitSeconds, build_progress_reporter, get_actor, get_manager


async def get_verdict(
    debate_id: DebateId,
    ctx: Context[DebateManager, Any],
    conclude: Annotated[bool, Field(description="End the talk now and judge what is there")] = False,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, VerdictResult]:
    """The verdict of a debate, or how far it is."""
    hall = get_manager(ctx)
    if conclude:
        await hall.conclude(debate_id, actor=get_actor(ctx))
    case = await hall.follow(debate_id, wait=wait_seconds, on_change=build_progress_reporter(ctx))
    return build_verdict_result(case, working=hall.is_working(debate_id))
