"""What tools take from a request, and arguments that they share."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.engine.debates import DebateManager
from server.engine.store import DebateSnapshot
from server.tools.results import build_progress_result

DebateId = Annotated[str, Field(min_length=1, max_length=64)]
WaitSeconds = Annotated[int, Field(ge=0, le=600, description="Then call again to wait on")]
ToolContext = Context[DebateManager, Any]

PROGRESS_STEP = 0.01
"""By which a report without a new answer grows: MCP requires that progress grows with every report."""


class ToolCall:
    """The debate manager, the caller's name for the journal, and progress reports, for one call of a tool."""

    def __init__(self, ctx: ToolContext) -> None:
        params = ctx.session.client_params
        self.manager: DebateManager = ctx.request_context.lifespan_context
        self.actor = f"client {params.client_info.name[:60] if params else ''}".strip()
        self._ctx = ctx
        self._progress = -PROGRESS_STEP

    async def report(self, snapshot: DebateSnapshot) -> None:
        """Report progress to the client, if it asked for reports."""
        debate = snapshot.debate
        answers = len(debate.usage) + sum(failure.usage is None for failure in debate.failures)
        self._progress = max(float(answers), self._progress + PROGRESS_STEP)
        phase = debate.phase.name if debate.phase else "opening"
        message = f"round {debate.round} ({phase}): {answers} answers"
        await self._ctx.report_progress(self._progress, None, message)

    def build_result(
        self, snapshot: DebateSnapshot, *, round_number: int = 0, extra: str = ""
    ) -> CallToolResult:
        """The state of a debate, with the turns of a round: the latest one for 0."""
        working = self.manager.is_working(snapshot.id)
        return build_progress_result(snapshot, working=working, round_number=round_number, extra=extra)
