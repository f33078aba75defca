"""A second opinion from a script: start the server, ask, print the verdict.

    python examples/second_opinion.py "Should we rewrite the billing service in Rust?"

Which models debate is up to the server's own settings (COUNTERPOINT_MODELS, or a provider's key). This script needs
nothing but the SDK; the other examples share `counterpoint_client.py`.
"""

import os
import sys

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main(question: str) -> int:
    server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=dict(os.environ))
    async with Client(server) as client:
        answer = await client.call_tool("start_debate", {"question": question, "run": True})
        # A call returns in time whatever the models do; the debate goes on, and the next call waits on.
        while answer.structured_content and answer.structured_content["status"] == "running":
            debate_id = answer.structured_content["debate_id"]
            answer = await client.call_tool("get_verdict", {"debate_id": debate_id})
        for part in answer.content:
            if part.type == "text":
                print(part.text)
        return int(not answer.structured_content or answer.structured_content["status"] != "concluded")


if __name__ == "__main__":
    default_question = sys.argv[1] if len(sys.argv) > 1 else "Should a small team write its own build tool?"
    sys.exit(anyio.run(main, default_question))
