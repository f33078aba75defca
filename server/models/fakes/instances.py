"""A value that a JSON Schema admits, the same one for the same question."""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from server.models.json_schema.narrow import Node, narrow_schema

TextGenerator = Callable[[str], str]
"""From the name of a property to a sentence for it."""


def hash_to_int(*parts: str) -> int:
    return int.from_bytes(sha256("\0".join(parts).encode("utf-8", "replace")).digest()[:6])


def build_instance(schema: Any, question: str, generate_text: TextGenerator) -> Any:
    """The value. None where the schema has no small one, or admits nothing.

    Of several values allowed it takes one by the question's hash, whatever order they are listed in.
    """
    node = narrow_schema(schema)
    return None if node is None else build_value(node, question, generate_text)


def build_value(node: Node, question: str, generate_text: TextGenerator, name: str = "") -> Any:
    hashed = hash_to_int(question, name)
    value: Any
    match node:
        case {"enum": options}:
            value = sorted(options, key=str)[hashed % len(options)]
        case {"anyOf": [first, *_]}:
            value = build_value(first, question, generate_text, name)
        case {"type": "object", "properties": inner}:
            value = {key: build_value(inner[key], question, generate_text, key) for key in inner}
        case {"type": "array"}:
            value = build_array(node, question, generate_text, name)
        case {"type": "integer", "minimum": low, "maximum": high}:
            value = low + hashed % (high - low + 1)
        case {"type": "boolean"}:
            value = hashed % 2 == 0
        case {"type": "null"}:
            value = None
        case _:
            value = fit_text(generate_text(name), node["minLength"], node["maxLength"])
    return value


def build_array(node: Node, question: str, generate_text: TextGenerator, name: str) -> list[Any]:
    first = [build_value(part, question, generate_text, name) for part in node["prefixItems"]]
    values = first[: node["maxItems"]]
    seen = {json.dumps(value, sort_keys=True) for value in values}
    turn = 0
    while len(values) < node["minItems"]:
        # Lists repeat nothing where they must not: what is asked for again is asked under another name.
        value = build_value(
            node["items"], f"{question}{turn or ''}", generate_text, f"{name} {turn}" if turn else name
        )
        turn += 1
        told = json.dumps(value, sort_keys=True)
        if node.get("uniqueItems") and told in seen and turn < 1000:  # noqa: PLR2004  (there may be no other)
            continue
        seen.add(told)
        values.append(value)
    return values


def fit_text(text: str, min_length: int, max_length: int) -> str:
    """The text cut between words, or filled up."""
    if len(text) > max_length:
        head = text[:max_length].rpartition(" ")[0].rstrip(" ,;:")
        text = head if len(head) >= max(min_length, max_length // 2) else text[:max_length].rstrip()
    return text.ljust(min_length, ".")
