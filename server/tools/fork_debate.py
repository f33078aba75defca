from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.debate.commands.requests import ChangesAsked
from server.debate.views.state import provenance
from server.engine.debates import Hall
from server.engine.forks import fork
from server.tools.kit.results import Progress, progress
from server.tools.kit.schema import DebateId, Wait, actor_of, hall_of, reporter


async def fork_debate(
    debate_id: DebateId,
    at_round: Annotated[int, Field(ge=0, description="The last round to share; 0: the set-up only")],
    ctx: Context[Hall, Any],
    changes: ChangesAsked = ChangesAsked(),  # noqa: B008  (the SDK copies defaults)
    wait_seconds: Wait = 45,
) -> Annotated[CallToolResult, Progress]:
    """Open a new debate with the same past and another future; read_debate(view="family") compares them."""
    hall = hall_of(ctx)
    case = await fork(hall, debate_id, at_round, changes, actor=actor_of(ctx))
    if changes.run:
        case = await hall.follow(case.id, wait=wait_seconds, on_change=reporter(ctx))
    return progress(case, working=hall.is_working(case.id), extra=provenance(case.debate))
