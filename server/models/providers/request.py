"""What a request offers besides its messages: functions, or the schema of the answer."""

from dataclasses import asdict
from typing import Any

from server.models import Request
from server.models.prices import find_row

REASONING_TOKENS = 4_000  # added for reasoning models, which would use up the reply's own limit

_BOUNDS = ("maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "format")
_NO_SCHEMAS = (*_BOUNDS, "properties")


def build_extras(name: str, request: Request, *, has_functions: bool = True) -> dict[str, Any]:
    """The request's functions, or else the schema of the answer: some providers refuse both together.

    Few models are known to support either, so they get them unless litellm's table says that they do not; what
    an endpoint refuses is left out from then on. Our own schemas use strict mode. A caller's schema may use keywords
    that strict modes reject, so it is sent unchanged and not strict; one of anything but an object is not sent.
    """
    if request.functions and has_functions:
        return {"tools": [{"type": "function", "function": asdict(one)} for one in request.functions]}
    schema, strict = request.prompt.schema, request.prompt.strict
    is_sent = schema is not None and (strict or schema.get("type") == "object")
    if not is_sent or find_row(name).get("supports_response_schema") is False:
        return {}
    answer = {"name": "answer", "strict": strict, "schema": remove_bounds(schema) if strict else schema}
    return {"response_format": {"type": "json_schema", "json_schema": answer}}


def remove_bounds(schema: Any) -> Any:
    """The schema without bounds, which strict modes reject. The core checks them."""
    if isinstance(schema, dict):
        kept = {key: remove_bounds(value) for key, value in schema.items() if key not in _NO_SCHEMAS}
        names = {name: remove_bounds(part) for name, part in schema.get("properties", {}).items()}
        return kept | ({"properties": names} if names else {})
    return [remove_bounds(item) for item in schema] if isinstance(schema, list) else schema
