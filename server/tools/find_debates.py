from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.debate.facts.errors import InvalidRequestError
from server.engine.queries import STATUSES, list_debates
from server.tools.kit.context import ToolCall, ToolContext
from server.tools.kit.results import DebateListResult, build_tool_result
from server.tools.kit.texts import format_debate_list


async def find_debates(
    ctx: ToolContext,
    query: Annotated[str, Field(max_length=1000, description="Words of the question or the debate")] = "",
    status: Annotated[str, Field(description="Empty: any", json_schema_extra={"enum": ["", *STATUSES]})] = "",
    cursor: Annotated[str, Field(max_length=40, description="`cursor` of the page before")] = "",
) -> Annotated[CallToolResult, DebateListResult]:
    """Search and list debates, newest first."""
    if status and status not in STATUSES:
        raise InvalidRequestError(f"There is no status {status[:40]!r}. Statuses: {', '.join(STATUSES)}.")
    rows, next_cursor = await list_debates(ToolCall(ctx).manager, query, status, cursor)
    result = DebateListResult(debates=rows, cursor=next_cursor)
    return build_tool_result(format_debate_list(rows, next_cursor), result)
