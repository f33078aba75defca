"""JSON Schema as clients handle it best, and as short as it can be: every conversation pays for it."""

from typing import Any

NULL_SCHEMA = {"type": "null"}

OMITTED_KEYWORDS = frozenset(
    {"title", "maxLength", "minLength", "maxItems", "maximum", "minimum", "exclusiveMinimum"}
)
"""Titles repeat names. Bounds are enforced, and an error names the one that was broken."""


def simplify_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that pydantic generated, in fewer words and without null.

    A property that may be null is an optional one. A default that matters stands in the description too,
    because some clients drop `default`; an empty one means "not given". Docstrings of classes are dropped.
    """
    simple: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            simple[key] = {name: simplify_schema(part) for name, part in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            simple[key] = simplify_schema(value)
        elif key == "anyOf":
            simple |= simplify_union(value)
        elif key not in OMITTED_KEYWORDS and not (key == "description" and "properties" in schema):
            simple[key] = value
    return describe_default(simple)


def simplify_union(alternatives: list[dict[str, Any]]) -> dict[str, Any]:
    """The union without null; the schema itself where only one is left."""
    kept = [simplify_schema(part) for part in alternatives if part != NULL_SCHEMA]
    return kept[0] if len(kept) == 1 else {"anyOf": kept}


def describe_default(schema: dict[str, Any]) -> dict[str, Any]:
    default = schema.get("default")
    if not default or isinstance(default, dict):
        return {key: value for key, value in schema.items() if key != "default"}
    text = "true" if default is True else str(default)
    description = f"{schema['description']}. " if "description" in schema else ""
    return {**schema, "description": f"{description}Default: {text}"}
