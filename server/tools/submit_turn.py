from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.engine.debates import DebateManager
from server.tools.kit.results import ProgressResult, build_progress_result
from server.tools.kit.schema import DebateId, WaitSeconds, build_progress_reporter, get_actor, get_manager


async def submit_turn(
    debate_id: DebateId,
    speaker: Annotated[str, Field(max_length=60, description="As named in `awaited`")],
    text: str,
    ctx: Context[DebateManager, Any],
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Write the turn of a seat whose model is "caller"; returns when the next such turn is awaited."""
    hall = get_manager(ctx)
    case = await hall.submit(
        debate_id,
        speaker,
        text,
        actor=get_actor(ctx),
        wait=wait_seconds,
        on_change=build_progress_reporter(ctx),
    )
    return build_progress_result(case, working=hall.is_working(debate_id))
