"""A debate whose every seat is answered by the client: no key, no provider, and whoever runs this script pays nothing.

    python examples/client_model.py

The server asks through sampling, in either era of the protocol; seats that are due together are asked together. A
client asks its own model in `answer`; this script has the sentences ready.
"""

import json
import re

from counterpoint_client import call, run, wait_for_verdict
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.types import CreateMessageRequestParams, CreateMessageResult, TextContent

DEBATE = {
    "question": "Should the town close its main street to cars?",
    "models": ["client"],
    "debaters": [
        {"name": "Close", "stance": "close it"},
        {"name": "Open", "stance": "keep it open"},
        {"name": "Trial", "stance": "close it for a summer"},
    ],
    "options": {"ballots": "none"},
}
FINDING = {
    "verdict": "Close it for a summer, and count.",
    "reasoning": "Nobody has figures yet.",
    "margin": 2,
}


async def answer(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
    """Where a client asks its own model, with `params.system_prompt`, `params.messages`, `params.max_tokens`."""
    del context
    content = params.messages[-1].content
    prompt = content.text if isinstance(content, TextContent) else ""
    print(f"asked: {prompt.splitlines()[-1][:60]}")
    text = "1. A summer costs little, and the shops can count: no source."
    if "Answer with JSON only" in prompt:  # a judge, who knows the positions by labels
        trial = re.search(r"> (\w+)\. close it for a summer", prompt)
        names = re.findall(r'"([^"]+)": percent', prompt)
        winner = trial[1] if trial else names[0]
        beliefs = {name: 70 if name == winner else 10 for name in names}
        text = json.dumps({**FINDING, "winner": winner, "beliefs": beliefs})
    return CreateMessageResult(
        role="assistant", content=TextContent(type="text", text=text), model="a-script", stop_reason="endTurn"
    )


async def main(client: Client) -> None:
    step = await call(client, "start_debate", **DEBATE)
    print("\n".join(step["warnings"]))
    step = await call(client, "start_debate", **DEBATE, run=True)  # joins the debate that was opened
    while step["status"] in ("running", "waiting"):  # a call asks eight times at most
        step = await call(client, "get_verdict", debate_id=step["debate_id"])
    found = await wait_for_verdict(client, step["debate_id"])
    print(f"{found['status']}: {found['winner_stance']}\n{found['answer']['cost']}")


if __name__ == "__main__":
    run(main, sampling_callback=answer)
