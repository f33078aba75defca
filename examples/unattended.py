"""A debate that is left to itself, within a budget; steered while it runs, and judged once more in a fork.

    python examples/unattended.py

The budget is hard: what deciding takes is kept back, and when it is spent, what was said is judged. A model
that fails is stood in for. The fork shares the first round and changes the judge, and the family view puts
both verdicts side by side.
"""

from counterpoint_client import call, run, wait_for_verdict
from mcp import Client

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


async def main(client: Client) -> None:
    started = await call(client, "start_debate", **DEBATE)
    debate_id = started["debate_id"]
    print(started["estimate"], "It may take 10 calls.")
    found = await wait_for_verdict(client, debate_id)
    usage = await call(client, "read_debate", debate_id=debate_id, view="usage")
    print(f"{found['status']} after {usage['data']['total']['calls']} calls: {found['reason']}")

    changes = {"judges": {"models": ["scripted?chars=400"]}, "max_rounds": 2, "run": True}
    fork = await call(client, "fork_debate", debate_id=debate_id, at_round=1, changes=changes)
    await wait_for_verdict(client, fork["debate_id"])
    family = await call(client, "read_debate", debate_id=fork["debate_id"], view="family")
    for pair in family["data"]["relatives"]:
        print(pair["summary"])


if __name__ == "__main__":
    run(main)
