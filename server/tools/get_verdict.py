from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.tools.kit.context import (
    DebateId,
    ToolContext,
    WaitSeconds,
    build_progress_reporter,
    get_actor,
    get_manager,
)
from server.tools.kit.results import VerdictResult, build_verdict_result


async def get_verdict(
    debate_id: DebateId,
    ctx: ToolContext,
    conclude: Annotated[bool, Field(description="End the talk now and judge what was said")] = False,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, VerdictResult]:
    """The verdict of a debate, or its progress."""
    manager = get_manager(ctx)
    if conclude:
        await manager.conclude(debate_id, actor=get_actor(ctx))
    reporter = build_progress_reporter(ctx)
    snapshot = await manager.follow(debate_id, wait=wait_seconds, on_change=reporter)
    return build_verdict_result(snapshot, working=manager.is_working(debate_id))
