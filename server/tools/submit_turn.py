from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.tools.kit.context import DebateId, ToolCall, ToolContext, WaitSeconds
from server.tools.kit.results import ProgressResult, build_progress_result


async def submit_turn(
    debate_id: DebateId,
    speaker: Annotated[str, Field(max_length=60, description="As named in `awaited`")],
    text: str,
    ctx: ToolContext,
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Write the turn of a seat whose model is "caller"; returns when the next such turn is awaited."""
    call = ToolCall(ctx)
    snapshot = await call.manager.submit(
        debate_id, speaker, text, actor=call.actor, wait=wait_seconds, on_change=call.report
    )
    return build_progress_result(snapshot, working=call.manager.is_working(debate_id))
