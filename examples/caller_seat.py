"""A debate in which this script is one of the debaters, and a model the other.

    python examples/caller_seat.py

A seat whose model is `caller` speaks through `submit_turn`: the debate waits for it, and says what its
writer has to know. An assistant, or a person behind a form, would take the seat in the same way.
"""

from counterpoint_client import call, run, wait_for_verdict
from mcp import Client

DEBATE = {
    "question": "Should the town close its main street to cars?",
    "format": "verdict",
    "debaters": [
        {"name": "Script", "stance": "close it", "model": "caller"},
        {"name": "Model", "stance": "keep it open"},
    ],
    "run": True,
}

ARGUMENTS = (
    "Nine of ten customers come on foot or by bus, by the town's own count of last spring.",
    "Deliveries have until ten in the morning. What is left after that is people, and they buy.",
)


async def main(client: Client) -> None:
    said = iter(ARGUMENTS)
    step = await call(client, "start_debate", **DEBATE)
    debate_id = step["debate_id"]
    while step["status"] in ("running", "waiting"):
        if step["status"] == "waiting":
            turn = step["awaited"][0]
            _, _, task = turn["prompt"].rpartition("# Your turn\n")
            print(f"--- {turn['speaker']} is told:\n{task}\n")
            step = await call(
                client, "submit_turn", debate_id=debate_id, speaker=turn["speaker"], text=next(said)
            )
        else:
            step = await call(client, "step_round", debate_id=debate_id)
    await wait_for_verdict(client, debate_id)
    transcript = await client.read_resource(f"debate://{debate_id}/transcript")
    print(getattr(transcript.contents[0], "text", ""))


if __name__ == "__main__":
    run(main)
