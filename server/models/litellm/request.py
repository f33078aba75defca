"""What is sent to litellm: messages, and functions or a response schema."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from server.models import Prompt, Request

REASONING_TOKENS = 4_000
"""Added to the reply's own limit for reasoning models, which would otherwise use it up and return nothing."""

_BOUNDS = ("maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "format")
_NO_SCHEMAS = (*_BOUNDS, "properties")


def parse_provider(name: str) -> str:
    return name.partition("/")[0].lower() if "/" in name else "openai"


def build_arguments(litellm: Any, name: str, request: Request) -> dict[str, Any]:
    is_reasoning = litellm.supports_reasoning(model=name)
    return {
        "model": name,
        "messages": build_messages(name, request.prompt),
        "max_tokens": request.max_tokens + (REASONING_TOKENS if is_reasoning else 0),
        "timeout": request.timeout,
        "num_retries": 0,
        "max_retries": 0,  # of the OpenAI client below litellm
        "drop_params": True,
    }


def build_messages(name: str, prompt: Prompt) -> list[dict[str, Any]]:
    """Messages for litellm; for Anthropic in blocks with a cache mark, which its prompt cache needs."""
    has_blocks = parse_provider(name) == "anthropic" or name.startswith("claude")
    return [
        {"role": role, "content": split_blocks(content) if has_blocks and role == "user" else content}
        for role, content in ((message.role, message.content) for message in prompt.messages)
    ]


def split_blocks(text: str) -> list[dict[str, Any]]:
    """The text in blocks of one section each, the last but one marked for the cache.

    The last section differs by seat. The cache matches the common prefix of prompts by whole blocks.
    """
    parts = re.split(r"(?<=\n\n)(?=\S)", text)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": part} for part in parts if part]
    if len(blocks) > 1:
        blocks[-2]["cache_control"] = {"type": "ephemeral"}
    return blocks


def build_extras(litellm: Any, name: str, request: Request) -> dict[str, Any]:
    """The request's functions, or else the schema of the answer: some providers refuse both together.

    litellm knows for few models whether they can call functions, so all models get them; it drops them for
    providers without function calling. Our own schemas use strict mode. A caller's schema may use keywords
    that strict modes reject, so it is sent unchanged and not strict; one of anything but an object is not sent.
    """
    # For Ollama, litellm would turn functions into a JSON mode in which every reply is a call.
    if request.functions and parse_provider(name) != "ollama":
        return {"tools": [{"type": "function", "function": asdict(one)} for one in request.functions]}
    schema, strict = request.prompt.schema, request.prompt.strict
    is_sent = schema is not None and (strict or schema.get("type") == "object")
    if not is_sent or not litellm.supports_response_schema(model=name):
        return {}
    answer = {"name": "answer", "strict": strict, "schema": remove_bounds(schema) if strict else schema}
    return {"response_format": {"type": "json_schema", "json_schema": answer}}


def remove_bounds(schema: Any) -> Any:
    """The schema without bounds, which strict modes reject. The core checks them."""
    if isinstance(schema, Mapping):
        kept = {key: remove_bounds(value) for key, value in schema.items() if key not in _NO_SCHEMAS}
        names = {name: remove_bounds(part) for name, part in schema.get("properties", {}).items()}
        return kept | ({"properties": names} if names else {})
    return [remove_bounds(item) for item in schema] if isinstance(schema, list) else schema
