"""A debate that is left to itself, within a budget; steered while it runs, and judged once more in a fork.

    python examples/unattended.py

The budget is hard: what deciding takes is kept back, and when it is spent, what was said is judged. A model
that fails is stood in for. The fork shares the first round and changes the judge, and the family view puts
both verdicts side by side.
"""

import os
import sys
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

DEBATE = {
    "question": "Should the depot switch to electric vans?",
    "format": "verdict",
    "max_rounds": 6,
    "run": True,
    "wait_seconds": 0,
    "options": {
        "fallback_models": ["scripted"],
        "limits": {"max_calls": 10, "max_seconds": 600, "round_timeout": 60, "on_budget": "conclude"},
    },
}


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise RuntimeError(result.content)
    return dict(result.structured_content)


async def wait_for_verdict(client: Client, debate_id: str) -> dict[str, Any]:
    """Wait for the verdict, a call at a time; the debate goes on whether anybody waits or not."""
    while True:
        found = await call(client, "get_verdict", debate_id=debate_id)
        if found["status"] != "running":
            return found


async def main() -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=dict(os.environ))
    async with Client(server) as client:
        started = await call(client, "start_debate", **DEBATE)
        debate_id = started["debate_id"]
        print(started["estimate"], "It may take 10 calls.")
        found = await wait_for_verdict(client, debate_id)
        usage = await call(client, "read_debate", debate_id=debate_id, view="usage")
        print(f"{found['status']} after {usage['data']['total']['calls']} calls: {found['reason']}")

        fork = await call(
            client,
            "fork_debate",
            debate_id=debate_id,
            at_round=1,
            changes={"judges": {"models": ["scripted?chars=400"]}, "max_rounds": 2, "run": True},
        )
        await wait_for_verdict(client, fork["debate_id"])
        family = await call(client, "read_debate", debate_id=fork["debate_id"], view="family")
        for pair in family["data"]["relatives"]:
            print(pair["summary"])


if __name__ == "__main__":
    anyio.run(main)
