"""From any JSON Schema to a small one that a grammar, or a generator, can follow to the end.

The small schema has no references, no conditions and no open ends: what fits it fits the original, as
far as JSON Schema's commoner words go. What it does not know (`not` with anything but values and names,
`propertyNames`, `unevaluated…`) is left out, and is for whoever validates the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

from server.models.json_schema.merge import merged, resolve, types
from server.models.json_schema.regex_sample import sample

Node = dict[str, Any]
"""A schema of the small kind: `enum`, `anyOf`, or one `type` with its bounds."""

MOST_NODES = 8_000  # steps for one schema: references to references multiply
MOST_ALTERNATIVES = 12
DEEPEST = 2  # how often a schema may come up within itself

FORMATS = {
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
_HINTS = {  # what a schema without a type is about, by the words it uses
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
_TOGETHER = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else")

Found = list[tuple[dict[str, Any], tuple[str, ...]]]
"""Schemas without the words of `_TOGETHER`, each with the references it was reached by."""


def narrowed(schema: Any, *, string: int = 160, items: int = 3) -> Node | None:
    """The small schema; None where there is none, because nothing fits or it has no end.

    string: the longest text, in characters, where the schema asks for no longer one. items: likewise of
    lists.
    """
    try:
        return _Narrowing(schema, string, items).narrow(schema)
    except (RecursionError, TypeError, ValueError):
        return None  # too deep, or no schema: those of tools are anybody's


@dataclass
class _Narrowing:
    root: Any
    string: int
    items: int
    left: int = field(default=MOST_NODES)

    def narrow(self, schema: Any, refs: tuple[str, ...] = ()) -> Node | None:
        self.left -= 1
        if self.left < 0:
            return None
        nodes = [node for flat, seen in self.flat(schema, refs) if (node := self.one(flat, seen))]
        return either(nodes)

    def flat(self, schema: Any, refs: tuple[str, ...]) -> Found:
        """What the schema comes to: one of these."""
        self.left -= 1
        if schema is False or self.left < 0:
            return []
        if not isinstance(schema, Mapping):
            return [({}, refs)]
        found: Found = [({key: value for key, value in schema.items() if key not in _TOGETHER}, refs)]
        pointer = schema.get("$ref") or schema.get("$dynamicRef")
        if isinstance(pointer, str):
            if refs.count(pointer) >= DEEPEST:
                return []
            found = both(found, self.flat(resolve(self.root, pointer), (*refs, pointer)), len(refs))
        for part in listed(schema, "allOf"):
            found = both(found, self.flat(part, refs), len(refs))
        for key in ("anyOf", "oneOf"):
            if key in schema:
                some = [flat for part in listed(schema, key) for flat in self.flat(part, refs)]
                found = both(found, some, len(refs))
        if "if" in schema:
            met = {"allOf": [schema["if"], schema.get("then", True)]}
            some = self.flat(met, refs) + self.flat(schema.get("else", True), refs)
            found = both(found, some, len(refs))
        return found[:MOST_ALTERNATIVES]

    def one(self, flat: dict[str, Any], refs: tuple[str, ...]) -> Node | None:
        kinds = kinds_of(flat)
        if "enum" in flat or "const" in flat:
            options = flat["enum"] if "const" not in flat else [flat["const"]]
            denied = denied_by(flat)
            fit = [option for option in options if option not in denied and is_one(option, kinds)]
            return {"enum": fit} if fit else None
        return either([node for kind in kinds if (node := self.typed(kind, flat, refs))])

    def typed(self, kind: str, flat: dict[str, Any], refs: tuple[str, ...]) -> Node | None:
        match kind:
            case "string":
                return self.text(flat)
            case "integer" | "number":
                return number(flat, whole=kind == "integer")
            case "array":
                return self.array(flat, refs)
            case "object":
                return self.object(flat, refs)
        return {"type": kind}

    def text(self, flat: dict[str, Any]) -> Node | None:
        if isinstance(flat.get("pattern"), str):
            return {"enum": [sample(flat["pattern"], flat.get("minLength", 0), flat.get("maxLength"))]}
        if flat.get("format") in FORMATS:
            return {"enum": [FORMATS[flat["format"]]]}
        low = max(flat.get("minLength", 0), min(1, flat.get("maxLength", 1)))
        high = max(low, min(flat.get("maxLength", self.string), self.string))
        return (
            {"type": "string", "minLength": low, "maxLength": high}
            if high <= flat.get("maxLength", high)
            else None
        )

    def array(self, flat: dict[str, Any], refs: tuple[str, ...]) -> Node | None:
        first = [self.narrow(part, refs) for part in listed(flat, "prefixItems")]
        rest = self.narrow(flat.get("items", True), refs)
        wanted = self.narrow(flat["contains"], refs) if "contains" in flat else None
        low = int(flat.get("minItems", 0))
        if "contains" in flat:
            if wanted is None:
                return None
            first += [wanted] * int(flat.get("minContains", 1))
        fit = first if None not in first else first[: first.index(None)]
        node: Node = {"type": "array", "prefixItems": fit, "items": rest}
        high = flat.get("maxItems", max(low, self.items, len(fit)))
        if rest is None or len(fit) < len(first):
            high = min(high, len(fit))
        if flat.get("uniqueItems"):
            # A grammar cannot tell one from another: the fewer there are, the sooner they differ.
            high = max(low, min(high, max(1, len(fit))))
            node["uniqueItems"] = True
        # An empty list says nothing.
        low = max(low, min(1, high), min(high, len(fit)))
        return node | {"minItems": low, "maxItems": high} if low <= high else None

    def object(self, flat: dict[str, Any], refs: tuple[str, ...]) -> Node | None:
        required = [name for name in listed(flat, "required") if isinstance(name, str)]
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
        forbidden = forbidden_by(flat)
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


def either(nodes: list[Node]) -> Node | None:
    if not nodes:
        return None
    return nodes[0] if len(nodes) == 1 else {"anyOf": nodes[:MOST_ALTERNATIVES]}


def listed(schema: Mapping[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def both(first: Found, second: Found, shared: int) -> Found:
    """What fits one of the first and one of the second. `shared`: how many references they began with."""
    return [
        (merged(one, other), (*refs, *others[shared:])) for one, refs in first for other, others in second
    ][:MOST_ALTERNATIVES]


def kinds_of(flat: Mapping[str, Any]) -> list[str]:
    if "type" in flat:
        return [kind for kind in types(flat["type"]) if kind in _TYPES]
    if "enum" in flat or "const" in flat:
        return list(_TYPES)
    return [next((_HINTS[word] for word in flat if word in _HINTS), "string")]


def is_one(value: Any, kinds: list[str]) -> bool:
    """Whether it is of one of these types. True is no number, and 1.0 is an integer."""
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, float) and value.is_integer() and "integer" in kinds:
        return True
    return any(isinstance(value, _TYPES[kind]) for kind in kinds if kind != "boolean")


def denied_by(flat: Mapping[str, Any]) -> list[Any]:
    """The values that are forbidden one by one."""
    return [
        value
        for part in negated(flat)
        for value in ([part["const"]] if "const" in part else listed(part, "enum"))
    ]


def forbidden_by(flat: Mapping[str, Any]) -> list[Any]:
    """The properties that must not be there."""
    return [listed(part, "required")[0] for part in negated(flat) if listed(part, "required")]


def negated(flat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    denied = flat.get("not")
    if not isinstance(denied, Mapping):
        return []
    return [part for part in listed(denied, "anyOf") or [denied] if isinstance(part, Mapping)]


def number(flat: Mapping[str, Any], *, whole: bool) -> Node | None:
    """Integers where there are some to choose from; a grammar would go on writing decimals for ever."""
    low, high = limits(flat)
    step = flat.get("multipleOf")
    if not isinstance(step, int | float) or step <= 0:
        step = 1 if whole or high - low > MOST_ALTERNATIVES else None
    elif whole and isinstance(step, float):
        step = 1 if (1 / step).is_integer() else step
    if step is None:
        tenths = [low + (high - low) * count / 10 for count in range(11)]
        options = [round(value, 6) for value in tenths if within_limits(round(value, 6), flat)]
        return {"enum": options} if options else None
    first, last = ceil(low / step), floor(high / step)
    spaced = max(1, (last - first) // 10)
    if step == 1 and within_limits(first, flat) and within_limits(last, flat):
        return {"type": "integer", "minimum": first, "maximum": last} if first <= last else None
    values = [round(count * step, 9) for count in range(first, last + 1, spaced)][:50]
    options = [value for value in values if within_limits(value, flat) and (not whole or value == int(value))]
    return {"enum": options} if options else None


def limits(flat: Mapping[str, Any]) -> tuple[float, float]:
    lows = [flat[key] for key in ("minimum", "exclusiveMinimum") if is_number(flat.get(key))]
    highs = [flat[key] for key in ("maximum", "exclusiveMaximum") if is_number(flat.get(key))]
    width = max(100, 10 * flat.get("multipleOf", 1))
    if lows:
        return max(lows), min(highs, default=max(lows) + width)
    return (min(highs) - width if highs and min(highs) < 1 else 0), min(highs, default=width)


def within_limits(value: float, flat: Mapping[str, Any]) -> bool:
    return (
        value >= flat.get("minimum", value)
        and value <= flat.get("maximum", value)
        and (not is_number(flat.get("exclusiveMinimum")) or value > flat["exclusiveMinimum"])
        and (not is_number(flat.get("exclusiveMaximum")) or value < flat["exclusiveMaximum"])
    )


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
