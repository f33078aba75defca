"""A question of every kind that a seat can be asked, and what an answer to it must be.

For models that answer whatever they are asked: their tests inherit `TaskContract`, with a `model`.
"""

import json
from typing import Any

import jsonschema
import pytest

from server.debate.facts.config import Handoff
from server.debate.facts.events import Task
from server.models import Cue, Function, Message, Model, Prompt, Reply, Request
from tests.contract.model import POSITIONS, QUESTION, bounded

NAMES = ("Ada", "Ben", "Cleo")
SAID = "PostgreSQL scales further. It locks single rows, so that many people can write at once."
DELIVERABLE: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "risk": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 3, "maxLength": 80},
                "likelihood": {"type": "number", "minimum": 0, "maximum": 1},
                "since": {"type": "string", "format": "date"},
                "follows": {"type": "array", "items": {"$ref": "#/$defs/risk"}},
            },
            "required": ["name", "likelihood"],
            "additionalProperties": False,
        }
    },
    "properties": {
        "recommendation": {"type": "string", "minLength": 20},
        "confidence": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "choice": {"enum": ["postgresql", "sqlite", None]},
        "risks": {"type": "array", "items": {"$ref": "#/$defs/risk"}, "minItems": 1},
    },
    "required": ["recommendation", "confidence", "choice", "risks"],
    "additionalProperties": False,
}


def names(*among: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(among)}


def text(longest: int = 2000) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest}


def form(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


NULL = {"type": "null"}
CHOICE = form(response=text(), next_agent_name=names(*NAMES))
HANDOFF = Function("handoff", "Give your answer and say who speaks next.", CHOICE)
SEARCH = Function(
    "web__search",
    "Searches.",
    {
        "type": "object",
        "properties": {"query": {"type": "string"}, "count": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["query"],
    },
)
SCHEMAS: dict[str, dict[str, Any]] = {
    "message": form(to=names(*NAMES), kind=names("question", "proposal", "critique"), text=text()),
    "ballot": form(reasoning=text(), choice={"anyOf": [names("A", "B"), NULL]}),
    "opening": form(
        briefing={"anyOf": [text(1000), NULL]},
        new_angle={"anyOf": [text(500), NULL]},
        next_speakers={"type": "array", "items": names(*NAMES)},
        done={"type": "boolean"},
    ),
    "closing": form(summary=text(), status=names("SETTLED", "CONTINUE"), decision=text()),
}
SEATS: dict[str, str] = {
    "opening": "moderator",
    "closing": "moderator",
    "audit": "referee",
    "deliverable": "synthesizer",
}


def asking(
    asks: Task,
    *,
    number: int = 2,
    handoff: Handoff | None = None,
    functions: tuple[Function, ...] = (),
    last: str = "Speak.",
    seat: str = "Ada",
) -> Request:
    """That question in a debate between Ada, Ben and Cleo."""
    seat = SEATS.get(asks, seat)
    cue = Cue(
        asks=asks,
        question=QUESTION,
        round=number,
        stance="SQLite",
        opponent=SAID if number > 1 else "",
        positions=POSITIONS,
        others=tuple(name for name in NAMES if name != seat),
        handoff=handoff,
    )
    schema = CHOICE if handoff == "structured" else SCHEMAS.get(asks)
    messages = (Message("system", "You take part."), Message("user", f"# Question\n> {QUESTION}\n\n{last}"))
    return Request(Prompt(messages, cue, schema, functions=functions), seat, 600, 60, 7, functions)


def deliver(schema: dict[str, Any] = DELIVERABLE) -> Request:
    asked = asking("deliverable")
    prompt = Prompt(asked.prompt.messages, asked.prompt.cue, schema, strict=False)
    return Request(prompt, asked.seat, asked.max_tokens, asked.timeout, asked.seed)


def read(reply: Reply, schema: dict[str, Any]) -> Any:
    """The JSON of an answer, which its schema admits."""
    found = json.loads(reply.text)
    jsonschema.Draft202012Validator(schema).validate(found)
    return found


@pytest.mark.requirement("N7")
class TaskContract:
    @pytest.mark.parametrize("asks", ["answer", "deliverable"])
    @pytest.mark.asyncio
    async def test_what_is_asked_for_in_prose_comes_in_prose(self, model: Model, asks: Task) -> None:
        reply = await bounded(model, asking(asks))

        assert len(reply.text.split()) > 5
        assert not reply.text.startswith("{")
        assert not reply.cut

    @pytest.mark.requirement("B4")
    @pytest.mark.asyncio
    async def test_who_speaks_next_is_chosen_in_the_structure_of_the_answer(self, model: Model) -> None:
        found = read(await bounded(model, asking("argument", handoff="structured")), CHOICE)

        assert len(found["response"].split()) > 10
        assert found["next_agent_name"] != "Ada"

    @pytest.mark.parametrize("asks", SCHEMAS)
    @pytest.mark.asyncio
    async def test_what_is_asked_for_as_json_is_what_the_schema_says(self, model: Model, asks: Task) -> None:
        found = read(await bounded(model, asking(asks)), SCHEMAS[asks])

        if asks == "opening":
            assert found["next_speakers"] == list(NAMES)
            assert found["briefing"]
        assert found.get("to") != "Ada"

    @pytest.mark.asyncio
    async def test_a_result_has_the_shape_that_the_caller_gave(self, model: Model) -> None:
        read(await bounded(model, deliver()), DELIVERABLE)
