from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from server.debate.facts.errors import Refused
from server.engine.debates import Hall
from server.engine.forks import family
from server.engine.queries import VIEWS, as_json, as_text, read
from server.tools.kit.results import View, result
from server.tools.kit.schema import DebateId, hall_of

MOST_TEXT = 60_000
"""Characters of one answer: clients refuse results above about 25,000 tokens."""

FAMILY = "family"
"""The one view that is about other debates, too."""


async def read_debate(
    debate_id: DebateId,
    ctx: Context[Hall, Any],
    view: Annotated[str, Field(json_schema_extra={"enum": [*VIEWS, FAMILY]})] = "transcript",
    since_round: Annotated[int, Field(ge=0)] = 0,
    offset: Annotated[int, Field(ge=0, description="To go on at: next_offset of the answer before")] = 0,
) -> Annotated[CallToolResult, View]:
    """Read a debate whole, or one side of it."""
    if view not in (*VIEWS, FAMILY):
        raise Refused(f"There is no view {view[:40]!r}. Views: {', '.join((*VIEWS, FAMILY))}.")
    case = await hall_of(ctx).case(debate_id)
    related = (await family(hall_of(ctx), case)).as_data() if view == FAMILY else {}
    whole = as_json(related) if view == FAMILY else as_text(case, view, since_round)
    if offset >= max(len(whole), 1):
        raise Refused(f"offset={offset} is beyond the end: there are {len(whole):,} characters. Begin at 0.")
    text, end = whole[offset : offset + MOST_TEXT], offset + MOST_TEXT
    if end >= len(whole):
        end = 0
    else:
        text += f"\n\n[{end:,} of {len(whole):,} characters so far. Go on with offset={end}.]"
    data = {} if offset or end else related or read(case, view, since_round)
    return result(text, View(debate_id=case.id, view=view, data=data, next_offset=end), case)
