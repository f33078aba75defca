from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.debate.facts.errors import InvalidRequestError
from server.debate.views.catalog import VIEWS, find_view
from server.engine.queries import load_view_source
from server.tools.kit.context import DebateId, ToolCall, ToolContext
from server.tools.kit.results import ViewResult, build_tool_result

PAGE_LENGTH = 60_000
"""Characters of one page: clients refuse results above about 25,000 tokens."""


async def read_debate(
    debate_id: DebateId,
    ctx: ToolContext,
    view: Annotated[str, Field(json_schema_extra={"enum": list(VIEWS)})] = "transcript",
    since_round: Annotated[int, Field(ge=0, description="For transcript and events")] = 0,
    round: Annotated[  # noqa: A002  (named as in the other tools)
        int, Field(ge=0, description="For round; 0: the latest")
    ] = 0,
    offset: Annotated[int, Field(ge=0, description="`next_offset` of the page before")] = 0,
) -> Annotated[CallToolResult, ViewResult]:
    """Read a debate: its transcript, or another view of it."""
    chosen = find_view(view)
    source = await load_view_source(
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
    result = ViewResult(debate_id=source.id, view=view, data=data, next_offset=end)
    return build_tool_result(text, result, source)
