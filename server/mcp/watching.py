"""`watch_debate`: what is new in a debate, for the page that an MCP host shows."""

import json
from datetime import timedelta
from typing import Annotated, Any

from mcp import types
from pydantic import BeforeValidator, Field

from server.debate.facts.text import collapse_whitespace
from server.engine.debates import DebateManager
from server.mcp.app import WATCH, build_watch_tool
from server.mcp.late_manager import RequestContext
from server.redaction import MODEL_FIELDS, redact_model
from server.tools.debates import READ, parse_debate_id
from server.tools.results import DebateResult, describe_debate
from server.tools.tool import Tool, ToolArguments, ToolCall
from server.web.record import load_debate_data
from storage.streams import format_time

BEGUN_SECONDS = 60.0
MAX_BEGUN = 20  # newest debates that are looked through
MAX_PAGE = 400_000
"""Characters of entries in one answer. The page asks for the rest at once."""


class WatchDebate(ToolArguments):
    """What is new in a debate, for the page that shows it."""

    debate_id: Annotated[str, Field(max_length=64), BeforeValidator(parse_debate_id)] = ""
    question: str = ""  # the question of the call under way, while the id is not known yet
    since_seq: Annotated[int, Field(ge=0)] = 0

    async def execute(self, call: ToolCall) -> types.CallToolResult:
        """Read only: nothing is run, so that a page that stays open spends nothing."""
        if not self.debate_id:
            return build_result(await find_new_debate(call.manager, self.question), "")
        snapshot = await call.manager.load(self.debate_id)
        about = await describe_debate(call.manager, snapshot, WATCH)
        data: dict[str, Any] = {"debates": [], "status": about["status"], "more": False}
        version = snapshot.debate.version
        if self.since_seq != version:
            since_seq = self.since_seq if self.since_seq < version else 0  # the page shows another record
            data |= await load_debate_data(
                call.manager, self.debate_id, since_seq=since_seq, with_family=not since_seq
            )
            data["more"] = cut_to_page(data["debates"][0]["entries"])
        return build_result(data, f"Debate {self.debate_id}: {about['status']}, {version} entries.")


def build_result(data: dict[str, Any], text: str) -> types.CallToolResult:
    content = types.TextContent(type="text", text=text or "The debate of a call under way, if it is there.")
    return types.CallToolResult(content=[content], structured_content=data)


async def find_new_debate(manager: DebateManager, question: str) -> dict[str, Any]:
    """{"debate_id"} of the newest debate on a question that was opened just now; {} for none.

    A page beside a call without a result yet knows only the arguments of the call.
    """
    start = format_time(manager.clock() - timedelta(seconds=BEGUN_SECONDS))
    title = collapse_whitespace(question)
    newest = await manager.store.find(limit=MAX_BEGUN)
    matches = [
        row for row in newest if row.opened_at >= start and collapse_whitespace(row.title) == title != ""
    ]
    return {"debate_id": matches[0].stream} if matches else {}


def cut_to_page(entries: list[Any]) -> bool:
    """Keep as many entries as fit in one answer, but at least one. Returns whether some were removed."""
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
