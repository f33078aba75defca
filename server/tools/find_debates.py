from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.debate.facts.errors import InvalidRequestError
from server.engine.debates import DebateManager
from server.engine.queries import STATUSES, list_debates
from server.tools.kit.results import DebateListResult, build_tool_result, format_debate_list
from server.tools.kit.schema import get_manager


async def find_debates(
    ctx: Context[DebateManager, Any],
    query: Annotated[str, Field(max_length=1000, description="Words that were asked or said")] = "",
    status: Annotated[str, Field(json_schema_extra={"enum": ["", *STATUSES]})] = "",
    cursor: Annotated[str, Field(max_length=40, description="Of the page before")] = "",
) -> Annotated[CallToolResult, DebateListResult]:
    """Search and list debates, newest first."""
    if status and status not in STATUSES:
        raise InvalidRequestError(f"There is no status {status[:40]!r}. Statuses: {', '.join(STATUSES)}.")
    rows, following = await list_debates(get_manager(ctx).journal, query, status, cursor)
    return build_tool_result(
        format_debate_list(rows, following), DebateListResult(debates=rows, cursor=following)
    )
