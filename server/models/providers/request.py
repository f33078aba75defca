"""What a request holds besides its messages: the effort, and functions or the schema of the answer."""

from dataclasses import asdict
from typing import Any

from server.debate.facts.setup.options import ThinkingMode
from server.models import Request
from server.models.prices import find_row

EFFORT = "reasoning_effort"

EFFORTS: dict[ThinkingMode, str] = {"low": "low", "medium": "medium", "high": "high", "off": "none"}
"""Our levels of thinking in OpenAI's protocol."""

_BOUNDS = ("maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "format")
_NO_SCHEMAS = (*_BOUNDS, "properties")


def build_extras(name: str, request: Request, *, has_functions: bool = True) -> dict[str, Any]:
    """The fields that an endpoint may refuse: the effort, and the request's functions or the schema of the answer."""
    effort = {EFFORT: EFFORTS[request.thinking]} if request.thinking else {}
    return effort | build_format(name, request, has_functions=has_functions)


def build_format(name: str, request: Request, *, has_functions: bool) -> dict[str, Any]:
    """The request's functions, or else the schema of the answer: some providers refuse both together.

    The table knows few models that support either. So all get them, unless litellm's table denies it; what an endpoint
    refuses is left out from then on. Our own schemas use strict mode. A caller's schema may use keywords that strict
    modes reject, so it is sent unchanged and not strict; a schema of anything but an object is not sent.
    """
    if request.functions and has_functions:
        return {"tools": [{"type": "function", "function": asdict(row)} for row in request.functions]}
    schema, strict = request.prompt.schema, request.prompt.strict
    is_sent = schema is not None and request.sends_schema and (strict or schema.get("type") == "object")
    if not is_sent or find_row(name).get("supports_response_schema") is False:
        return {}
    answer = {"name": "answer", "strict": strict, "schema": remove_bounds(schema) if strict else schema}
    return {"response_format": {"type": "json_schema", "json_schema": answer}}


def remove_bounds(schema: Any) -> Any:
    """The schema without bounds, which strict modes reject. The core checks them."""
    if isinstance(schema, dict):
        plain = {key: remove_bounds(value) for key, value in schema.items() if key not in _NO_SCHEMAS}
        names = {name: remove_bounds(part) for name, part in schema.get("properties", {}).items()}
        return plain | ({"properties": names} if names else {})
    return [remove_bounds(item) for item in schema] if isinstance(schema, list) else schema
