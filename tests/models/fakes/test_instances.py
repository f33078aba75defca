import json
from typing import Any

import jsonschema
import pytest

from server.models import ModelError
from server.models.fakes.instances import FORMAT_EXAMPLES, build_instance

pytestmark = pytest.mark.requirement("N7")

NODE = {
    "type": "object",
    "properties": {"value": {"type": "string"}, "rest": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["value", "rest"],
    "additionalProperties": False,
}
SCHEMAS: list[Any] = [
    True,
    {"enum": [1, "a", None]},
    {"enum": ["a", "b"], "not": {"enum": ["a"]}},
    {"type": ["null", "integer"]},
    {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
    {"type": "integer", "multipleOf": 7, "minimum": 50},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    {"type": "number", "multipleOf": 0.25, "minimum": 0.1, "maximum": 1},
    {"type": "number", "maximum": -0.5},
    {"type": "number", "minimum": 0.2, "maximum": 0.4},
    {"type": "string", "minLength": 300},
    {"type": "string", "maxLength": 3},
    {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"type": "boolean"}, "maxItems": 0},
    {"type": "object", "properties": {"a": {}}, "dependentRequired": {"a": ["b"]}},
    {"type": "object", "properties": {"a": {}, "b": {}}, "not": {"required": ["b"]}},
    {"type": "object", "required": ["z"], "properties": {"y": {"type": "null"}}},
    {"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"allOf": [{"type": "number"}, {"type": "integer"}]},
    {"allOf": [{"properties": {"a": {"maxLength": 5}}}, {"properties": {"a": {"type": "string"}}}]},
    {"anyOf": [False, {"type": "null"}]},
    {"oneOf": [{"properties": {"k": {"const": kind}}, "required": ["k"]} for kind in "ab"]},
    {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
    {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        "required": ["next"],
    },
    {"type": "array", "items": {"$ref": "#/$defs/a~1b"}, "minItems": 1, "$defs": {"a/b": {"type": "null"}}},
    *({"type": "string", "format": name} for name in (*FORMAT_EXAMPLES, "one of your own")),
]


def made(schema: Any, question: str = "Should we?") -> Any:
    return build_instance(schema, question, lambda name: f"On {name or 'this'} nothing more was said.")


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:60])
def test_an_instance_is_what_its_schema_admits(schema: Any) -> None:
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER

    jsonschema.Draft202012Validator(schema, format_checker=checker).validate(made(schema))


def test_a_value_is_chosen_by_the_question_and_not_by_the_order_it_stands_in() -> None:
    options = [str(number) for number in range(50)]

    chosen = {made({"enum": options}, question) for question in "abcdefgh"}

    assert len(chosen) > 1
    assert made({"enum": options}) == made({"enum": options[::-1]})


MUTUAL = {
    f"d{one}": {
        "type": "object",
        "properties": {f"p{other}": {"$ref": f"#/$defs/d{other}"} for other in range(20)},
    }
    for one in range(20)
}
TOWER = {
    f"d{one}": {"type": "array", "items": {"$ref": f"#/$defs/d{one + 1}"}, "minItems": 10}
    for one in range(12)
} | {"d12": True}


def test_references_that_multiply_come_to_an_end() -> None:
    assert len(json.dumps(made({"$defs": MUTUAL, "$ref": "#/$defs/d0"}))) < 100_000


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"enum": []},
        {"allOf": [{"const": 1}, {"const": 2}]},
        {"type": "object", "properties": {"self": {"$ref": "#"}}, "required": ["self"]},
        {"minimum": "much"},
        {"$ref": "https://example.org/schema.json"},
        {"pattern": "^(?=a)b"},
        {"$defs": TOWER, "$ref": "#/$defs/d0"},
    ],
    ids=["nothing", "no value", "two values", "no end", "no schema", "elsewhere", "pattern", "tower"],
)
def test_where_no_value_is_found_the_model_fails_and_says_why(schema: Any) -> None:
    with pytest.raises(ModelError, match=r"scripted: found no value for the schema \(.+\)\."):
        made(schema)
