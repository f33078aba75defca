"""A proposition, three speakers, and nobody in the chair: whoever speaks says who speaks next.

    python examples/handoff.py "Machines should decide where people cannot agree on what is right."

A speaker who names nobody, or itself, has not handed over: the next one is drawn, and the record says so.
"""

import os
import sys

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main(proposition: str) -> int:
    server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=dict(os.environ))
    debate = {
        "question": proposition,
        "format": "handoff",
        "debaters": [
            {"name": "Proponent", "stance": "agrees with the proposition"},
            {"name": "Opponent", "stance": "disagrees with the proposition"},
            {"name": "Neutral", "stance": "is of two minds about the proposition"},
        ],
        "options": {"handoff": "text", "limits": {"max_turns": 6}},
        "run": True,
    }
    async with Client(server) as client:
        answer = await client.call_tool("start_debate", debate)
        while answer.structured_content and answer.structured_content["status"] == "running":
            debate_id = answer.structured_content["debate_id"]
            answer = await client.call_tool("get_verdict", {"debate_id": debate_id})
        if answer.is_error or not answer.structured_content:
            print(answer.content)
            return 1
        arguments = {"debate_id": answer.structured_content["debate_id"], "view": "events"}
        events = (await client.call_tool("read_debate", arguments)).structured_content or {}
    for event in events["data"]["events"]:
        if event["kind"] == "spoke":
            print(f"\n{event['seat']}: {event['text']}")
        if event["kind"] == "handed_off":
            print(f"  -> {event['to']} ({event['because']})")
    print(f"\n{answer.structured_content['outcome']}: {answer.structured_content['verdict']}")
    return 0


if __name__ == "__main__":
    default_proposition = "Machines should decide where people cannot agree on what is right."
    sys.exit(anyio.run(main, sys.argv[1] if len(sys.argv) > 1 else default_proposition))
