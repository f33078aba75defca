from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.errors import InvalidRequestError
from server.debate.schemas.output_schema import (
    MAX_SCHEMA_DEPTH,
    MAX_SCHEMA_SIZE,
    check_schema,
    find_violation,
)
from server.debate.schemas.plain_json import MAX_INTEGER
from tests.support.simulation import build_reference_chain, nest_in_lists

pytestmark = pytest.mark.requirement("C10")

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"


def refusal(schema: Any) -> str:
    with pytest.raises(InvalidRequestError) as refused:
        check_schema(schema)
    return str(refused.value)


def problem(schema: Any, value: Any) -> str:
    return find_violation(check_schema(schema), value)


def test_a_schema_is_recorded_as_compact_json_in_the_order_of_its_author() -> None:
    schema = {"type": "object", "properties": {"z": {}, "a": {"title": "Größe"}}}
    assert check_schema(schema) == '{"type":"object","properties":{"z":{},"a":{"title":"Größe"}}}'


@pytest.mark.parametrize("schema", [{}, True])
def test_a_schema_may_allow_any_json(schema: Any) -> None:
    assert problem(schema, [1, {"a": None}]) == ""


@pytest.mark.parametrize("schema", [None, [], "object", 1])
def test_what_is_no_object_is_refused(schema: Any) -> None:
    assert refusal(schema) == "`output_schema` must be a JSON object: a JSON Schema. Pass one."


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "numbr"}, "#/type"),
        ({"properties": {"a/b": {"minimum": "x"}}}, "#/properties/a~1b/minimum"),
        ({"items": {"required": "title"}}, "#/items/required"),
        ({"pattern": 5}, "#/pattern"),
        ({"$ref": 5}, "#/$ref"),
        ({"$schema": DRAFT_07, "definitions": {"a": {"enum": 1}}}, "#/definitions/a/enum"),
        ({"$schema": DRAFT_07, "not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": 5}}}, "#/$defs/a/type"),
        ({"$schema": DRAFT_07, "allOf": [{"$ref": "#a"}, {"$anchor": "a"}]}, "#"),
    ],
)
def test_what_is_no_valid_schema_is_refused_at_its_place(schema: dict[str, Any], place: str) -> None:
    assert refusal(schema).startswith(f"`output_schema` at {place}: it is not a valid JSON Schema: ")


def test_a_schema_may_be_so_large_and_no_larger() -> None:
    frame = len('{"title":""}')
    assert len(check_schema({"title": "x" * (MAX_SCHEMA_SIZE - frame)})) == MAX_SCHEMA_SIZE
    assert "20,001 bytes; 20,000 are allowed" in refusal({"title": "x" * (MAX_SCHEMA_SIZE - frame + 1)})


def test_a_schema_may_be_nested_so_deep_and_no_deeper() -> None:
    assert check_schema({"const": nest_in_lists(1, MAX_SCHEMA_DEPTH - 1)})
    assert "is nested deeper than 20 levels" in refusal({"const": nest_in_lists(1, MAX_SCHEMA_DEPTH)})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"maximum": float("nan")}, "maximum is nan, which JSON does not have"),
        ({"items": {"minimum": float("-inf")}}, "items.minimum is -inf, which JSON does not have"),
        ({"maximum": MAX_INTEGER + 1}, "maximum is an integer beyond 9,007,199,254,740,991"),
        ({"default": "\ud800"}, "default holds a lone surrogate"),
        ({"properties": {"\ud800": {}}}, "properties has a field whose name is not text"),
        ({1: {}}, "it has a field whose name is not text: 1"),
        ({"enum": [(1, 2)]}, "enum.0 is a tuple, which JSON does not have"),
    ],
)
def test_what_json_cannot_carry_is_refused(schema: Any, said: str) -> None:
    assert said in refusal(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}},
        {"$ref": "#/$defs/a~1b~0", "$defs": {"a/b~": {"type": "integer"}}},
        {"$ref": "#whole", "$defs": {"a": {"$anchor": "whole", "type": "integer"}}},
        {"$dynamicRef": "#whole", "$defs": {"a": {"$dynamicAnchor": "whole", "type": "integer"}}},
        {"$id": "https://example.com/a", "$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}},
        {"allOf": [{"$ref": "#/anyOf/0"}], "anyOf": [{"type": "integer"}]},
        {
            "$schema": DRAFT_07,
            "allOf": [{"$ref": "#/definitions/a"}],
            "definitions": {"a": {"type": "integer"}},
        },
        {"$schema": DRAFT_2019, "$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}},
    ],
)
def test_a_reference_within_the_schema_is_followed(schema: dict[str, Any]) -> None:
    assert problem(schema, 1) == ""
    assert problem(schema, "1") == '"1" is not of type integer'


@pytest.mark.parametrize("reference", ["https://example.com/a", "other.json#/a", "/a"])
def test_a_reference_out_of_the_schema_is_refused(reference: str) -> None:
    said = refusal({"properties": {"a": {"$ref": reference}}})
    assert f'at #/properties/a: the reference "{reference}" leads out of it. Put what it means' in said


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a"},
        {"$dynamicRef": "#a"},
        {"$ref": "#/const", "const": {"type": "string"}},
        {"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}},
    ],
)
def test_a_reference_to_nothing_in_the_schema_is_refused(schema: dict[str, Any]) -> None:
    assert "leads to no schema in it. Put what it means under `" in refusal(schema)


@pytest.mark.parametrize("keyword", ["$id", "$schema"])
def test_a_part_that_changes_what_references_mean_is_refused(keyword: str) -> None:
    said = refusal({"properties": {"a": {keyword: "https://json-schema.org/draft/2020-12/schema"}}})
    assert f"#/properties/a/{keyword}: only the whole schema may have one" in said


def test_a_field_may_be_called_as_a_keyword_is() -> None:
    schema = {"properties": {"$id": {"type": "string"}, "$ref": {"type": "string"}, "enum": {}}}
    assert problem(schema, {"$id": "x", "$ref": "y"}) == ""


@pytest.mark.parametrize("draft", ["http://json-schema.org/draft-04/schema#", "https://example.com/mine", 7])
def test_a_draft_that_is_not_known_is_refused_with_those_that_are(draft: Any) -> None:
    said = refusal({"$schema": draft})
    assert "is not supported. Leave `$schema` out for draft 2020-12, or name one of https://" in said


def test_a_schema_is_read_by_the_rules_of_the_draft_it_names() -> None:
    pair = {"items": [{"type": "string"}], "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
    assert problem({"$schema": DRAFT_07, **pair}, [1]) == "0: 1 is not of type string"
    assert problem({"$schema": DRAFT_07, **pair}, {"c": 1}) == "d: is required"
    assert "#/items" in refusal(pair)
    tree = {"$schema": DRAFT_2019, "type": "array", "items": {"$recursiveRef": "#"}}
    assert problem(tree, [[], [[1]]]) == "1.0.0: 1 is not of type array"


@pytest.mark.parametrize("draft", [DRAFT_07, DRAFT_2019, "https://json-schema.org/draft/2020-12/schema"])
def test_a_part_that_refers_to_the_whole_is_checked_as_the_whole_is(draft: str) -> None:
    fields = {"price": {"multipleOf": 0.01}, "child": {"$ref": "#"}}
    schema = {"$schema": draft, "$id": "https://example.com/a", "properties": fields, "required": ["price"]}
    assert problem(schema, {"price": 19.99, "child": {"price": 19.99}}) == ""
    assert problem(schema, {"price": 1, "child": {}}) == "child.price: is required"


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (False, "#"),
        ({"not": {}}, "#"),
        ({"not": True}, "#"),
        ({"enum": []}, "#/enum"),
        ({"properties": {"a": {"enum": []}}}, "#/properties/a/enum"),
    ],
)
def test_what_nothing_can_satisfy_is_refused(schema: Any, place: str) -> None:
    said = refusal(schema)
    assert said.startswith(f"`output_schema` at {place}: ")
    assert "nothing can satisfy it" in said


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"anyOf": [{"$ref": "#"}]}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        {"$schema": DRAFT_07, "dependencies": {"a": {"$ref": "#"}}},
    ],
)
def test_a_schema_that_leads_back_to_itself_at_once_is_refused(schema: dict[str, Any]) -> None:
    assert "it refers to itself without looking at a field or an item first" in refusal(schema)


def test_a_schema_may_lead_back_to_itself_through_a_field_or_an_item() -> None:
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["name"],
    }
    assert problem(tree, {"name": "a", "children": [{"name": "b"}]}) == ""
    assert problem(tree, {"name": "a", "children": [{"children": []}]}) == "children.0.name: is required"


@pytest.mark.parametrize(
    "schema",
    [
        build_reference_chain(600, lambda after: after),
        {"$defs": dict(reversed(build_reference_chain(600, lambda after: after)["$defs"].items()))},
        build_reference_chain(30, lambda after: {"allOf": [after, after]}),
        {"anyOf": [True] * 1_500},
    ],
)
def test_a_schema_that_takes_too_many_schemas_for_one_value_is_refused(schema: dict[str, Any]) -> None:
    assert "more than 1,000 schemas look at one value, or 50 refer to each other" in refusal(schema)


ALLOWED_PATTERNS = {
    r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$": "2025-01-31T10:00+01:00",
    "^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$": "123e4567-e89b-12d3-a456-426614174000",
    r"^[^@\s]{1,64}@[^@\s]{1,255}$": "some.body@example.com",
    "^(jan|feb|mar)$": "feb",
    "^(a+)+b$": "aaab",
    "^.*.*.*.*a$": "a" * 700,
    "^.{1,500}$": "a" * 500,
    "": "x",
}


@pytest.mark.parametrize("pattern", ALLOWED_PATTERNS)
def test_a_regular_expression_is_matched(pattern: str) -> None:
    assert problem({"pattern": pattern}, ALLOWED_PATTERNS[pattern]) == ""
    assert pattern == "" or "does not match" in problem({"pattern": pattern}, "")


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)", "(?<!a)b", "(", "[a", "\\", "((a{100}){100}){100}"])
def test_a_regular_expression_that_is_malformed_or_costs_too_much_is_refused(pattern: str) -> None:
    for place, schema in (
        ("#/properties/a/pattern", {"properties": {"a": {"pattern": pattern}}}),
        ("#/patternProperties", {"patternProperties": {pattern: {}}}),
    ):
        said = refusal(schema)
        assert said.startswith(f"`output_schema` at {place}: the regular expression ")
        assert "uses look-around or back-references, or repeats too much" in said


def test_a_schema_has_at_most_50_regular_expressions() -> None:
    patterns = {f"^x{number}": True for number in range(51)}
    assert "51 regular expressions; 50 are allowed" in refusal({"patternProperties": patterns})


def test_regular_expressions_are_limited_in_their_sum() -> None:
    patterns = {rf"^\p{{L}}{{1,20}}{number}": True for number in range(4)}
    assert "patternProperties" in check_schema({"patternProperties": patterns})
    more = patterns | {r"^\p{L}{1,20}x": True}
    assert "the regular expressions are too large together" in refusal({"patternProperties": more})


@given(st.text("ab(|)*+?{2,}[]^$\\.", max_size=14))
def test_any_pattern_is_refused_or_can_be_matched(pattern: str) -> None:
    try:
        text = check_schema({"pattern": pattern})
    except InvalidRequestError:
        return
    assert "cannot be checked" not in find_violation(text, "ab" * 20)
