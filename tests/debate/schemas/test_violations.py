import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.errors import InvalidRequestError
from server.debate.schemas import output_schema
from server.debate.schemas.plain_json import MAX_INTEGER, plain_json
from tests.support.searches import search_briefly
from tests.support.simulation import nest_in_lists

pytestmark = pytest.mark.requirement("C10")

DECISION = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "minLength": 2},
        "confidence": {"type": ["number", "null"], "maximum": 1},
        "choice": {"enum": ["build", "buy"]},
        "final": {"const": True},
        "steps": {
            "type": "array",
            "uniqueItems": True,
            "items": {"properties": {"title": {}}, "required": ["title"], "additionalProperties": False},
        },
        "note": {"anyOf": [{"type": "string"}, {"required": ["by"]}]},
        "level": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "range": {"oneOf": [{"prefixItems": [{"type": "string"}]}, {"prefixItems": [{"type": "null"}]}]},
        "secret": False,
    },
    "required": ["decision"],
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5, width=16) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)

KEYWORDS = (
    "type",
    "minimum",
    "uniqueItems",
    "pattern",
    "enum",
    "const",
    "required",
    "properties",
    "$ref",
    "allOf",
)


def problem(schema: Any, value: Any) -> str:
    return output_schema.find_violation(output_schema.check_schema(schema), value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "decision: is required"),
        ({"decision": "buy", "confidence": "7"}, 'confidence: "7" is not of type null or number'),
        ({"decision": "buy", "choice": "rent"}, 'choice: "rent" is not one of ["build", "buy"]'),
        ({"decision": "buy", "final": False}, "final: true was expected"),
        ({"decision": "buy", "steps": [{"title": 1}, {}]}, "steps.1.title: is required"),
        (
            {"decision": "buy", "steps": [{"title": 1, "by": 2}]},
            "steps.0: Additional properties are not allowed ('by' was unexpected)",
        ),
        ({"decision": "buy", "secret": 1}, "secret: is not allowed"),
        (
            {"decision": "buy", "note": {}},
            "note: {} fits no alternative: {} is not of type string; by: is required",
        ),
        (
            {"decision": "buy", "level": 2},
            "level: 2 fits no alternative: 2 is not of type string; 2 is not of type null",
        ),
        (
            {"decision": "buy", "range": [1, 2]},
            "range: [1, 2] fits no alternative: 0: 1 is not of type string; 0: 1 is not of type null",
        ),
    ],
)
def test_a_misfit_says_where_and_what_in_words_its_author_can_act_on(value: Any, said: str) -> None:
    assert problem(DECISION, value) == said


def test_what_satisfies_the_schema_is_no_misfit() -> None:
    value = {"decision": "buy", "confidence": None, "choice": "buy", "final": True, "note": {"by": "C"}}
    assert problem(DECISION, value) == ""


def test_formats_are_remarks() -> None:
    assert problem({"format": "date"}, "tomorrow") == ""


def test_a_misfit_is_short_and_on_one_line_whatever_the_value() -> None:
    value = {"decision": "x\n" * 500, "choice": ["é\x1b" * 500]}
    said = problem({"properties": {"choice": {"enum": ["é" * 5_000, "b"]}}}, value)
    assert said.startswith("choice: ")
    assert len(said) <= output_schema.MAX_VIOLATION_LENGTH
    assert said.isprintable()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "the result cannot be checked: it is nan, which JSON does not have"),
        ({"a": ["\udc00"]}, "the result cannot be checked: a.0 holds a lone surrogate (half a character)"),
        ({"a": {1}}, "the result cannot be checked: a is a set, which JSON does not have"),
        (
            nest_in_lists(1, 500),
            f"the result cannot be checked: {'.'.join('0' * 50)} is nested deeper than 50 levels",
        ),
        (
            "x" * output_schema.MAX_VALUE_SIZE,
            "the result cannot be checked: it has 100,002 bytes; 100,000 are allowed. Say less.",
        ),
    ],
)
def test_a_value_that_is_no_json_or_too_much_is_a_misfit(value: Any, said: str) -> None:
    assert output_schema.find_violation("{}", value) == said


@pytest.mark.parametrize(
    "schema_text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"type": 5}',
        '{"$ref": "https://example.com/a"}',
        '{"pattern": "("}',
        "[" * 100_000,
    ],
)
def test_a_schema_that_was_never_checked_is_a_misfit_and_no_error(schema_text: str) -> None:
    assert output_schema.find_violation(schema_text, {}).startswith("the result cannot be checked: ")


def in_fields(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}, in_fields(40)),
        ({"oneOf": [{"properties": {"a": {"$ref": "#"}}}] * 4}, in_fields(12)),
        ({"oneOf": [{"type": "array", "items": {"oneOf": [{"type": "string"}] * 20}}] * 20}, [1] * 40_000),
        ({"anyOf": [{"type": "integer"}] * 800}, "x" * 90_000),
        ({"allOf": [{"uniqueItems": True}] * 500}, [{"a": n} for n in range(7_000)]),
        ({"items": {"not": {"enum": [{"a": n} for n in range(1_500)]}}}, [{"a": 2_000}] * 9_000),
        ({"pattern": "^[ab]*a[ab]{1000}c$"}, "abaab" * 10_000),
        ({"patternProperties": {"[ab]*a[ab]{1000}c": {}}}, {"abaab" * 2_000: 1}),
        ({"patternProperties": {f"a.*b{n}": {} for n in range(50)}}, {f"a{n}": 1 for n in range(9_000)}),
    ],
    ids=["fields", "oneOf", "errors", "long errors", "unique", "options", "pattern", "names", "many names"],
)
def test_a_check_that_may_take_too_many_steps_is_not_begun(schema: dict[str, Any], value: Any) -> None:
    assert problem(schema, value) == (
        "the result cannot be checked: it takes too long; make it smaller and its texts shorter"
    )


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (
            {"items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
            [{"a": n} for n in range(9_000)],
        ),
        ({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}, in_fields(40)),
        (
            {"properties": {f"a{n}": {"type": "integer"} for n in range(500)}},
            {f"a{n}": n for n in range(500)},
        ),
        ({"pattern": r"\S"}, "word " * 15_000),
    ],
    ids=["many items", "a deep tree", "many fields", "a long text"],
)
def test_what_is_large_but_does_not_multiply_is_checked(schema: dict[str, Any], value: Any) -> None:
    assert problem(schema, value) == ""


def test_the_names_of_fields_are_matched() -> None:
    schema = {"patternProperties": {"^n_": {"type": "integer"}}, "additionalProperties": False}
    assert problem(schema, {"n_a": 1}) == ""
    assert problem(schema, {"n_a": "1"}) == 'n_a: "1" is not of type integer'
    assert problem(schema, {"m": 1}) == "Additional properties are not allowed ('m' was unexpected)"
    assert problem(schema, [1]) == ""


@search_briefly(3)
@given(st.recursive(JSON, lambda inner: st.dictionaries(st.sampled_from(KEYWORDS), inner)), JSON)
def test_any_json_as_a_schema_is_checked_or_refused(schema: Any, value: Any) -> None:
    try:
        text = output_schema.check_schema(schema)
    except InvalidRequestError:
        return
    assert json.loads(text) == schema
    assert isinstance(output_schema.find_violation(text, value), str)


@given(JSON)
def test_plain_json_is_read_back_as_the_same_value(value: Any) -> None:
    assert json.loads(plain_json(value)) == value


def test_plain_json_is_compact_and_in_the_letters_it_was_written_in() -> None:
    assert plain_json({"ä": [1, 2.5, None, True, "\n"]}) == '{"ä":[1,2.5,null,true,"\\n"]}'
    assert plain_json([MAX_INTEGER, -MAX_INTEGER]) == f"[{MAX_INTEGER},-{MAX_INTEGER}]"


def test_a_value_that_holds_itself_is_no_json() -> None:
    circle: list[Any] = []
    circle.extend([circle, circle])
    with pytest.raises(ValueError, match="is nested deeper than 50 levels"):
        plain_json(circle)
