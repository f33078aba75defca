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
from server.tools.kit.results import ProgressResult, build_progress_result


async def submit_turn(
    debate_id: DebateId,
    speaker: Annotated[str, Field(max_length=60, description="As named in `awaited`")],
    text: str,
    ctx: ToolContext,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Write the turn of a seat whose model is "caller"; returns when the next such turn is awaited."""
    manager = get_manager(ctx)
    snapshot = await manager.submit(
        debate_id,
        speaker,
        text,
        actor=get_actor(ctx),
        wait=wait_seconds,
        on_change=build_progress_reporter(ctx),
    )
    return build_progress_result(snapshot, working=manager.is_working(debate_id))
