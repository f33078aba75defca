"""Schemas as grammars that a small model can follow to the end.

The runtime takes a schema that it does not understand without a word, and then generates anything.
"""

import json
from typing import Any

from server.models.json_schema.narrow import Node

MAX_STRING_LENGTH = 160  # characters of a text
MAX_ITEMS = 3


def build_grammar(schema: dict[str, Any]) -> str:
    """The schema as a grammar. Free white space would be filled with line breaks until the tokens end."""
    compact = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return "%llguidance {}\nstart: %json " + json.dumps(schema | {"x-guidance": compact})


def bound_schema(schema: Any) -> Any:
    """The schema with short strings and lists: what fits it fits the original."""
    if isinstance(schema, list):
        return [bound_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: bound_schema(value) for key, value in schema.items()}
    if schema.get("type") == "string" and "enum" not in schema:
        kept["maxLength"] = min(schema.get("maxLength", MAX_STRING_LENGTH), MAX_STRING_LENGTH)
    if schema.get("type") == "array":
        kept["maxItems"] = max(schema.get("minItems", 0), min(schema.get("maxItems", 9), MAX_ITEMS))
    return kept


def restrict_strings(node: Node) -> Node:
    """The schema with texts of plain letters and signs: one byte each, and none to be escaped.

    Left alone the model fills texts with emoji, which take many tokens each, or with digits.
    """
    match node:
        case {"type": "string", "minLength": low, "maxLength": high} if high:
            rest = f"{{{max(low - 1, 0)},{high - 1}}}"
            return {"type": "string", "pattern": f"^[A-Z][ !#-\\[\\]-~]{rest}$"}
        case {"type": "object", "properties": inner}:
            return node | {"properties": {key: restrict_strings(inner[key]) for key in inner}}
        case {"type": "array", "prefixItems": first, "items": rest}:
            kept = {key: node[key] for key in ("type", "minItems", "maxItems")}
            if first:
                kept["prefixItems"] = [restrict_strings(part) for part in first]
            return kept | {"items": restrict_strings(rest) if rest else {"type": "null"}}
        case {"anyOf": parts}:
            return {"anyOf": [restrict_strings(part) for part in parts]}
    return node


def compute_max_bytes(node: Node) -> int:
    """The bytes of the longest answer. A token has one at least."""
    match node:
        case {"enum": options}:
            return max(len(json.dumps(option)) for option in options) + 1
        case {"anyOf": parts}:
            return max(map(compute_max_bytes, parts))
        case {"type": "object", "properties": inner}:
            return 2 + sum(len(json.dumps(key)) + compute_max_bytes(inner[key]) + 4 for key in inner)
        case {"type": "array", "prefixItems": first, "items": rest, "maxItems": high}:
            more = max(0, high - len(first)) * (compute_max_bytes(rest) + 2) if rest else 0
            return 2 + sum(compute_max_bytes(part) + 2 for part in first[:high]) + more
        case {"type": "string", "maxLength": high}:
            return int(high) + 3
    return 24
