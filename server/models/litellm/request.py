"""What is sent beside the messages: a schema of the answer, and functions to call."""

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
    """None where there is no schema, or one that is refused everywhere: of anything but an object.

    A schema of ours is held to strictly. One of the caller's may use what strict modes do not know; it is
    sent as it is, and followed as well as the model can.
    """
    schema = prompt.schema
    if schema is None or not (prompt.strict or schema.get("type") == "object"):
        return None
    sent = remove_bounds(schema) if prompt.strict else schema
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": prompt.strict, "schema": sent}}


def remove_bounds(schema: Any) -> Any:
    """The schema without bounds: providers refuse those in strict mode, and the core checks them anyway."""
    if isinstance(schema, Mapping):
        return {
            key: {name: remove_bounds(inner) for name, inner in value.items()}
            if key == "properties"
            else remove_bounds(value)
            for key, value in schema.items()
            if key not in _BOUNDS
        }
    return [remove_bounds(item) for item in schema] if isinstance(schema, list) else schema
