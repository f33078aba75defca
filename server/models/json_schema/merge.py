"""What several schemas come to that hold at once, word by word; and what a reference points at."""

from collections.abc import Callable, Iterator, Mapping
from math import lcm
from typing import Any

Schema = dict[str, Any]


def merge_schemas(one: Schema, other: Schema) -> Schema:
    """The schema that fits what fits both."""
    whole = {**one, **other}
    for key in one.keys() & other.keys():
        if one[key] != other[key] and (merge := find_merger(key)):
            whole[key] = merge(one[key], other[key])
    constants = [schema["const"] for schema in (one, other) if "const" in schema]
    if "enum" in whole and constants:
        whole["enum"] = [option for option in whole["enum"] if option == constants[0]]
    if len(constants) > 1 and constants[0] != constants[1]:
        whole["enum"] = []
    if "enum" in whole:
        whole.pop("const", None)
    return whole


def find_merger(key: str) -> Callable[[Any, Any], Any] | None:
    if key.startswith(("min", "exclusiveMin")):
        return max
    if key.startswith(("max", "exclusiveMax")):
        return min
    return _MERGERS.get(key)


def merge_properties(one: Schema, other: Schema) -> Schema:
    return {
        **one,
        **other,
        **{name: {"allOf": [one[name], other[name]]} for name in one.keys() & other.keys()},
    }


def merge_required(one: list[str], other: list[str]) -> list[str]:
    return [*one, *(name for name in other if name not in one)]


def merge_types(one: Any, other: Any) -> list[str]:
    """The types that both allow: an integer is a number."""
    found = [
        kind
        for mine, theirs in ((one, other), (other, one))
        for kind in to_type_list(mine)
        if kind in to_type_list(theirs) or (kind == "integer" and "number" in to_type_list(theirs))
    ]
    return list(dict.fromkeys(found))


def to_type_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def merge_multiple_of(one: Any, other: Any) -> Any:
    return lcm(one, other) if isinstance(one, int) and isinstance(other, int) else other


_MERGERS: dict[str, Callable[[Any, Any], Any]] = {
    "additionalProperties": lambda one, other: {"allOf": [one, other]},
    "contains": lambda one, other: {"allOf": [one, other]},
    "enum": lambda one, other: [option for option in one if option in other],
    "items": lambda one, other: {"allOf": [one, other]},
    "multipleOf": merge_multiple_of,
    "not": lambda one, other: {"anyOf": [one, other]},
    "pattern": lambda one, other: one if "^" in one else other,
    "patternProperties": merge_properties,
    "properties": merge_properties,
    "required": merge_required,
    "type": merge_types,
}


def resolve_reference(root: Any, pointer: str) -> Any:
    """What a reference within the schema points at; a schema that fits all where it points elsewhere."""
    if pointer == "#":
        return root
    if not pointer.startswith("#/"):
        return next((part for part in iterate_subschemas(root) if pointer[1:] in anchors(part)), True)
    found = root
    for step in pointer[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return True
    return found


def iterate_subschemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        yield schema
        for inner in schema.values():
            yield from iterate_subschemas(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from iterate_subschemas(inner)


def anchors(schema: Mapping[str, Any]) -> tuple[Any, Any]:
    return schema.get("$anchor"), schema.get("$dynamicAnchor")
