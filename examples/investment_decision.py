"""Should we invest? A bull and a bear argue, and a moderator says when it is settled.

    python examples/investment_decision.py

Roles and prompts in place of stances. After each round the moderator sums up; the debate ends when it
finds the question settled, or after three rounds.
"""

import os
import sys
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

DEBATE = {
    "question": "Should we put $2M into a battery start-up that is valued at $60M before its first sale?",
    "format": "settle",
    "debaters": [
        {
            "name": "Bull",
            "role": "growth investor",
            "system_prompt": "You look for what could go right, and for how much it would be worth.",
        },
        {
            "name": "Bear",
            "role": "credit analyst",
            "system_prompt": "You look for what could go wrong, and for how soon one would know.",
        },
    ],
    "documents": [
        {
            "title": "Term sheet",
            "text": "Cash for 14 months. Two letters of intent, neither binding. A patent is pending.",
        }
    ],
}


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise RuntimeError("\n".join(part.text for part in result.content if part.type == "text"))
    return dict(result.structured_content)


async def main() -> int:
    server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=dict(os.environ))
    async with Client(server) as client:
        try:
            return await hold(client)
        except RuntimeError as error:  # caught in here: outside it would come in a group of exceptions
            print(error, file=sys.stderr)
            return 1


async def hold(client: Client) -> int:
    step = await call(client, "start_debate", **DEBATE)
    debate_id, shown = step["debate_id"], 0
    while step["status"] in ("ready", "running"):
        # A round that takes longer than the wait goes on by itself; asking for it again waits on.
        step = await call(client, "step_round", debate_id=debate_id, round=shown + 1)
        if step["working"] or step["round"] == shown:
            continue
        shown = step["round"]
        print(f"\nROUND {shown}")
        for turn in step["turns"]:
            print(f"\n[{turn['agent']}, {turn['stance']}]\n{turn['text']}")
        print(f"\n{step['moderator']}")
    state = (await call(client, "read_debate", debate_id=debate_id, view="state"))["data"]
    print(f"\nFINAL DECISION\n{state['verdict'] or state['reason']}")
    print(f"\n{state['rounds_of_talk']} rounds, settled: {state['settled']} ({state['reason']})")
    return 0 if state["status"] == "concluded" else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main))
