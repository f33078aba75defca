"""Should we invest? A bull and a bear argue, and a moderator says when it is settled.

    python examples/investment_decision.py

Roles and prompts in place of stances. After each round the moderator sums up; the debate ends when it
finds the question settled, or after three rounds.
"""

from counterpoint_client import call, run, wait_for_verdict
from mcp import Client

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


async def main(client: Client) -> None:
    step = await call(client, "start_debate", **DEBATE)
    debate_id, shown = step["debate_id"], 0
    while step["status"] in ("ready", "running"):
        # A round that takes longer than the wait goes on by itself; asking for it again waits on.
        step = await call(client, "step_round", debate_id=debate_id, round=shown + 1)
        if step["working"] or step["round"] == shown:
            continue
        shown = step["round"]
        print(f"\nROUND {shown}")
        said = await call(client, "read_debate", debate_id=debate_id, view="round", round=shown)
        for turn in said["data"]["turns"]:
            print(f"\n[{turn['agent']}, {turn['stance']}]\n{turn['text']}")
        for closing in said["data"]["closings"]:
            status = "SETTLED" if closing["settled"] else "CONTINUE"
            print(f"\nModerator's summary\n{closing['summary']}\n{status}\n{closing['decision']}")
    await wait_for_verdict(client, debate_id)
    state = (await call(client, "read_debate", debate_id=debate_id, view="state"))["data"]
    print(f"\nFINAL DECISION\n{state['verdict'] or state['reason']}")
    print(f"\n{state['rounds_of_talk']} rounds, settled: {state['settled']} ({state['reason']})")


if __name__ == "__main__":
    run(main)
