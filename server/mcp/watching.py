"""`watch_debate`: what is new of a debate, for the page that an MCP host shows."""

import json
from typing import Annotated, Any

from mcp import types
from pydantic import Field

from server.engine.debates import DebateManager
from server.mcp.app import WATCH, build_watch_tool
from server.mcp.late_manager import RequestContext
from server.redaction import MODEL_FIELDS, redact_model
from server.tools.debates import READ, DebateId
from server.tools.results import DebateResult, describe_debate
from server.tools.tool import Tool, ToolArguments, ToolCall
from server.web.sources import load_debate_data

MAX_PAGE = 400_000
"""Characters of entries in one answer; the page asks for the rest at once."""


class WatchDebate(ToolArguments):
    """What is new of a debate, for the page that shows it."""

    debate_id: DebateId
    since_seq: Annotated[int, Field(ge=0)] = 0

    async def execute(self, call: ToolCall) -> types.CallToolResult:
        """It only looks: nothing is run, so that a page that stays open spends nothing."""
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
        text = f"Debate {self.debate_id}: {about['status']}, {version} entries."
        content = types.TextContent(type="text", text=text)
        return types.CallToolResult(content=[content], structured_content=found)


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
