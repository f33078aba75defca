from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from server.debate.facts.errors import InvalidRequestError
from server.engine.forks import load_debate_family
from server.engine.queries import VIEWS, as_json, build_view, render_view
from server.tools.kit.context import DebateId, ToolContext, get_manager
from server.tools.kit.results import ViewResult, build_tool_result

MAX_TEXT_LENGTH = 60_000
"""Characters of one answer: clients refuse results above about 25,000 tokens."""

FAMILY_VIEW = "family"
"""The one view that is about other debates, too."""


async def read_debate(
    debate_id: DebateId,
    ctx: ToolContext,
    view: Annotated[str, Field(json_schema_extra={"enum": [*VIEWS, FAMILY_VIEW]})] = "transcript",
    since_round: Annotated[int, Field(ge=0)] = 0,
    offset: Annotated[int, Field(ge=0, description="To go on at: next_offset of the answer before")] = 0,
) -> Annotated[CallToolResult, ViewResult]:
    """Read a debate whole, or one side of it."""
    if view not in (*VIEWS, FAMILY_VIEW):
        raise InvalidRequestError(
            f"There is no view {view[:40]!r}. Views: {', '.join((*VIEWS, FAMILY_VIEW))}."
        )
    snapshot = await get_manager(ctx).load(debate_id)
    related = (await load_debate_family(get_manager(ctx), snapshot)).as_data() if view == FAMILY_VIEW else {}
    whole = as_json(related) if view == FAMILY_VIEW else render_view(snapshot, view, since_round)
    if offset >= max(len(whole), 1):
        raise InvalidRequestError(
            f"offset={offset} is beyond the end: there are {len(whole):,} characters. Begin at 0."
        )
    text, end = whole[offset : offset + MAX_TEXT_LENGTH], offset + MAX_TEXT_LENGTH
    if end >= len(whole):
        end = 0
    else:
        text += f"\n\n[{end:,} of {len(whole):,} characters so far. Go on with offset={end}.]"
    data = {} if offset or end else related or build_view(snapshot, view, since_round)
    return build_tool_result(
        text, ViewResult(debate_id=snapshot.id, view=view, data=data, next_offset=end), snapshot
    )
