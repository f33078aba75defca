"""JSON that every reader understands alike: no NaN, no lone surrogates, no integers that others would round."""

import json
from typing import Any

MAX_VALUE_DEPTH = 50
MAX_INTEGER = 2**53 - 1


def plain_json(value: Any, *, max_depth: int = MAX_VALUE_DEPTH) -> str:
    """The value as compact JSON.

    Raises:
        ValueError: JSON cannot hold the value: NaN, a lone surrogate, an integer beyond 2**53 - 1, a type that
            JSON does not have, or more than `max_depth` levels. The text says where.
    """
    _check_value(value, (), max_depth)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _check_value(value: Any, path: tuple[str | int, ...], max_depth: int) -> None:
    problem = _find_problem(value)
    if isinstance(value, dict | list) and len(path) >= max_depth:
        problem = f"is nested deeper than {max_depth} levels"
    if problem:
        raise ValueError(f"{'.'.join(map(str, path)) or 'it'} {problem}")
    if isinstance(value, dict | list):
        for step, child in value.items() if isinstance(value, dict) else enumerate(value):
            _check_value(child, (*path, step), max_depth)


def _find_problem(value: Any) -> str:
    """Why JSON cannot hold this value, its children apart; "" if it can."""
    match value:
        case None | bool() | list():
            return ""
        case str():
            return "" if _is_encodable(value) else "holds a lone surrogate (half a character)"
        case int():
            too_large = f"is an integer beyond {MAX_INTEGER:,}; write it as a string"
            return too_large if abs(value) > MAX_INTEGER else ""
        case float():
            return "" if abs(value) < float("inf") else f"is {value}, which JSON does not have"
        case dict():
            invalid = [name for name in value if not isinstance(name, str) or not _is_encodable(name)]
            return f"has a field whose name is not text: {invalid[0]!r}" if invalid else ""
    return f"is a {type(value).__name__}, which JSON does not have"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
