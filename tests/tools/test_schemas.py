"""The schemas that clients are shown: real JSON Schema, typed throughout, and short."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import jsonschema_rs
import pytest
from mcp.types import Tool

from server.debate.commands.setup.formats import FORMATS
from server.debate.interventions.registry import ACTIONS
from server.tools.arguments.schemas import build_schema
from server.tools.debates import StartDebate
from server.tools.listing import load_listed_tools

pytestmark = pytest.mark.requirement("M1", "M4")

TYPED_KEYWORDS = {"type", "anyOf"}


@pytest.fixture
def listed() -> Sequence[Tool]:
    return [*load_listed_tools().values()]


def walk(schema: dict[str, Any], path: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema, with its place."""
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from walk(part, f"{path}/{name}")
    if "items" in schema:
        yield from walk(schema["items"], f"{path}/items")
    for index, part in enumerate(schema.get("anyOf", ())):
        yield from walk(part, f"{path}/anyOf/{index}")


def all_schemas(listed: Sequence[Tool]) -> Iterator[tuple[str, dict[str, Any]]]:
    for tool in listed:
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            jsonschema_rs.meta.validate(schema)
            yield from walk(schema, tool.name)


def size(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":")).encode())


def test_what_a_model_is_shown_of_the_tools_stays_under_2500_tokens(listed: Sequence[Tool]) -> None:
    """A token of the common tokenizers is 4.3 bytes of such schemas."""
    shown = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in listed
    ]

    assert size(shown) < 10_600


def test_the_schemas_of_results_stay_under_7_kb_and_have_the_answer_once(listed: Sequence[Tool]) -> None:
    assert size([tool.output_schema for tool in listed]) < 6_500
    assert sum("answer" in (tool.output_schema or {})["properties"] for tool in listed) == 1


def test_every_argument_that_is_shown_says_what_it_is_for(listed: Sequence[Tool]) -> None:
    undescribed = [
        f"{path}/{name}"
        for tool in listed
        for path, schema in walk(tool.input_schema, tool.name)
        for name, part in schema.get("properties", {}).items()
        if not part.get("description")
    ]

    assert undescribed == []


def test_start_debate_shows_few_arguments_and_a_line_for_each_format_and_action(
    listed: Sequence[Tool],
) -> None:
    shown = {tool.name: tool.input_schema["properties"] for tool in listed}
    names = "question documents my_answer models format debaters effort max_cost_usd run wait_seconds options"
    lines = shown["start_debate"]["format"]["description"].splitlines()[1:]
    actions = shown["intervene"]["action"]["description"].splitlines()[1:]

    assert [*shown["start_debate"]] == names.split()
    assert len(shown["start_debate"]["options"]["properties"]) == 10
    assert [line.split(": ")[0] for line in lines] == [*FORMATS]
    assert [line.split(": ")[0] for line in actions if line.split(": ")[1]] == [*ACTIONS]


def test_every_schema_has_a_type_and_says_what_it_holds(listed: Sequence[Tool]) -> None:
    untyped = [
        path
        for path, schema in all_schemas(listed)
        if not TYPED_KEYWORDS & set(schema)
        or (schema.get("type") == "array" and "items" not in schema)
        or (schema.get("type") == "object" and not schema.get("properties"))
    ]

    assert untyped == []


ANY_MODEL = {"type", "properties", "required", "items", "enum", "description", "anyOf"}
"""Keywords that Gemini and OpenAI's strict mode know."""


def test_schemas_have_nothing_that_providers_refuse(listed: Sequence[Tool]) -> None:
    """What the converters of openai-agents 0.24 and google-genai 3.4 check."""
    for path, schema in all_schemas(listed):
        assert schema.keys() <= ANY_MODEL, path
        assert isinstance(schema.get("type", ""), str), path
        assert "" not in schema.get("enum", ()), path
    for tool in listed:
        assert "anyOf" not in tool.input_schema
        for path, schema in walk(tool.input_schema, tool.name):
            assert "additionalProperties" not in schema, (
                path
            )  # hosts that check calls let unknown ones through


def test_no_value_may_be_null(listed: Sequence[Tool]) -> None:
    assert [path for path, schema in all_schemas(listed) if "null" in json.dumps(schema)] == []


def test_a_default_stands_in_the_description(listed: Sequence[Tool]) -> None:
    """And not as a keyword, which some clients drop."""
    assert [path for path, schema in all_schemas(listed) if "default" in schema] == []
    defaults = [part for _, part in walk(build_schema(StartDebate)) if "default" in part]
    assert {"report", 45, 300} <= {schema["default"] for schema in defaults}
    for schema in defaults:
        assert schema["description"].endswith(f"Default: {json.dumps(schema['default']).strip(chr(34))}")
    waiting = [tool.input_schema["properties"].get("wait_seconds") for tool in listed]
    assert all(part["description"].endswith("Default: 45") for part in waiting if part)


def test_only_what_every_result_has_is_required_since_nothing_empty_is_sent(listed: Sequence[Tool]) -> None:
    about = {"debate_id", "status", "working", "reason", "next", "transcript_uri"}
    more = {"read_debate": {"view", "next_offset"}, "intervene": {"effect"}}
    for tool in listed:
        expected = {"debates", "next"} if tool.name == "find_debates" else about | more.get(tool.name, set())
        assert {*(tool.output_schema or {})["required"]} == expected, tool.name
