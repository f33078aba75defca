from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.debate.interventions import ACTIONS
from server.hall import Hall
from server.tools.results import Progress, progress
from server.tools.toolbox import DebateId, actor_of, hall_of


async def intervene(
    debate_id: DebateId,
    action: Annotated[str, Field(json_schema_extra={"enum": list(ACTIONS)})],
    ctx: Context[Hall, Any],
    text: Annotated[str, Field(description="inject: the note", examples=["Consider a rollback."])] = "",
    to: Annotated[str, Field(description="inject: one debater's name; empty for all")] = "",
    reason: Annotated[str, Field(max_length=1000, description="Kept in the record")] = "",
) -> Annotated[CallToolResult, Progress]:
    """Steer a debate: pause, resume, inject a note, or conclude (the judges decide now)."""
    hall = hall_of(ctx)
    actor = actor_of(ctx)
    case, effect = await hall.intervene(debate_id, action, text=text, to=to, reason=reason, actor=actor)
    return progress(case, working=hall.is_working(debate_id), extra=effect)
