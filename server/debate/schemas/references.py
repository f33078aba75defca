"""The parts of a JSON Schema that are schemas themselves, and which of them refer to which."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

Part = dict[str, Any] | bool

ALONE = {
    *("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames"),
    *("then", "unevaluatedItems", "unevaluatedProperties"),
}
LISTED = {"allOf", "anyOf", "items", "oneOf", "prefixItems"}
NAMED = {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
REFERENCES = {"$dynamicRef", "$recursiveRef", "$ref"}
ANCHORS = {"$anchor", "$dynamicAnchor"}

ON_THE_SAME_VALUE = {
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas")
}

MOST_EXPANDED = 1_000
LONGEST_CHAIN = 50
TOO_MUCH = f"more than {MOST_EXPANDED:,} schemas look at one value, or {LONGEST_CHAIN} refer to each other"


def pointer(*steps: str | int) -> str:
    """These steps as the end of a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def children(part: Part, keywords: Collection[str]) -> Iterator[tuple[str, str, Part]]:
    """The keyword, the rest of the pointer and the schema of each direct part."""
    if isinstance(part, bool):
        return
    for keyword in keywords:
        value = part.get(keyword)
        if keyword in ALONE and isinstance(value, dict | bool):
            yield keyword, pointer(keyword), value
        elif keyword in LISTED and isinstance(value, list):
            for index, one in enumerate(value):
                yield keyword, pointer(keyword, index), one
        elif keyword in NAMED and isinstance(value, dict):
            for name, one in value.items():
                if isinstance(one, dict | bool):  # `dependencies` may hold lists of names
                    yield keyword, pointer(keyword, name), one


def parts_of(schema: Part, keywords: Collection[str], at: str = "#") -> Iterator[tuple[str, Part]]:
    """Every schema in this one, itself first, by its JSON pointer."""
    yield at, schema
    for _, step, part in children(schema, keywords):
        yield from parts_of(part, keywords, at + step)


def targets(parts: Mapping[str, Part], keywords: Collection[str]) -> dict[str, str]:
    """What a reference may say, and the pointer of the part that it means."""
    anchors = {f"#{anchor}": at for at, part in parts.items() for anchor in said(part, ANCHORS, keywords)}
    return {**anchors, **{at: at for at in parts}}


def references(part: Part, keywords: Collection[str]) -> list[str]:
    return said(part, REFERENCES, keywords)


def said(part: Part, some: Collection[str], keywords: Collection[str]) -> list[str]:
    """What a part says under these keywords, as far as they mean anything in its draft."""
    if isinstance(part, bool):
        return []
    return [value for keyword, value in part.items() if keyword in some and keyword in keywords]


def applied_together(
    parts: Mapping[str, Part], keywords: Collection[str], meant: Mapping[str, str]
) -> dict[str, list[str]]:
    """Of each part, those that look at the same value as it does, for they may not lead back to it."""
    return {
        at: [
            *(at + step for keyword, step, _ in children(part, keywords) if keyword in ON_THE_SAME_VALUE),
            *(meant[reference] for reference in references(part, keywords)),
        ]
        for at, part in parts.items()
    }


class Endless(ValueError):  # noqa: N818  (it is named for what is wrong with a schema)
    """Checking one value would never end, or take too long. At which part, and why."""

    def __init__(self, at: str, problem: str) -> None:
        super().__init__(problem)
        self.at = at


def expanded(together: Mapping[str, list[str]]) -> None:
    """Follows what is applied to one value, as checking it will.

    Raises:
        Endless: a part leads back to itself before a field or an item is looked at, or on for too long.
    """
    known: dict[str, tuple[int, int]] = {}

    def follow(at: str, trail: tuple[str, ...]) -> tuple[int, int]:
        if at in trail:
            raise Endless(at, "it refers to itself without looking at a field or an item first")
        if at not in known:
            if len(trail) >= LONGEST_CHAIN:  # before Python's own limit
                raise Endless(at, TOO_MUCH)
            below = [follow(one, (*trail, at)) for one in together[at]]
            known[at] = (
                1 + sum(count for count, _ in below),
                1 + max((chain for _, chain in below), default=0),
            )
            if known[at][0] > MOST_EXPANDED or known[at][1] > LONGEST_CHAIN:
                raise Endless(at, TOO_MUCH)
        return known[at]

    for at in together:
        follow(at, ())
