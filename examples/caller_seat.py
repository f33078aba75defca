"""A debate in which this script is one of the debaters, and a model the other.

    python examples/caller_seat.py

A seat whose model is `caller` speaks through `submit_turn`: the debate waits for it, and says what its
writer has to know. An assistant, or a person behind a form, would take the seat in the same way.
"""

import os
import sys
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

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


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise RuntimeError(result.content)
    return dict(result.structured_content)


async def main() -> int:
    server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=dict(os.environ))
    said = iter(ARGUMENTS)
    async with Client(server) as client:
        step = await call(client, "start_debate", **DEBATE)
        debate_id = step["debate_id"]
        while step["status"] in ("ready", "running", "waiting"):
            if step["status"] == "waiting":
                turn = step["awaited"][0]
                print(f"--- {turn['speaker']} is told:\n{turn['prompt'][-300:]}\n")
                step = await call(
                    client, "submit_turn", debate_id=debate_id, speaker=turn["speaker"], text=next(said)
                )
            else:
                step = await call(client, "step_round", debate_id=debate_id)
        transcript = await client.read_resource(f"debate://{debate_id}/transcript")
        print(getattr(transcript.contents[0], "text", ""))
        return 0 if step["status"] == "concluded" else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main))
