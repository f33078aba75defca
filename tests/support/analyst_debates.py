"""Debates of Bob (A) and Ada (B) of whose first round an analyst says what the turns claim."""

from typing import Any

from server.debate.arguments.citations import find_citations
from server.debate.arguments.points import format_id, list_points
from server.debate.facts.beliefs import Citation
from tests.support import simulation

BOB, ADA = ("Bob", "wait"), ("Ada", "rewrite it")
TEAM = [{"name": name, "stance": stance} for name, stance in (BOB, ADA)]
TURNS = {
    "Bob": "Well. Costs doubled in 2024, says the audit. It may fail. Waiting is free.",
    "Ada": "[1] Costs did not double. [attacks A1 1.1]\n[2 value] Speed matters most.",
    "later": "Nothing new.",
}


def build_claim(words: str, speaker: str = "A1", **fields: Any) -> dict[str, Any]:
    usual = {"speaker": speaker, "words": words, "claim": f"So: {words}", "kind": "fact", "evidence": None}
    return usual | {"links": [], "same_as": []} | fields


def build_link(relation: str, to: Any) -> dict[str, Any]:
    return {"relation": relation, "to": to}


def extract(
    *claims: Any, turns: dict[str, str] = TURNS, rounds: int = 1, more: Any = None, **options: Any
) -> simulation.DebateSimulation:
    """A debate of Bob (A), then Ada (B), of whose round 1 the analyst says this."""
    opened = simulation.build_setup(
        format="verdict", debaters=TEAM, max_rounds=rounds, options={"claims": "extracted", **options}
    )
    found = {"claims": list(claims), "left_out": []} | (more or {})
    script = simulation.task_script(
        {
            "argument": lambda call: turns[call.seat] if call.round == 1 else turns["later"],
            "extraction": lambda call: found if call.round == 1 else {"claims": []},
        }
    )
    return simulation.simulate(opened, script)


def list_ids(at: simulation.DebateSimulation) -> list[str]:
    return [format_id(cited, cited.seat) for cited in list_points(at.debate)]


def list_links(at: simulation.DebateSimulation, seat: str, point: int) -> list[str]:
    found = find_citations(at.debate)[Citation(seat=seat, round=1, point=point)].links
    return [f"{one.relation} {format_id(one.target, one.target.seat)}" for one in found]


DOUBLED = build_claim("Costs doubled in 2024", evidence="the audit")
FREE = build_claim("Waiting is free", kind="value")
NOT_DOUBLED = build_claim("Costs did not double", "B1", links=[build_link("attacks", "#1")])
