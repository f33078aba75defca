"""Canonical JSON (RFC 8785), the form in which entries are stored and hashed; reading it; and the hashes."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import rfc8785

CHAIN_TAG = b"counterpoint/entry/1\n"
"""Part of every hash: identifies the algorithm, so that a later one gives different hashes."""

_encode_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_MAX_EXACT_INT = 2**53


def encode_json(value: Any) -> bytes:
    """Encode as RFC 8785 says. Raises ValueError for what is no JSON or no Unicode.

    The C encoder of the standard library writes the same bytes, several times faster, for all but floats, large
    integers and keys beyond ASCII (RFC 8785 sorts those by UTF-16).
    """
    return _encode_sorted(value).encode() if _is_plain(value) else rfc8785.dumps(value)


class AmbiguousError(ValueError):
    """JSON that readers take differently: a name stands twice in an object, or a number is none."""


def parse_json(text: str | bytes) -> Any:
    """A value that every reader understands alike. Raises ValueError, RecursionError.

    Of two fields with one name some readers take the first and others the last: a forged one could hide a true one.
    """
    return _strict_decoder.decode(text if isinstance(text, str) else text.decode())


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        name_twice = next(name for name in names if names.count(name) > 1)
        raise AmbiguousError(f"the name {name_twice[:60]!r} stands twice in an object")
    return fields


def _refuse_constant(text: str) -> None:
    raise AmbiguousError(f"{text} is no number that JSON has")


_strict_decoder = json.JSONDecoder(object_pairs_hook=_build_object, parse_constant=_refuse_constant)


def encode_canonical(seq: int, at: str, actor: str, body: Mapping[str, Any]) -> bytes:
    """The bytes of an entry that are stored and hashed: canonical JSON (RFC 8785)."""
    return encode_json({"seq": seq, "at": at, "actor": actor, "body": dict(body)})


def genesis_hash(stream: str) -> bytes:
    """The previous hash of a first entry; depends on the stream's name."""
    return sha256(CHAIN_TAG + stream.encode()).digest()


def link_hash(previous: bytes, entry_bytes: bytes) -> bytes:
    return sha256(CHAIN_TAG + previous + entry_bytes).digest()


def _is_plain(value: Any) -> bool:
    kind = type(value)  # of a subclass nothing is known
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_MAX_EXACT_INT < value < _MAX_EXACT_INT)
    if kind is dict:
        has_plain_keys = {*map(type, value)} <= {str} and "".join(value).isascii()
        return has_plain_keys and _is_plain([*value.values()])
    return (kind is list or kind is tuple) and all(map(_is_plain, [p for p in value if type(p) is not str]))
