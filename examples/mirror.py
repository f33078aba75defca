"""Is the position better, or only the debater? Hold the debate again with the stances swapped.

    python examples/mirror.py "Should we rewrite the billing service in Rust?"

The server holds the mirror by itself; the verdict tells apart what stayed with the position and what with the debater.
"""

import os
import sys

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main(question: str) -> int:
    server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=dict(os.environ))
    async with Client(server) as client:
        asked = {"question": question, "run": True, "options": {"mirror": True}}
        answer = await client.call_tool("start_debate", asked)
        while answer.structured_content and answer.structured_content["status"] == "running":
            print(answer.structured_content["reason"])
            debate_id = answer.structured_content["debate_id"]
            answer = await client.call_tool("get_verdict", {"debate_id": debate_id})
        found = answer.structured_content or {}
        mirror = found["mirror"]
        print(found["headline"])
        print(mirror["told"])
        print(f"position {mirror['position_effect']:+}, debater {mirror['debater_effect']:+}")
        swapped = await client.call_tool("get_verdict", {"debate_id": mirror["debate_id"]})
        for position in (swapped.structured_content or {})["positions"]:
            print(f"in the mirror {position['debater']} argued: {position['stance']}")
        return int(bool(answer.is_error))


if __name__ == "__main__":
    default_question = sys.argv[1] if len(sys.argv) > 1 else "Should a small team write its own build tool?"
    sys.exit(anyio.run(main, default_question))
