"""Our server over stdio, as a client starts it, with models whose words and prices a test can look for.

python -m tests.clients.debate_server [SECONDS]     that each model takes for an answer
"""

import sys
from dataclasses import replace

from server.mcp.stdio import serve_stdio
from server.models import Model, OnText, Reply, Request
from tests.support.mcp_debates import build_scripted_model

PRICE_USD = "0.0125"  # of each answer
JUDGES = ("alpha/judge", "beta/judge", "gamma/judge", "delta/judge", "omega/judge")
DISSENTER = JUDGES[-1]


class PricedModel:
    """A scripted model whose answers cost something."""

    def __init__(self, model: Model) -> None:
        self.model = model

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        reply = await self.model.reply(request, on_text)
        return replace(reply, usage=reply.usage.model_copy(update={"cost_usd": PRICE_USD}))


def build_models(delay: float = 0.0) -> dict[str, Model]:
    said: dict[str, str] = {"argument": "A wombat of an argument."}
    agreeing = ("Ada", "A quokka verdict.", "A numbat reason.")
    findings = {
        **dict.fromkeys(JUDGES, agreeing),
        DISSENTER: ("Ben", "An ibex verdict.", "An okapi reason."),
    }
    models: dict[str, Model] = {"debater": PricedModel(replace(build_scripted_model(**said), delay=delay))}
    for name, (winner, verdict, reasoning) in findings.items():
        finding = {"verdict": verdict, "winner": winner, "reasoning": reasoning, "margin": 2}
        model = build_scripted_model(judgment=finding)
        models[name] = PricedModel(replace(model, name=name, delay=delay))
    return models


if __name__ == "__main__":
    sys.exit(serve_stdio(models=build_models(*map(float, sys.argv[1:]))))
