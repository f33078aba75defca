"""What tools take from a request, and arguments that they share."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import Field

from server.engine.debates import DebateManager
from server.engine.store import DebateSnapshot

DebateId = Annotated[str, Field(min_length=1, max_length=64)]
WaitSeconds = Annotated[int, Field(ge=0, le=600, description="Then call again to wait on")]
ToolContext = Context[DebateManager, Any]

PROGRESS_STEP = 0.01
"""By which a report without a new answer grows: MCP requires that progress grows with every report."""


class ToolCall:
    """The debate manager, the caller's name and progress reports, for one call of a tool."""

    def __init__(self, ctx: ToolContext) -> None:
        self.manager: DebateManager = ctx.request_context.lifespan_context
        self._ctx = ctx
        self._progress = -PROGRESS_STEP

    @property
    def actor(self) -> str:
        """The name that the client gives itself, for the journal."""
        params = self._ctx.session.client_params
        name = params.client_info.name if params else ""
        return f"client {name[:60]}".strip()

    async def report(self, snapshot: DebateSnapshot) -> None:
        """Report progress to the client, if it asked for reports."""
        debate = snapshot.debate
        answers = len(debate.usage) + sum(failure.usage is None for failure in debate.failures)
        self._progress = max(float(answers), self._progress + PROGRESS_STEP)
        phase = debate.phase.name if debate.phase else "opening"
        message = f"round {debate.round} ({phase}): {answers} answers"
        await self._ctx.report_progress(self._progress, None, message)
