"""The parts of a JSON Schema that are schemas themselves, and which of them refer to which."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

Schema = dict[str, Any] | bool

SINGLE_SCHEMA_KEYWORDS = {
    *("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames"),
    *("then", "unevaluatedItems", "unevaluatedProperties"),
}
SCHEMA_LIST_KEYWORDS = {"allOf", "anyOf", "items", "oneOf", "prefixItems"}
SCHEMA_MAP_KEYWORDS = {
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
}
REFERENCE_KEYWORDS = {"$dynamicRef", "$recursiveRef", "$ref"}
ANCHOR_KEYWORDS = {"$anchor", "$dynamicAnchor"}

IN_PLACE_APPLICATORS = {
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas")
}

MAX_SCHEMAS_PER_VALUE = 1_000
MAX_CHAIN_LENGTH = 50
TOO_MANY_SCHEMAS = f"more than {MAX_SCHEMAS_PER_VALUE:,} schemas look at one value, or {MAX_CHAIN_LENGTH} refer to each other"


def build_pointer(*steps: str | int) -> str:
    """These steps as the end of a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def iterate_children(schema: Schema, keywords: Collection[str]) -> Iterator[tuple[str, str, Schema]]:
    """The keyword, the rest of the pointer and the schema of each direct part."""
    if isinstance(schema, bool):
        return
    for keyword in keywords:
        value = schema.get(keyword)
        if keyword in SINGLE_SCHEMA_KEYWORDS and isinstance(value, dict | bool):
            yield keyword, build_pointer(keyword), value
        elif keyword in SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            for index, one in enumerate(value):
                yield keyword, build_pointer(keyword, index), one
        elif keyword in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            for name, one in value.items():
                if isinstance(one, dict | bool):  # `dependencies` may hold lists of names
                    yield keyword, build_pointer(keyword, name), one


def iterate_subschemas(
    schema: Schema, keywords: Collection[str], pointer: str = "#"
) -> Iterator[tuple[str, Schema]]:
    """Every schema in this one, itself first, by its JSON pointer."""
    yield pointer, schema
    for _, step, part in iterate_children(schema, keywords):
        yield from iterate_subschemas(part, keywords, pointer + step)


def find_reference_targets(schemas: Mapping[str, Schema], keywords: Collection[str]) -> dict[str, str]:
    """What a reference may say, and the pointer of the part that it means."""
    anchors = {
        f"#{anchor}": at
        for at, part in schemas.items()
        for anchor in keyword_values(part, ANCHOR_KEYWORDS, keywords)
    }
    return {**anchors, **{at: at for at in schemas}}


def find_references(schema: Schema, keywords: Collection[str]) -> list[str]:
    return keyword_values(schema, REFERENCE_KEYWORDS, keywords)


def keyword_values(
    schema: Schema, selected_keywords: Collection[str], keywords: Collection[str]
) -> list[str]:
    """What a part says under these keywords, as far as they mean anything in its draft."""
    if isinstance(schema, bool):
        return []
    return [
        value for keyword, value in schema.items() if keyword in selected_keywords and keyword in keywords
    ]


def build_application_graph(
    schemas: Mapping[str, Schema], keywords: Collection[str], targets: Mapping[str, str]
) -> dict[str, list[str]]:
    """Of each part, those that look at the same value as it does, for they may not lead back to it."""
    return {
        at: [
            *(
                at + step
                for keyword, step, _ in iterate_children(part, keywords)
                if keyword in IN_PLACE_APPLICATORS
            ),
            *(targets[reference] for reference in find_references(part, keywords)),
        ]
        for at, part in schemas.items()
    }


class EndlessSchemaError(ValueError):
    """Checking one value would never end, or take too long. At which part, and why."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(problem)
        self.pointer = pointer


def check_expansion(application_graph: Mapping[str, list[str]]) -> None:
    """Follows what is applied to one value, as checking it will.

    Raises:
        Endless: a part leads back to itself before a field or an item is looked at, or on for too long.
    """
    known: dict[str, tuple[int, int]] = {}

    def follow(pointer: str, trail: tuple[str, ...]) -> tuple[int, int]:
        if pointer in trail:
            raise EndlessSchemaError(
                pointer, "it refers to itself without looking at a field or an item first"
            )
        if pointer not in known:
            if len(trail) >= MAX_CHAIN_LENGTH:  # before Python's own limit
                raise EndlessSchemaError(pointer, TOO_MANY_SCHEMAS)
            below = [follow(one, (*trail, pointer)) for one in application_graph[pointer]]
            known[pointer] = (
                1 + sum(count for count, _ in below),
                1 + max((chain for _, chain in below), default=0),
            )
            if known[pointer][0] > MAX_SCHEMAS_PER_VALUE or known[pointer][1] > MAX_CHAIN_LENGTH:
                raise EndlessSchemaError(pointer, TOO_MANY_SCHEMAS)
        return known[pointer]

    for at in application_graph:
        follow(at, ())
