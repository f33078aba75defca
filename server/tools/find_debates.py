from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.debate.facts.errors import Refused
from server.engine.debates import Hall
from server.engine.queries import STATUSES, page
from server.tools.kit.results import Page, listing, result
from server.tools.kit.schema import hall_of


async def find_debates(
    ctx: Context[Hall, Any],
    query: Annotated[str, Field(max_length=1000, description="Words that were asked or said")] = "",
    status: Annotated[str, Field(json_schema_extra={"enum": ["", *STATUSES]})] = "",
    cursor: Annotated[str, Field(max_length=40, description="Of the page before")] = "",
) -> Annotated[CallToolResult, Page]:
    """Search and list debates, newest first."""
    if status and status not in STATUSES:
        raise Refused(f"There is no status {status[:40]!r}. Statuses: {', '.join(STATUSES)}.")
    rows, following = await page(hall_of(ctx).journal, query, status, cursor)
    return result(listing(rows, following), Page(debates=rows, cursor=following))
