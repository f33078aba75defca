"""The same question with each level of effort: what it is estimated to take, what it took, and what it found.

    python examples/effort.py "Should a small team write its own build tool?"

With models of two or more families, judges can decide; a single model says what a second one would bring.
"""

import os
import sys
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise RuntimeError(result.content)
    return dict(result.structured_content)


async def main(question: str) -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=dict(os.environ))
    async with Client(server) as client:
        for effort in ("quick", "standard", "assured"):
            options = {"effort": effort}
            found = await call(client, "start_debate", question=question, options=options)
            print(found["estimate"])
            while found["status"] in ("ready", "running"):
                found = await call(client, "step_round", debate_id=found["debate_id"])
            print(f"{found['effort']} {found['cost']}")
            print(f"{found['headline']} Confidence: {found['confidence']['value']}. {found['more']}\n")


if __name__ == "__main__":
    default_question = sys.argv[1] if len(sys.argv) > 1 else "Should a small team write its own build tool?"
    anyio.run(main, default_question)
