"""A moderated debate whose result comes in the shape you asked for.

    python examples/moderated_verdict.py

The moderator opens each round: who speaks, on what facts, with what in focus. A judge decides, and a
synthesizer puts the outcome into JSON that satisfies your schema.
"""

import json
import os
import sys
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

RESULT = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "maxLength": 300},
        "reasons": {"type": "array", "items": {"type": "string", "maxLength": 300}, "minItems": 1},
        "revisit_in_months": {"type": "integer", "minimum": 1, "maximum": 24},
    },
    "required": ["decision", "reasons", "revisit_in_months"],
    "additionalProperties": False,
}

DEBATE: dict[str, Any] = {
    "question": "Should the new search go live before the holidays?",
    "format": "verdict",
    "debaters": [
        {"name": "advocate", "stance": "go live now"},
        {"name": "skeptic", "stance": "wait until January"},
        {"name": "operator", "stance": "go live for a tenth of the traffic"},
    ],
    "max_rounds": 3,
    "options": {"moderator": {"opens": True}, "output_schema": RESULT},
    "run": True,
}


async def main() -> int:
    server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=dict(os.environ))
    async with Client(server) as client:
        answer = await client.call_tool("start_debate", DEBATE)
        found = answer.structured_content or {}
        while found.get("status") == "running":
            answer = await client.call_tool("get_verdict", {"debate_id": found["debate_id"]})
            found = answer.structured_content or {}
        if answer.is_error or not found:
            print(answer.content)
            return 1
        arguments = {"debate_id": found["debate_id"], "view": "result"}
        result = ((await client.call_tool("read_debate", arguments)).structured_content or {})["data"]
    for decision in result["moderatorDecisions"]:
        print(
            f"Round {decision['round']}: {', '.join(decision['nextSpeakers'])}. {decision['newAngle'] or ''}"
        )
    print(f"\nVerdict: {result['verdict']['verdict']}")
    print(json.dumps(result["deliverable"], indent=2, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(anyio.run(main))
