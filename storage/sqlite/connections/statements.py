"""The statements of the stores as SQLite reads them."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

TRANSLATIONS = [
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\$(\d+)", r"?\1"),
        (r"= any\((\?\d+)::\w+\[\]\)", r"in (select value from json_each(\1))"),
        (r"<> all\((\?\d+)::\w+\[\]\)", r"not in (select value from json_each(\1))"),
        (r"::\w+", ""),
        (r"\bfor (no key update|update|key share)( of \w+)?( skip locked)?", ""),  # SQLite has one writer
        (r"convert_to\((\w+), 'UTF8'\)", r"cast(\1 as blob)"),
        (r"\bgreatest\(", "max("),
        (r"extract\(epoch from clock_timestamp\(\)\)", "null"),  # the time is always given
    )
]


@lru_cache(maxsize=1000)
def translate(sql: str) -> str:
    """A statement of PostgreSQL for SQLite."""
    for pattern, text in TRANSLATIONS:
        sql = pattern.sub(text, sql)
    return sql


def encode_values(values: Iterable[Any]) -> list[Any]:
    return [encode_value(value() if callable(value) else value) for value in values]


def encode_value(value: Any) -> Any:
    if isinstance(value, str):  # a lone surrogate, which JSON allows, matches no name and must not raise
        return value.encode(errors="backslashreplace").decode()
    return json.dumps(value) if isinstance(value, list) else value
