"""The tools that only read. Their docstrings and arguments are what clients see."""

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.debate.facts.errors import InvalidRequestError
from server.debate.views.catalog import VIEWS, find_view
from server.engine import queries
from server.tools import results
from server.tools.call import DebateId, ToolCall, ToolContext

PAGE_LENGTH = 60_000
"""Characters of one page: clients refuse results above about 25,000 tokens."""


async def read_debate(
    debate_id: DebateId,
    ctx: ToolContext,
    view: Annotated[str, Field(json_schema_extra={"enum": list(VIEWS)})] = "transcript",
    since_round: Annotated[int, Field(ge=0, description="For transcript and events")] = 0,
    round: Annotated[int, Field(ge=0, description="For round; 0: the latest")] = 0,  # noqa: A002  (a contract)
    offset: Annotated[int, Field(ge=0, description="`next_offset` of the page before")] = 0,
) -> Annotated[CallToolResult, results.ViewResult]:
    """Read a debate: its transcript, or another view of it."""
    chosen = find_view(view)
    source = await queries.load_view_source(
        ToolCall(ctx).manager, debate_id, chosen, since_round=since_round, round_number=round
    )
    whole = chosen.render_text(source)
    if offset >= max(len(whole), 1):
        raise InvalidRequestError(
            f"offset={offset} is beyond the end: there are {len(whole):,} characters. Begin at 0."
        )
    text, end = whole[offset : offset + PAGE_LENGTH], offset + PAGE_LENGTH
    if end < len(whole):
        text += f"\n\n[{end:,} of {len(whole):,} characters so far. Go on with offset={end}.]"
    else:
        end = 0
    data = {} if offset or end else chosen.build(source)
    result = results.ViewResult(debate_id=source.id, view=view, data=data, next_offset=end)
    return results.build_tool_result(text, result, source)


async def find_debates(
    ctx: ToolContext,
    query: Annotated[str, Field(max_length=1000, description="Words of the question or the debate")] = "",
    status: Annotated[
        str, Field(description="Empty: any", json_schema_extra={"enum": ["", *queries.STATUSES]})
    ] = "",
    cursor: Annotated[str, Field(max_length=40, description="`cursor` of the page before")] = "",
) -> Annotated[CallToolResult, results.DebateListResult]:
    """Search and list debates, newest first."""
    if status and status not in queries.STATUSES:
        statuses = ", ".join(queries.STATUSES)
        raise InvalidRequestError(f"There is no status {status[:40]!r}. Statuses: {statuses}.")
    rows, next_cursor = await queries.list_debates(ToolCall(ctx).manager, query, status, cursor)
    result = results.DebateListResult(debates=rows, cursor=next_cursor)
    return results.build_tool_result(results.format_debate_list(rows, next_cursor), result)
