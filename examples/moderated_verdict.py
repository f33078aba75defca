"""A moderated debate whose result comes in the shape you asked for.

    python examples/moderated_verdict.py

The moderator opens each round: who speaks, on what facts, with what in focus. A judge decides, and a
synthesizer puts the outcome into JSON that satisfies your schema.
"""

import json
from typing import Any

from counterpoint_client import call, run, wait_for_verdict
from mcp import Client

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


async def main(client: Client) -> None:
    debate_id = (await call(client, "start_debate", **DEBATE))["debate_id"]
    await wait_for_verdict(client, debate_id)
    result = (await call(client, "read_debate", debate_id=debate_id, view="result"))["data"]
    for decision in result["moderator_decisions"]:
        print(
            f"Round {decision['round']}: {', '.join(decision['next_speakers'])}. {decision['new_angle'] or ''}"
        )
    print(f"\nVerdict: {result['verdict']['verdict']}")
    print(json.dumps(result["deliverable"], indent=2, ensure_ascii=False))


if __name__ == "__main__":
    run(main)
