"""What the golden debates share: the team, the price of a model, and interventions."""

from collections.abc import Sequence
from typing import Any

from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from tests.support.simulation import DebateSimulation, label_positions
from tests.support.simulation import build_setup as build_lettered_setup

PARENT_ID = "k3x9w2m4p7qr"

TEAM: dict[str, Any] = {
    "debaters": [
        {"name": "Ada", "stance": "build it", "role": "economist", "system_prompt": "Use figures."},
        {"name": "Bob", "stance": "buy it", "model": "vendor/own"},
        {"name": "Çelik", "stance": "日本語で待つ"},
    ],
    "documents": [{"title": "Costs", "text": "Line one\nŻółć\u2028🧪", "url": "https://example.org/costs"}],
    "options": {
        "judges": {"models": ["vendor/j", "vendor/k"], "prompt": "Ask who pays."},
        "limits": {"turn_timeout": 60, "max_turn_tokens": 1500},
        "instructions": "Be kind.",
        "seed": 2026,
        "tags": ["golden", "schedulers"],
    },
}


def build_setup(models: Sequence[str] = ("scripted",), **fields: Any) -> Opened:
    return label_positions(build_lettered_setup(models, **fields))


def intervene(
    simulation: DebateSimulation, action: str, *, text: str = "", to: str = "", reason: str = ""
) -> DebateSimulation:
    return simulation.add_events(
        *build_intervention(
            simulation.debate, action, InterventionRequest(text=text, to=to, reason=reason)
        ).events
    )


def find_price(name: str) -> Price:
    return Price(model=name, input="0.000001", output="0.000002")
