from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.engine.debates import Hall
from server.tools.kit.results import Progress, progress
from server.tools.kit.schema import DebateId, Wait, actor_of, hall_of, reporter


async def submit_turn(
    debate_id: DebateId,
    speaker: Annotated[str, Field(max_length=60, description="As named in `awaited`")],
    text: str,
    ctx: Context[Hall, Any],
    wait_seconds: Wait = 45,
) -> Annotated[CallToolResult, Progress]:
    """Write the turn of a seat whose model is "caller"; returns when the next such turn is awaited."""
    hall = hall_of(ctx)
    case = await hall.submit(
        debate_id, speaker, text, actor=actor_of(ctx), wait=wait_seconds, on_change=reporter(ctx)
    )
    return progress(case, working=hall.is_working(debate_id))
