from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.tools.kit.context import DebateId, ToolCall, ToolContext, WaitSeconds
from server.tools.kit.results import VerdictResult, build_verdict_result


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
