"""The tools: one a file. Each parses, calls the hall, and returns a typed result."""

from mcp.types import ToolAnnotations

from server.tools.find_debates import find_debates
from server.tools.fork_debate import fork_debate
from server.tools.get_verdict import get_verdict
from server.tools.intervene import intervene
from server.tools.kit.argument_errors import CheckedTool
from server.tools.kit.schema import build_tool
from server.tools.read_debate import read_debate
from server.tools.start_debate import start_debate
from server.tools.step_round import step_round
from server.tools.submit_turn import submit_turn

READ_ANNOTATIONS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITE_ANNOTATIONS = ToolAnnotations(destructive_hint=False)
"""The other hints are what clients assume anyway: it writes, and it talks to the outside world."""


def build_all_tools() -> list[CheckedTool]:
    return [
        build_tool(start_debate, title="Start a debate", annotations=WRITE_ANNOTATIONS),
        build_tool(step_round, title="Run the next round", annotations=WRITE_ANNOTATIONS),
        build_tool(intervene, title="Steer a debate", annotations=WRITE_ANNOTATIONS),
        build_tool(get_verdict, title="Get the verdict", annotations=WRITE_ANNOTATIONS),
        build_tool(submit_turn, title="Write a turn", annotations=WRITE_ANNOTATIONS),
        build_tool(read_debate, title="Read a debate", annotations=READ_ANNOTATIONS),
        build_tool(find_debates, title="Find debates", annotations=READ_ANNOTATIONS),
        build_tool(fork_debate, title="Fork a debate", annotations=WRITE_ANNOTATIONS),
    ]
