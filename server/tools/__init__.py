"""The tools: each parses its arguments, calls the manager and returns a typed result."""

from mcp.types import ToolAnnotations

from server.tools import debates
from server.tools.tool import CheckedTool, build_tool

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
        build_tool(debates.start_debate, title="Start a debate", annotations=WRITE),
        build_tool(debates.step_round, title="Run the next round", annotations=WRITE),
        build_tool(debates.intervene, title="Steer a debate", annotations=WRITE),
        build_tool(debates.get_verdict, title="Get the verdict", annotations=REPEATABLE),
        build_tool(debates.submit_turn, title="Write a turn", annotations=WRITE),
        build_tool(debates.read_debate, title="Read a debate", annotations=READ),
        build_tool(debates.find_debates, title="Find debates", annotations=READ),
        build_tool(debates.fork_debate, title="Fork a debate", annotations=WRITE),
    ]
