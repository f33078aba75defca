"""The parts of a request besides messages: a response schema and functions."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.models import Function, Prompt

_BOUNDS = ("maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "format")


def build_tools(functions: Sequence[Function]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": function.name,
                "description": function.description,
                "parameters": function.parameters,
            },
        }
        for function in functions
    ]


def build_response_format(prompt: Prompt) -> dict[str, Any] | None:
    """The `response_format` argument; None without a schema, or for a schema of anything but an object.

    Our own schemas use strict mode. A caller's schema may use keywords that strict modes reject, so it is
    sent unchanged and not strict.
    """
    schema = prompt.schema
    if schema is None or not (prompt.strict or schema.get("type") == "object"):
        return None
    sent = remove_bounds(schema) if prompt.strict else schema
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": prompt.strict, "schema": sent}}


def remove_bounds(schema: Any) -> Any:
    """The schema without bounds, which strict modes reject. The core checks them."""
    if isinstance(schema, Mapping):
        return {
            key: {name: remove_bounds(inner) for name, inner in value.items()}
            if key == "properties"
            else remove_bounds(value)
            for key, value in schema.items()
            if key not in _BOUNDS
        }
    return [remove_bounds(item) for item in schema] if isinstance(schema, list) else schema
