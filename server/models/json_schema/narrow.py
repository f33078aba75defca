"""From any JSON Schema to a small one that a grammar, or a generator, can follow to the end.

The small schema has no references, no conditions and no open ends: what fits it fits the original, as
far as JSON Schema's commoner words go. What it does not know (`not` with anything but values and names,
`propertyNames`, `unevaluated…`) is left out, and is for whoever validates the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

from server.models.json_schema.merge import merge_schemas, resolve_reference, to_type_list
from server.models.json_schema.regex_sample import build_sample

Node = dict[str, Any]
"""A schema of the small kind: `enum`, `anyOf`, or one `type` with its bounds."""

MAX_STEPS = 8_000  # steps for one schema: references to references multiply
MAX_ALTERNATIVES = 12
MAX_RECURSION = 2  # how often a schema may come up within itself

FORMAT_EXAMPLES = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "duration": "P1D",
    "email": "someone@example.org",
    "hostname": "example.org",
    "idn-email": "someone@example.org",
    "idn-hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "iri": "https://example.org/",
    "iri-reference": "https://example.org/",
    "json-pointer": "/result",
    "regex": "^.*$",
    "relative-json-pointer": "0",
    "time": "12:00:00Z",
    "uri": "https://example.org/",
    "uri-reference": "https://example.org/",
    "uri-template": "https://example.org/{id}",
    "uuid": "5f0c6d6e-0d4b-4f5e-8a43-2b8f4d0c9a11",
}
"""A text of each format that JSON Schema names."""

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}
_TYPE_BY_KEYWORD = {  # what a schema without a type is about, by the words it uses
    "properties": "object",
    "required": "object",
    "additionalProperties": "object",
    "minProperties": "object",
    "dependentRequired": "object",
    "items": "array",
    "prefixItems": "array",
    "contains": "array",
    "minItems": "array",
    "uniqueItems": "array",
    "minLength": "string",
    "maxLength": "string",
    "pattern": "string",
    "format": "string",
    "minimum": "number",
    "maximum": "number",
    "exclusiveMinimum": "number",
    "exclusiveMaximum": "number",
    "multipleOf": "number",
}
_COMBINING_KEYWORDS = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else")

Alternatives = list[tuple[dict[str, Any], tuple[str, ...]]]
"""Schemas without the words of `_TOGETHER`, each with the references it was reached by."""


def narrow_schema(schema: Any, *, max_length: int = 160, max_items: int = 3) -> Node | None:
    """The small schema; None where there is none, because nothing fits or it has no end.

    string: the longest text, in characters, where the schema asks for no longer one. items: likewise of
    lists.
    """
    try:
        return _SchemaNarrower(schema, max_length, max_items).narrow(schema)
    except (RecursionError, TypeError, ValueError):
        return None  # too deep, or no schema: those of tools are anybody's


@dataclass
class _SchemaNarrower:
    root: Any
    max_length: int
    max_items: int
    steps_left: int = field(default=MAX_STEPS)

    def narrow(self, schema: Any, refs: tuple[str, ...] = ()) -> Node | None:
        self.steps_left -= 1
        if self.steps_left < 0:
            return None
        nodes = [node for flat, seen in self.flatten(schema, refs) if (node := self.narrow_flat(flat, seen))]
        return build_any_of(nodes)

    def flatten(self, schema: Any, refs: tuple[str, ...]) -> Alternatives:
        """What the schema comes to: one of these."""
        self.steps_left -= 1
        if schema is False or self.steps_left < 0:
            return []
        if not isinstance(schema, Mapping):
            return [({}, refs)]
        found: Alternatives = [
            ({key: value for key, value in schema.items() if key not in _COMBINING_KEYWORDS}, refs)
        ]
        pointer = schema.get("$ref") or schema.get("$dynamicRef")
        if isinstance(pointer, str):
            if refs.count(pointer) >= MAX_RECURSION:
                return []
            found = combine_alternatives(
                found, self.flatten(resolve_reference(self.root, pointer), (*refs, pointer)), len(refs)
            )
        for part in get_list(schema, "allOf"):
            found = combine_alternatives(found, self.flatten(part, refs), len(refs))
        for key in ("anyOf", "oneOf"):
            if key in schema:
                some = [flat for part in get_list(schema, key) for flat in self.flatten(part, refs)]
                found = combine_alternatives(found, some, len(refs))
        if "if" in schema:
            met = {"allOf": [schema["if"], schema.get("then", True)]}
            some = self.flatten(met, refs) + self.flatten(schema.get("else", True), refs)
            found = combine_alternatives(found, some, len(refs))
        return found[:MAX_ALTERNATIVES]

    def narrow_flat(self, flat: dict[str, Any], refs: tuple[str, ...]) -> Node | None:
        kinds = find_types(flat)
        if "enum" in flat or "const" in flat:
            options = flat["enum"] if "const" not in flat else [flat["const"]]
            denied = forbidden_values(flat)
            fit = [option for option in options if option not in denied and has_type(option, kinds)]
            return {"enum": fit} if fit else None
        return build_any_of([node for kind in kinds if (node := self.narrow_typed(kind, flat, refs))])

    def narrow_typed(self, type_name: str, flat: dict[str, Any], refs: tuple[str, ...]) -> Node | None:
        match type_name:
            case "string":
                return self.narrow_string(flat)
            case "integer" | "number":
                return narrow_number(flat, is_integer=type_name == "integer")
            case "array":
                return self.narrow_array(flat, refs)
            case "object":
                return self.narrow_object(flat, refs)
        return {"type": type_name}

    def narrow_string(self, flat: dict[str, Any]) -> Node | None:
        if isinstance(flat.get("pattern"), str):
            return {"enum": [build_sample(flat["pattern"], flat.get("minLength", 0), flat.get("maxLength"))]}
        if flat.get("format") in FORMAT_EXAMPLES:
            return {"enum": [FORMAT_EXAMPLES[flat["format"]]]}
        low = max(flat.get("minLength", 0), min(1, flat.get("maxLength", 1)))
        high = max(low, min(flat.get("maxLength", self.max_length), self.max_length))
        return (
            {"type": "string", "minLength": low, "maxLength": high}
            if high <= flat.get("maxLength", high)
            else None
        )

    def narrow_array(self, flat: dict[str, Any], refs: tuple[str, ...]) -> Node | None:
        first = [self.narrow(part, refs) for part in get_list(flat, "prefixItems")]
        rest = self.narrow(flat.get("items", True), refs)
        wanted = self.narrow(flat["contains"], refs) if "contains" in flat else None
        low = int(flat.get("minItems", 0))
        if "contains" in flat:
            if wanted is None:
                return None
            first += [wanted] * int(flat.get("minContains", 1))
        fit = first if None not in first else first[: first.index(None)]
        node: Node = {"type": "array", "prefixItems": fit, "items": rest}
        high = flat.get("maxItems", max(low, self.max_items, len(fit)))
        if rest is None or len(fit) < len(first):
            high = min(high, len(fit))
        if flat.get("uniqueItems"):
            # A grammar cannot tell one from another: the fewer there are, the sooner they differ.
            high = max(low, min(high, max(1, len(fit))))
            node["uniqueItems"] = True
        # An empty list says nothing.
        low = max(low, min(1, high), min(high, len(fit)))
        return node | {"minItems": low, "maxItems": high} if low <= high else None

    def narrow_object(self, flat: dict[str, Any], refs: tuple[str, ...]) -> Node | None:
        required = [name for name in get_list(flat, "required") if isinstance(name, str)]
        given = dict(flat.get("properties") or {})
        for name, needed in (flat.get("dependentRequired") or {}).items():
            if name in given:
                required += [other for other in needed if other not in required]
        extra = flat.get("additionalProperties", True)
        spare = (f"item {count}" for count in range(1, 1 + int(flat.get("minProperties", 0))))
        for name in [*required, *(spare if len(given) < flat.get("minProperties", 0) else ())]:
            if name not in given:
                given[name] = extra
                required.append(name)
        forbidden = forbidden_properties(flat)
        properties: dict[str, Node] = {}
        for name, inner in given.items():
            node = None if name in forbidden else self.narrow(inner, refs)
            if node is not None:
                properties[name] = node
            elif name in required:
                return None
        most = flat.get("maxProperties", len(properties))
        needed = [name for name in properties if name in required]
        kept = [*needed, *(name for name in properties if name not in required)][: max(most, len(needed))]
        return {
            "type": "object",
            "properties": {name: properties[name] for name in properties if name in kept},
            "required": needed if "minProperties" not in flat else kept,
            "additionalProperties": False,
        }


def build_any_of(nodes: list[Node]) -> Node | None:
    if not nodes:
        return None
    return nodes[0] if len(nodes) == 1 else {"anyOf": nodes[:MAX_ALTERNATIVES]}


def get_list(schema: Mapping[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def combine_alternatives(first: Alternatives, second: Alternatives, shared_refs: int) -> Alternatives:
    """What fits one of the first and one of the second. `shared`: how many references they began with."""
    return [
        (merge_schemas(one, other), (*refs, *others[shared_refs:]))
        for one, refs in first
        for other, others in second
    ][:MAX_ALTERNATIVES]


def find_types(flat: Mapping[str, Any]) -> list[str]:
    if "type" in flat:
        return [kind for kind in to_type_list(flat["type"]) if kind in _TYPES]
    if "enum" in flat or "const" in flat:
        return list(_TYPES)
    return [next((_TYPE_BY_KEYWORD[word] for word in flat if word in _TYPE_BY_KEYWORD), "string")]


def has_type(value: Any, type_names: list[str]) -> bool:
    """Whether it is of one of these types. True is no number, and 1.0 is an integer."""
    if isinstance(value, bool):
        return "boolean" in type_names
    if isinstance(value, float) and value.is_integer() and "integer" in type_names:
        return True
    return any(isinstance(value, _TYPES[kind]) for kind in type_names if kind != "boolean")


def forbidden_values(flat: Mapping[str, Any]) -> list[Any]:
    """The values that are forbidden one by one."""
    return [
        value
        for part in negated_schemas(flat)
        for value in ([part["const"]] if "const" in part else get_list(part, "enum"))
    ]


def forbidden_properties(flat: Mapping[str, Any]) -> list[Any]:
    """The properties that must not be there."""
    return [get_list(part, "required")[0] for part in negated_schemas(flat) if get_list(part, "required")]


def negated_schemas(flat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    denied = flat.get("not")
    if not isinstance(denied, Mapping):
        return []
    return [part for part in get_list(denied, "anyOf") or [denied] if isinstance(part, Mapping)]


def narrow_number(flat: Mapping[str, Any], *, is_integer: bool) -> Node | None:
    """Integers where there are some to choose from; a grammar would go on writing decimals for ever."""
    low, high = find_bounds(flat)
    step = flat.get("multipleOf")
    if not isinstance(step, int | float) or step <= 0:
        step = 1 if is_integer or high - low > MAX_ALTERNATIVES else None
    elif is_integer and isinstance(step, float):
        step = 1 if (1 / step).is_integer() else step
    if step is None:
        tenths = [low + (high - low) * count / 10 for count in range(11)]
        options = [round(value, 6) for value in tenths if is_within_bounds(round(value, 6), flat)]
        return {"enum": options} if options else None
    first, last = ceil(low / step), floor(high / step)
    spaced = max(1, (last - first) // 10)
    if step == 1 and is_within_bounds(first, flat) and is_within_bounds(last, flat):
        return {"type": "integer", "minimum": first, "maximum": last} if first <= last else None
    values = [round(count * step, 9) for count in range(first, last + 1, spaced)][:50]
    options = [
        value for value in values if is_within_bounds(value, flat) and (not is_integer or value == int(value))
    ]
    return {"enum": options} if options else None


def find_bounds(flat: Mapping[str, Any]) -> tuple[float, float]:
    lows = [flat[key] for key in ("minimum", "exclusiveMinimum") if is_number(flat.get(key))]
    highs = [flat[key] for key in ("maximum", "exclusiveMaximum") if is_number(flat.get(key))]
    width = max(100, 10 * flat.get("multipleOf", 1))
    if lows:
        return max(lows), min(highs, default=max(lows) + width)
    return (min(highs) - width if highs and min(highs) < 1 else 0), min(highs, default=width)


def is_within_bounds(value: float, flat: Mapping[str, Any]) -> bool:
    return (
        value >= flat.get("minimum", value)
        and value <= flat.get("maximum", value)
        and (not is_number(flat.get("exclusiveMinimum")) or value > flat["exclusiveMinimum"])
        and (not is_number(flat.get("exclusiveMaximum")) or value < flat["exclusiveMaximum"])
    )


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
