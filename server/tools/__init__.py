"""The tools: one a file. Each parses, calls the hall, and returns a typed result."""

from mcp.types import ToolAnnotations

from server.tools.find_debates import find_debates
from server.tools.fork_debate import fork_debate
from server.tools.get_verdict import get_verdict
from server.tools.intervene import intervene
from server.tools.kit.argument_errors import CheckedTool
from server.tools.kit.schema import tool
from server.tools.read_debate import read_debate
from server.tools.start_debate import start_debate
from server.tools.step_round import step_round
from server.tools.submit_turn import submit_turn

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
SPENDS = ToolAnnotations(destructive_hint=False)
"""The other hints are what clients assume anyway: it writes, and it talks to the outside world."""


def all_tools() -> list[CheckedTool]:
    return [
        tool(start_debate, title="Start a debate", annotations=SPENDS),
        tool(step_round, title="Run the next round", annotations=SPENDS),
        tool(intervene, title="Steer a debate", annotations=SPENDS),
        tool(get_verdict, title="Get the verdict", annotations=SPENDS),
        tool(submit_turn, title="Write a turn", annotations=SPENDS),
        tool(read_debate, title="Read a debate", annotations=READS),
        tool(find_debates, title="Find debates", annotations=READS),
        tool(fork_debate, title="Fork a debate", annotations=SPENDS),
    ]
