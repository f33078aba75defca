"""A result in a shape of one's own: schemas that are taken, schemas that are not, models that miss them."""

import json
from typing import Any

import pytest

from tests.support import mcp_debates
from tests.support.client_calls import call, read_resource

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C10")]

SCHEMA = {
    "type": "object",
    "properties": {
        "decision": {"enum": ["ship", "wait"]},
        "reasons": {"type": "array", "items": {"type": "string", "maxLength": 300}, "minItems": 1},
        "months": {"type": "integer", "minimum": 1, "maximum": 24},
    },
    "required": ["decision", "reasons", "months"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("name", ["verdict", "settle", "round_robin", "advocates"])
async def test_the_result_has_the_shape_asked_for(open_modern: Any, name: str) -> None:
    async with open_modern() as client:
        options = {"output_schema": SCHEMA}
        ran = await mcp_debates.run_debate(client, format=name, options=options)
        result = await mcp_debates.read_view(client, ran, "result")
        verdict = await call(client, "get_verdict", debate_id=ran["debate_id"])
        shown = await read_resource(client, f"debate://{ran['debate_id']}/verdict")

    made = result["deliverable"]
    assert set(made) == {"decision", "reasons", "months"}
    assert made["decision"] in ("ship", "wait")
    assert made["reasons"]
    assert 1 <= made["months"] <= 24
    assert json.loads(verdict["deliverable"]) == made
    assert json.loads(shown.split("```json\n")[1].split("\n```")[0]) == made
