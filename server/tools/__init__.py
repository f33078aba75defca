"""The tools: each parses its arguments, calls the manager and returns a typed result."""

from mcp.types import ToolAnnotations

from server.tools import debates
from server.tools.tool import Tool

READ = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
WRITE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)
REPEATABLE = WRITE.model_copy(update={"idempotent_hint": True})
"""For tools that write, and where a repeated call adds nothing."""


def build_all_tools() -> list[Tool]:
    return [
        Tool.from_function(debates.start_debate, "Start a debate", WRITE),
        Tool.from_function(debates.step_round, "Run the next round", WRITE),
        Tool.from_function(debates.intervene, "Steer a debate", WRITE),
        Tool.from_function(debates.get_verdict, "Get the verdict", REPEATABLE),
        Tool.from_function(debates.submit_turn, "Write a turn", WRITE),
        Tool.from_function(debates.read_debate, "Read a debate", READ),
        Tool.from_function(debates.find_debates, "Find debates", READ),
        Tool.from_function(debates.fork_debate, "Fork a debate", WRITE),
    ]
