"""A proposition, three speakers, and nobody in the chair: whoever speaks says who speaks next.

    python examples/handoff.py "Machines should decide where people cannot agree on what is right."

A speaker who names nobody, or itself, has not handed over: the next one is drawn, and the record says so.
"""

import sys

from counterpoint_client import call, run, wait_for_verdict
from mcp import Client

PROPOSITION = "Machines should decide where people cannot agree on what is right."
DEBATE = {
    "question": sys.argv[1] if len(sys.argv) > 1 else PROPOSITION,
    "format": "handoff",
    "debaters": [
        {"name": "Proponent", "stance": "agrees with the proposition"},
        {"name": "Opponent", "stance": "disagrees with the proposition"},
        {"name": "Neutral", "stance": "is of two minds about the proposition"},
    ],
    "options": {"limits": {"max_turns": 6}},
    "run": True,
}


async def main(client: Client) -> None:
    debate_id = (await call(client, "start_debate", **DEBATE))["debate_id"]
    found = await wait_for_verdict(client, debate_id)
    events = (await call(client, "read_debate", debate_id=debate_id, view="events"))["data"]["events"]
    for event in events:
        if event["kind"] == "spoke":
            print(f"\n{event['seat']}: {event['text']}")
        if event["kind"] == "handed_off":
            print(f"  -> {event['to']} ({event['because']})")
    print(f"\n{found['outcome']}: {found['answer']['recommendation']}")


if __name__ == "__main__":
    run(main)
