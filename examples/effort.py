"""The same question with each level of effort: what it is estimated to take, what it took, and what it found.

    python examples/effort.py "Should a small team write its own build tool?"

With models of two or more families, judges can decide; a single model says what a second one would bring.
"""

import sys

from counterpoint_client import call, run, wait_for_verdict
from mcp import Client

QUESTION = sys.argv[1] if len(sys.argv) > 1 else "Should a small team write its own build tool?"


async def main(client: Client) -> None:
    for effort in ("quick", "standard", "assured"):
        asked = {"question": QUESTION, "options": {"effort": effort}, "run": True, "wait_seconds": 0}
        started = await call(client, "start_debate", **asked)
        print(started["estimate"])
        found = await wait_for_verdict(client, started["debate_id"])
        answer = found["answer"]
        print(f"{started['effort']} {answer['cost']}")
        print(f"{answer['head']}: {answer['recommendation']} {answer['how_sure']}\n")


if __name__ == "__main__":
    run(main)
