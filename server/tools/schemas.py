"""Builds the tools as clients see them from their code: `python -m docs.generate` writes them into `listed.json`.

A server only reads that file, because building these schemas with pydantic takes a tenth of its start.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from mcp import types

from server.tools.tool import Schema, Tool

OMITTED_KEYWORDS = frozenset(
    {
        "title",
        *("maxLength", "minLength", "maxItems", "maxProperties", "propertyNames"),
        *("maximum", "minimum", "exclusiveMinimum"),
    }
)
"""Titles repeat names. Bounds are enforced, and an error names the one that was broken."""


def build_listed_tools(tools: Mapping[str, Tool]) -> list[types.Tool]:
    return [
        types.Tool(
            name=name,
            title=tool.title,
            description=tool.arguments.__doc__,
            input_schema=inline_definitions(simplify_schema(tool.arguments.model_json_schema())),
            output_schema=drop_keywords(build_result_schema(tool), {"description", "default"}),
            annotations=tool.annotations,
        )
        for name, tool in tools.items()
    ]


def build_result_schema(tool: Tool) -> Schema:
    """The schema of a tool's result, with descriptions of its fields."""
    return inline_definitions(simplify_schema(tool.result.model_json_schema(mode="serialization")))


def simplify_schema(schema: Schema) -> Schema:
    """The schema that pydantic generated, as short as possible, because every conversation pays for it.

    A property that may be null becomes an optional one. A default that matters is repeated in the description, because
    some clients drop `default`; an empty default means "not given". Docstrings of classes are dropped.
    """
    simple: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            simple[key] = {name: simplify_schema(part) for name, part in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
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


def drop_keywords(schema: Any, dropped: AbstractSet[str]) -> Any:
    """The schema without these keywords: some hosts send it to their model with every request."""
    if isinstance(schema, list):
        return [drop_keywords(part, dropped) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: drop_keywords(inner, dropped) for name, inner in part.items()}
        if key in ("properties", "$defs")
        else drop_keywords(part, dropped)
        for key, part in schema.items()
        if key not in dropped
    }
