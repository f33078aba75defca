from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.debate.commands.requests import ChangesInput
from server.debate.views.state import fork_origin_line
from server.engine.forks import fork
from server.tools.kit.context import DebateId, ToolCall, ToolContext, WaitSeconds
from server.tools.kit.results import ProgressResult, build_progress_result


async def fork_debate(
    debate_id: DebateId,
    at_round: Annotated[int, Field(ge=0, description="Last round to share; 0: the setup only")],
    ctx: ToolContext,
    changes: ChangesInput = ChangesInput(),  # noqa: B008  (the SDK copies defaults)
    wait_seconds: WaitSeconds = 45,
) -> Annotated[CallToolResult, ProgressResult]:
    """Open a new debate that shares the first rounds of another. read_debate(view="family") compares them."""
    call = ToolCall(ctx)
    snapshot = await fork(call.manager, debate_id, at_round, changes, actor=call.actor)
    if changes.run:
        snapshot = await call.manager.follow(snapshot.id, wait=wait_seconds, on_change=call.report)
    working = call.manager.is_working(snapshot.id)
    return build_progress_result(snapshot, working=working, extra=fork_origin_line(snapshot.debate))
