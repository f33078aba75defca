"""Canonical JSON (RFC 8785), the form in which entries are stored and hashed."""

import json
from typing import Any

import rfc8785

_encode_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_MAX_EXACT_INT = 2**53


def encode_json(value: Any) -> bytes:
    """Encode as RFC 8785 says. Raises ValueError for what is no JSON or no Unicode.

    The C encoder of the standard library writes the same bytes, several times faster, for all but floats, large
    integers and keys beyond ASCII (RFC 8785 sorts those by UTF-16).
    """
    return _encode_sorted(value).encode() if _is_plain(value) else rfc8785.dumps(value)


def _is_plain(value: Any) -> bool:
    kind = type(value)  # of a subclass nothing is known
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_MAX_EXACT_INT < value < _MAX_EXACT_INT)
    if kind is dict:
        has_plain_keys = {*map(type, value)} <= {str} and "".join(value).isascii()
        return has_plain_keys and all(map(_is_plain, value.values()))
    return (kind is list or kind is tuple) and all(map(_is_plain, value))
