"""The schema of all that a tool takes, as short as it can be said."""

from functools import cache
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

OMITTED_KEYWORDS = frozenset(
    {
        *("title", "additionalProperties"),
        *("maxLength", "minLength", "maxItems", "maxProperties", "propertyNames"),
        *("maximum", "minimum", "exclusiveMinimum"),
    }
)
"""Titles repeat names. Bounds are enforced, and an error names the one that was broken. Unknown names are refused with
their place, by the server itself."""


@cache
def build_schema(model: type[BaseModel]) -> Schema:
    """All that a tool takes, with descriptions."""
    return inline_definitions(simplify_schema(model.model_json_schema()))


def simplify_schema(schema: Schema) -> Schema:
    """The schema that pydantic generated, as short as possible, because every conversation pays for it.

    A property that may be null becomes an optional one. A default that matters is repeated in the description, because
    some clients drop `default`; an empty default means "not given". Docstrings of classes are dropped.
    """
    simple: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            simple[key] = {name: simplify_schema(part) for name, part in value.items()}
        elif key == "items":
            simple[key] = simplify_schema(value)
        elif key == "anyOf":
            alternatives = [simplify_schema(part) for part in value if part != {"type": "null"}]
            simple |= alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
        elif key not in OMITTED_KEYWORDS and not (key == "description" and "properties" in schema):
            simple[key] = value
    default = simple.get("default")
    if not default or isinstance(default, dict):
        simple.pop("default", None)
    else:
        lead = f"{simple['description']}. " if "description" in simple else ""
        simple["description"] = f"{lead}Default: {'true' if default is True else default}"
    return simple


def inline_definitions(schema: Schema) -> Schema:
    """The schema with its references resolved, because some clients and strict modes do not follow them."""
    definitions = schema.get("$defs", {})

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(item) for item in part]
        if not isinstance(part, dict):
            return part
        if reference := part.get("$ref"):
            part = definitions[reference.rpartition("/")[2]] | part
        return {key: inline(value) for key, value in part.items() if key not in ("$ref", "$defs")}

    return dict(inline(schema))
