"""A value that a JSON Schema admits, the same one for the same question."""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from server.models.json_schema.narrow import Node, narrowed

Say = Callable[[str], str]
"""From the name of a property to a sentence for it."""


def number(*parts: str) -> int:
    return int.from_bytes(sha256("\0".join(parts).encode("utf-8", "replace")).digest()[:6])


def instance(schema: Any, question: str, say: Say) -> Any:
    """The value. None where the schema has no small one, or admits nothing.

    Of several values allowed it takes one by the question's hash, whatever order they are listed in.
    """
    node = narrowed(schema)
    return None if node is None else filled(node, question, say)


def filled(node: Node, question: str, say: Say, name: str = "") -> Any:
    hashed = number(question, name)
    value: Any
    match node:
        case {"enum": options}:
            value = sorted(options, key=str)[hashed % len(options)]
        case {"anyOf": [first, *_]}:
            value = filled(first, question, say, name)
        case {"type": "object", "properties": inner}:
            value = {key: filled(inner[key], question, say, key) for key in inner}
        case {"type": "array"}:
            value = some(node, question, say, name)
        case {"type": "integer", "minimum": low, "maximum": high}:
            value = low + hashed % (high - low + 1)
        case {"type": "boolean"}:
            value = hashed % 2 == 0
        case {"type": "null"}:
            value = None
        case _:
            value = fitted(say(name), node["minLength"], node["maxLength"])
    return value


def some(node: Node, question: str, say: Say, name: str) -> list[Any]:
    first = [filled(part, question, say, name) for part in node["prefixItems"]]
    values = first[: node["maxItems"]]
    seen = {json.dumps(value, sort_keys=True) for value in values}
    turn = 0
    while len(values) < node["minItems"]:
        # Lists repeat nothing where they must not: what is asked for again is asked under another name.
        value = filled(node["items"], f"{question}{turn or ''}", say, f"{name} {turn}" if turn else name)
        turn += 1
        told = json.dumps(value, sort_keys=True)
        if node.get("uniqueItems") and told in seen and turn < 1000:  # noqa: PLR2004  (there may be no other)
            continue
        seen.add(told)
        values.append(value)
    return values


def fitted(text: str, shortest: int, longest: int) -> str:
    """The text cut between words, or filled up."""
    if len(text) > longest:
        head = text[:longest].rpartition(" ")[0].rstrip(" ,;:")
        text = head if len(head) >= max(shortest, longest // 2) else text[:longest].rstrip()
    return text.ljust(shortest, ".")
