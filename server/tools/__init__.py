"""The tools, one in each file: each parses its arguments, calls the manager and returns a typed result."""

from mcp.types import ToolAnnotations

from server.tools.find_debates import find_debates
from server.tools.fork_debate import fork_debate
from server.tools.get_verdict import get_verdict
from server.tools.intervene import intervene
from server.tools.kit.tool import CheckedTool, build_tool
from server.tools.read_debate import read_debate
from server.tools.start_debate import start_debate
from server.tools.step_round import step_round
from server.tools.submit_turn import submit_turn

READ = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
WRITE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)
REPEATABLE = WRITE.model_copy(update={"idempotent_hint": True})
"""For tools that write, and where a repeated call adds nothing."""


def build_all_tools() -> list[CheckedTool]:
    return [
        build_tool(start_debate, title="Start a debate", annotations=WRITE),
        build_tool(step_round, title="Run the next round", annotations=WRITE),
        build_tool(intervene, title="Steer a debate", annotations=WRITE),
        build_tool(get_verdict, title="Get the verdict", annotations=REPEATABLE),
        build_tool(submit_turn, title="Write a turn", annotations=WRITE),
        build_tool(read_debate, title="Read a debate", annotations=READ),
        build_tool(find_debates, title="Find debates", annotations=READ),
        build_tool(fork_debate, title="Fork a debate", annotations=WRITE),
    ]
