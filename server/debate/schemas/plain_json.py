"""JSON that every reader understands alike.

No NaN, no lone surrogates, no integers that others would round.
"""

import json
import re
from typing import Any

from server.debate.facts.text import escape_invisible

MAX_VALUE_DEPTH = 50
MAX_INTEGER = 2**53 - 1

_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_json(value: Any, *, max_depth: int = MAX_VALUE_DEPTH) -> str:
    """The value as compact JSON, in which everything can be seen: invisible characters are written as escapes.

    Raises:
        ValueError: NaN, a lone surrogate, an integer beyond 2**53 - 1, a type that JSON does not have, or
        more than `max_depth` levels. The text says where.
    """
    _check_value(value, (), max_depth)
    return escape_invisible(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def _check_value(value: Any, path: tuple[str | int, ...], max_depth: int) -> None:
    problem = ""
    match value:
        case dict() | list() if len(path) >= max_depth:
            problem = f"is nested deeper than {max_depth} levels"
        case dict():
            invalid = [name for name in value if not isinstance(name, str) or _SURROGATE.search(name)]
            problem = f"has a field whose name is not text: {invalid[0]!r}" if invalid else ""
        case str() if _SURROGATE.search(value):
            problem = "holds a lone surrogate (half a character)"
        case int() if abs(value) > MAX_INTEGER:
            problem = f"is an integer beyond {MAX_INTEGER:,}; write it as a string"
        case float() if not abs(value) < float("inf"):
            problem = f"is {value}, which JSON does not have"
        case _ if not isinstance(value, str | int | float | list | None):
            problem = f"is a {type(value).__name__}, which JSON does not have"
    if problem:
        raise ValueError(f"{'.'.join(map(str, path)) or 'it'} {problem}")
    if isinstance(value, dict | list):
        for step, child in value.items() if isinstance(value, dict) else enumerate(value):
            _check_value(child, (*path, step), max_depth)
