"""Requests of every task, and the contract of models that can do all of them.

Their tests inherit `TaskContract` and provide the fixture `model`.
"""

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from server.debate.facts.events import Task
from server.models import Function, Message, Model, Prompt, PromptSummary, Reply, Request
from tests.contract.model import POSITIONS, QUESTION, reply_in_time

NAMES = ("Ada", "Ben", "Cleo")
OPPONENT_TEXT = "PostgreSQL scales further. It locks single rows, so that many people can write at once."
DELIVERABLE_SCHEMA: dict[str, Any] = {
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


def build_enum_schema(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def build_text_schema(max_length: int = 2000) -> dict[str, Any]:
    return {"type": "string", "maxLength": max_length}


def build_object_schema(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


NULL_SCHEMA = {"type": "null"}
CHOICE_SCHEMA = build_object_schema(response=build_text_schema(), next_agent_name=build_enum_schema(*NAMES))
HANDOFF = Function("handoff", "Give your answer and say who speaks next.", CHOICE_SCHEMA)
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
    "message": build_object_schema(
        to=build_enum_schema(*NAMES),
        kind=build_enum_schema("question", "proposal", "critique"),
        text=build_text_schema(),
    ),
    "ballot": build_object_schema(
        reasoning=build_text_schema(), choice={"anyOf": [build_enum_schema("W45", "K73"), NULL_SCHEMA]}
    ),
    "opening": build_object_schema(
        briefing={"anyOf": [build_text_schema(1000), NULL_SCHEMA]},
        new_angle={"anyOf": [build_text_schema(500), NULL_SCHEMA]},
        next_speakers={"type": "array", "items": build_enum_schema(*NAMES)},
        done={"type": "boolean"},
    ),
    "closing": build_object_schema(
        summary=build_text_schema(),
        status=build_enum_schema("SETTLED", "CONTINUE"),
        decision=build_text_schema(),
    ),
}
SEATS: dict[str, str] = {
    "opening": "moderator",
    "closing": "moderator",
    "audit": "referee",
    "deliverable": "synthesizer",
}


def build_task_request(
    task: str,
    *,
    round_number: int = 2,
    handoff: bool = False,
    functions: tuple[Function, ...] = (),
    instruction: str = "Speak.",
    seat: str = "Ada",
) -> Request:
    """A request of that task in a debate between Ada, Ben and Cleo."""
    seat = SEATS.get(task, seat)
    place = NAMES.index(seat) if seat in NAMES else len(NAMES)
    summary = PromptSummary(
        task=task,
        question=QUESTION,
        round=round_number,
        stance="SQLite",
        opponent_text=OPPONENT_TEXT if round_number > 1 else "",
        positions=POSITIONS,
        choices=(*NAMES[place + 1 :], *NAMES[:place]),
    )
    schema = CHOICE_SCHEMA if handoff else SCHEMAS.get(task)
    messages = (
        Message("system", "You take part."),
        Message("user", f"# Question\n> {QUESTION}\n\n{instruction}"),
    )
    return Request(Prompt(messages, summary, schema, functions=functions), seat, 600, 60, 7, functions)


def build_deliverable_request(schema: dict[str, Any] = DELIVERABLE_SCHEMA) -> Request:
    request = build_task_request("deliverable")
    prompt = Prompt(request.prompt.messages, request.prompt.summary, schema, strict=False)
    return replace(request, prompt=prompt)


def parse_reply(reply: Reply, schema: dict[str, Any]) -> Any:
    """The JSON of a reply, checked against its schema."""
    value = json.loads(reply.text)
    jsonschema.Draft202012Validator(schema).validate(value)
    return value


@pytest.mark.requirement("N7")
class TaskContract:
    @pytest.mark.parametrize("task", ["answer", "deliverable"])
    async def test_a_task_in_prose_gets_prose(self, model: Model, task: Task) -> None:
        reply = await reply_in_time(model, build_task_request(task))

        assert len(reply.text.split()) > 5
        assert not reply.text.startswith("{")
        assert not reply.cut

    @pytest.mark.requirement("B4")
    async def test_a_structured_answer_names_the_next_speaker(self, model: Model) -> None:
        found = parse_reply(
            await reply_in_time(model, build_task_request("argument", handoff=True)), CHOICE_SCHEMA
        )

        assert len(found["response"].split()) > 10
        assert found["next_agent_name"] != "Ada"

    @pytest.mark.parametrize("task", SCHEMAS)
    async def test_a_task_in_json_follows_its_schema(self, model: Model, task: Task) -> None:
        found = parse_reply(await reply_in_time(model, build_task_request(task)), SCHEMAS[task])

        if task == "opening":
            assert found["next_speakers"] == list(NAMES)
            assert found["briefing"]
        assert found.get("to") != "Ada"

    async def test_a_result_follows_the_schema_of_the_caller(self, model: Model) -> None:
        parse_reply(await reply_in_time(model, build_deliverable_request()), DELIVERABLE_SCHEMA)
