"""The tools: each parses its arguments, calls the manager and returns a typed result."""

from collections.abc import Sequence
from functools import cache

from mcp.types import ToolAnnotations

from server.tools import debates, results
from server.tools.tool import Tool, build_tool

READ = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
WRITE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)
REPEATABLE = WRITE.model_copy(update={"idempotent_hint": True})
"""For tools that write, and where a repeated call adds nothing."""


@cache
def build_all_tools() -> Sequence[Tool]:
    """All tools. They are stateless, and building them is slow: all servers of a process share them."""
    progress = results.ProgressResult
    return (
        build_tool("start_debate", "Start a debate", debates.StartDebate, progress, WRITE),
        build_tool("step_round", "Run the next round", debates.StepRound, progress, WRITE),
        build_tool("intervene", "Steer a debate", debates.Intervene, progress, WRITE),
        build_tool("get_verdict", "Get the verdict", debates.GetVerdict, results.VerdictResult, REPEATABLE),
        build_tool("submit_turn", "Write a turn", debates.SubmitTurn, progress, WRITE),
        build_tool("read_debate", "Read a debate", debates.ReadDebate, results.ViewResult, READ),
        build_tool("find_debates", "Find debates", debates.FindDebates, results.DebateListResult, READ),
        build_tool("fork_debate", "Fork a debate", debates.ForkDebate, progress, WRITE),
    )
