"""Is the position better, or only the debater? Hold the debate again with the stances swapped.

    python examples/mirror.py "Should we rewrite the billing service in Rust?"

The server holds the mirror by itself; the verdict tells apart what stayed with the position and what with the debater.
"""

import sys

from counterpoint_client import call, read_data, run, wait_for_verdict
from mcp import Client

QUESTION = sys.argv[1] if len(sys.argv) > 1 else "Should a small team write its own build tool?"


async def main(client: Client) -> None:
    asked = {"question": QUESTION, "format": "advocates", "run": True, "options": {"mirror": True}}
    debate_id = (await call(client, "start_debate", **asked))["debate_id"]
    await wait_for_verdict(client, debate_id)
    found = await read_data(client, debate_id, "verdict")
    mirror = found["mirror"]
    print(found["headline"])
    print(mirror["told"])
    print(f"position {mirror['position_effect']:+}, debater {mirror['debater_effect']:+}")
    swapped = await call(client, "get_verdict", debate_id=mirror["debate_id"])
    for position in swapped["positions"]:
        print(f"in the mirror {position['debater']} argued: {position['stance']}")


if __name__ == "__main__":
    run(main)
