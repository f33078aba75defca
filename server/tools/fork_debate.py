from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.debate.commands.requests import ChangesInput
from server.debate.views.state import fork_origin_line
from server.engine.debates import DebateManager
from server.engine.forks import fork
from server.tools.kit.results import ProgressResult, build_progress_result
from server.tools.kit.schema import DebateId, WaitSeconds, build_progress_reporter, get_actor, get_manager


async def fork_debate(
    debate_id: DebateId,
    at_round: Annotated[int, Field(ge=0, description="The last round to share; 0: the set-up only")],
    ctx: Context[DebateManager, Any],
    changes: ChangesInput = ChangesInput(),  # noqa: B008  (the SDK copies defaults)
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Open a new debate with the same past and another future; read_debate(view="family") compares them."""
    hall = get_manager(ctx)
    case = await fork(hall, debate_id, at_round, changes, actor=get_actor(ctx))
    if changes.run:
        case = await hall.follow(case.id, wait=wait_seconds, on_change=build_progress_reporter(ctx))
    return build_progress_result(case, working=hall.is_working(case.id), extra=fork_origin_line(case.debate))
