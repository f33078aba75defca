"""Schemas as grammars that the small model can follow to the end.

The runtime (llguidance) compiles a JSON Schema itself. It ignores keywords that it does not know, so the reply must
still be validated. This module adds bounds, because the model does not stop by itself.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from server.models import ModelError

MAX_STRING_LENGTH = 160  # characters
MIN_STRING_LENGTH = 20
MAX_STRINGS_LENGTH = 1_000  # characters of all strings together
MAX_ITEMS = 3


SCHEMA_TOO_LARGE = (
    "local: the embedded model is too small for this result. Choose another model, or a smaller schema."
)


def build_grammar(schema: dict[str, Any]) -> str:
    """The schema as a grammar with fixed white space: otherwise the model writes white space until its tokens end."""
    options = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": True}
    return "%llguidance {}\nstart: %json " + json.dumps(schema | {"x-guidance": options})


def bound_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A stricter schema: short strings and lists, fewer fields. Raises ModelError for a long `minLength`."""
    strings = json.dumps(schema).count('"string"')
    length = min(MAX_STRING_LENGTH, max(MIN_STRING_LENGTH, MAX_STRINGS_LENGTH // max(strings, 1)))
    return _Bounds(length, MAX_ITEMS if strings <= MAX_ITEMS else 1).bound(schema)


@dataclass(frozen=True, slots=True)
class _Bounds:
    length: int  # of a string, in characters
    items: int  # of a list
    is_recursive: bool = False  # within a definition, which may contain itself
    is_partial: bool = False  # the schema is merged with others: it may not forbid their fields

    def bound(self, schema: Any) -> dict[str, Any]:
        schema = add_type(schema if isinstance(schema, dict) else {})
        bounds = dict(schema)
        for keyword in {"allOf", "anyOf", "oneOf", "prefixItems"} & schema.keys():
            is_merged = keyword == "allOf" or (keyword != "prefixItems" and "properties" in schema)
            inner = replace(self, is_partial=True) if is_merged else self
            bounds[keyword] = [inner.bound(part) for part in schema[keyword]]
        for keyword in {"$defs", "definitions"} & schema.keys():
            inner = replace(self, is_recursive=True)
            bounds[keyword] = {name: inner.bound(part) for name, part in schema[keyword].items()}
        types = schema.get("type", ())
        if "object" in types:
            bounds |= self.bound_object(schema)
        if "array" in types:
            bounds |= self.bound_array(schema)
        if "string" in types and "enum" not in schema:
            bounds |= self.bound_string(schema)
        if "integer" in types or "number" in types:
            # A range, and two decimals at most: the model would go on writing digits.
            lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
            highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
            bounds |= {} if lows else {"minimum": min([0, *(high - 100 for high in highs if high < 0)])}
            bounds |= {} if highs else {"maximum": max(lows, default=0) + 100}
            bounds |= {} if "multipleOf" in schema or "number" not in types else {"multipleOf": 0.01}
        return bounds

    def bound_object(self, schema: dict[str, Any]) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required_names = schema.get("required") or list(properties)
        names = dict.fromkeys(
            [*(name for name in properties if name in required_names or self.is_partial), *required_names]
        )
        inner = replace(self, is_partial=False)
        fields = {name: inner.bound(properties.get(name, True)) for name in names}
        limits = {} if self.is_partial else {"required": list(names), "additionalProperties": False}
        return {"properties": fields} | limits

    def bound_array(self, schema: dict[str, Any]) -> dict[str, Any]:
        items = schema.get("items", True)
        is_recursive = self.is_recursive or '"#"' in json.dumps(items)
        usual = 0 if is_recursive else 1 if schema.get("uniqueItems") else self.items
        max_items = max(schema.get("minItems", 0), min(schema.get("maxItems", usual), usual))
        inner = replace(self, is_recursive=is_recursive, is_partial=False)
        return {"items": items and inner.bound(items), "maxItems": max_items}

    def bound_string(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Letters and punctuation only: without a pattern the model writes digits, or emoji of many tokens each."""
        min_length = schema.get("minLength", 0)
        if min_length > MAX_STRINGS_LENGTH:
            raise ModelError("bad_request", SCHEMA_TOO_LARGE)
        max_length = max(min_length, min(schema.get("maxLength", self.length), self.length))
        if "pattern" in schema or "format" in schema or not max_length:
            return {"maxLength": max_length}
        min_length = min_length or min(40, max_length // 4)  # otherwise the model writes a single letter
        return {"pattern": f"^[A-Z][ A-Za-z,.;:'()-]{{{max(min_length - 1, 0)},{max_length - 1}}}$"}


def add_type(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with a type, unless something else says what it admits."""
    if not schema.keys().isdisjoint({"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"}):
        return schema
    is_object = not schema.keys().isdisjoint({"properties", "required"})
    return schema | {"type": "object" if is_object else "array" if "items" in schema else "string"}
