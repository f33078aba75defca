"""A debate of your own making, stepped and steered from a script.

    python examples/step_by_step.py

Three positions that are neither for nor against, a document, a note in the middle, and the transcript
read as a resource.
"""

from counterpoint_client import call, run, wait_for_verdict
from mcp import Client

DEBATE = {
    "question": "How should we store the events of 40,000 sensors?",
    "format": "verdict",
    "debaters": [
        {"name": "Ada", "stance": "one relational database", "role": "a database administrator"},
        {"name": "Ben", "stance": "a time-series database"},
        {"name": "Cy", "stance": "files in object storage"},
    ],
    "documents": [{"title": "Load", "text": "Each sensor sends one reading of 40 bytes every ten seconds."}],
}


async def main(client: Client) -> None:
    debate_id = (await call(client, "start_debate", **DEBATE))["debate_id"]
    step = await call(client, "step_round", debate_id=debate_id)
    await call(client, "intervene", debate_id=debate_id, action="inject", text="Assume a team of two people.")
    while step["status"] in ("ready", "running"):
        step = await call(client, "step_round", debate_id=debate_id)
        if turns := step.get("turns"):
            print(f"{step['phase']}: {len(turns)} turns")
    await wait_for_verdict(client, debate_id)
    transcript = await client.read_resource(f"debate://{debate_id}/transcript")
    print(getattr(transcript.contents[0], "text", ""))


if __name__ == "__main__":
    run(main)
