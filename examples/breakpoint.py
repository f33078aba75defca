"""A debate that stops before its verdict, so that somebody can read it and add what was overlooked.

    python examples/breakpoint.py

It runs by itself up to the breakpoint. Nobody who decides has been asked by then: a note is still read by all, and more
rounds are possible. When it is resumed, it goes on to the verdict by itself.
"""

import sys
from typing import Any

from counterpoint_client import call, run
from mcp import Client

DEBATE = {
    "question": "Should the depot switch to electric vans?",
    "debaters": [{"name": "Ada", "stance": "switch now"}, {"name": "Ben", "stance": "keep the diesel vans"}],
    "run": True,
    "options": {"pause_when": ["verdict", "failure"]},
}


async def wait_until_it_stops(client: Client, debate_id: str) -> dict[str, Any]:
    while True:
        found = await call(client, "get_verdict", debate_id=debate_id)
        if found.get("failures"):
            sys.exit(found["reason"])
        if found["status"] != "running":
            return found


async def main(client: Client) -> None:
    debate_id = (await call(client, "start_debate", **DEBATE))["debate_id"]
    found = await wait_until_it_stops(client, debate_id)
    print(f"{found['status']}: {found['reason']}")

    note = "The subsidy for electric vans ends in March. Nobody has mentioned it."
    await call(client, "intervene", debate_id=debate_id, action="inject", text=note)
    await call(client, "intervene", debate_id=debate_id, action="extend", rounds=1)
    await call(client, "intervene", debate_id=debate_id, action="resume")
    found = await wait_until_it_stops(client, debate_id)
    print(f"{found['status']} again, with a round on the note: {found['reason']}")

    await call(client, "intervene", debate_id=debate_id, action="resume")
    found = await wait_until_it_stops(client, debate_id)
    print(f"{found['status']}, {found['outcome']}: {found['answer']['recommendation']}")


if __name__ == "__main__":
    run(main)
