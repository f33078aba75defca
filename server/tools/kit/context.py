"""What tools take from a request: the debate manager, the caller's name, progress; and arguments they share."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import Field

from server.engine.debates import DebateManager
from server.engine.driver import OnChange
from server.engine.store import DebateSnapshot

DebateId = Annotated[str, Field(min_length=1, max_length=64)]
WaitSeconds = Annotated[int, Field(ge=0, le=600, description="Then call again to wait on")]
ToolContext = Context[DebateManager, Any]


def get_manager(ctx: ToolContext) -> DebateManager:
    return ctx.request_context.lifespan_context


def get_actor(ctx: ToolContext) -> str:
    """The name that the client gives itself, for the journal."""
    params = ctx.session.client_params
    name = params.client_info.name if params else ""
    return f"client {name[:60]}".strip()


def build_progress_reporter(ctx: ToolContext) -> OnChange:
    """Reports progress to a client that asked for it. The number grows with every report, as MCP requires."""
    last = -0.01

    async def report(snapshot: DebateSnapshot) -> None:
        nonlocal last
        debate = snapshot.debate
        answers = len(debate.usage) + sum(failure.usage is None for failure in debate.failures)
        last = max(float(answers), last + 0.01)
        phase = debate.phase.name if debate.phase else "opening"
        await ctx.report_progress(last, None, f"round {debate.round} ({phase}): {answers} answers")

    return report
