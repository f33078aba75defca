"""`watch_debate`: what is new of a debate, for the page that an MCP host shows."""

import json
from datetime import timedelta
from typing import Annotated, Any

from mcp import types
from pydantic import BeforeValidator, Field

from server.debate.facts.text import collapse_whitespace
from server.engine.database.snapshots import format_time
from server.engine.debates import DebateManager
from server.mcp.app import WATCH, build_watch_tool
from server.mcp.late_manager import RequestContext
from server.redaction import MODEL_FIELDS, redact_model
from server.tools.debates import READ, take_address
from server.tools.results import DebateResult, describe_debate
from server.tools.tool import Tool, ToolArguments, ToolCall
from server.web.sources import load_debate_data

BEGUN_SECONDS = 60.0
MAX_BEGUN = 20  # of the newest debates that are looked through
MAX_PAGE = 400_000
"""Characters of entries in one answer; the page asks for the rest at once."""


class WatchDebate(ToolArguments):
    """What is new of a debate, for the page that shows it."""

    debate_id: Annotated[str, Field(max_length=64), BeforeValidator(take_address)] = ""
    question: str = ""  # in place of an id that is not known yet: of the call that is under way
    since_seq: Annotated[int, Field(ge=0)] = 0

    async def execute(self, call: ToolCall) -> types.CallToolResult:
        """It only looks: nothing is run, so that a page that stays open spends nothing."""
        if not self.debate_id:
            return build_result(await find_begun(call.manager, self.question), "")
        snapshot = await call.manager.load(self.debate_id)
        about = await describe_debate(call.manager, snapshot, WATCH)
        found: dict[str, Any] = {"debates": [], "status": about["status"], "more": False}
        version = snapshot.debate.version
        if self.since_seq != version:
            since_seq = self.since_seq if self.since_seq < version else 0  # it shows another record
            found |= await load_debate_data(
                call.manager, self.debate_id, since_seq=since_seq, with_family=not since_seq
            )
            found["more"] = cut(found["debates"][0]["entries"])
        return build_result(found, f"Debate {self.debate_id}: {about['status']}, {version} entries.")


def build_result(found: dict[str, Any], text: str) -> types.CallToolResult:
    content = types.TextContent(type="text", text=text or "The debate of a call under way, if it is there.")
    return types.CallToolResult(content=[content], structured_content=found)


async def find_begun(manager: DebateManager, question: str) -> dict[str, Any]:
    """{"debate_id"} of the newest debate on a question that was opened just now; {} for none.

    A page is shown beside a call that has no result yet, and is told only what was asked.
    """
    since, asked = (
        format_time(manager.clock() - timedelta(seconds=BEGUN_SECONDS)),
        collapse_whitespace(question),
    )
    listed = await manager.store.find(limit=MAX_BEGUN)
    found = [
        one for one in listed if one.opened_at >= since and collapse_whitespace(one.title) == asked != ""
    ]
    return {"debate_id": found[0].stream} if found else {}


def cut(entries: list[Any]) -> bool:
    """Leave as many entries as fit in one answer, one at least. Returns whether some were left out."""
    size = 0
    for number, entry in enumerate(entries):
        size += len(json.dumps(entry))
        if number and size > MAX_PAGE:
            del entries[number:]
            return True
    return False


TOOL = Tool("Watch a debate", WatchDebate, DebateResult, READ)


async def watch_debate(
    manager: DebateManager, context: RequestContext, params: types.CallToolRequestParams
) -> types.CallToolResult:
    output = await TOOL.run(ToolCall(manager, context, params), build_watch_tool())
    assert isinstance(output, types.CallToolResult)
    return redact_model(output, MODEL_FIELDS)
