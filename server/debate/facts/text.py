"""Cleaning, quoting and measuring text that models or users wrote."""

import re

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def clean(text: str) -> str:
    """Remove control characters and lone surrogates, which JSON or terminals cannot represent."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return _CONTROL_CHARACTERS.sub(" ", whole.replace("\r\n", "\n").replace("\r", "\n")).strip()


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def quote(text: str) -> str:
    """Mark each line as a quotation, whatever the kind of its line break."""
    return "\n".join("> " + line for line in text.splitlines() or [""])


def format_count(count: int, noun: str) -> str:
    """Format a number of things: 1 turn, 2 turns."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def count_bytes(text: str) -> int:
    return len(text.encode())


def shorten_to_bytes(text: str, max_bytes: int) -> str:
    """Cut the text to `max_bytes`, in UTF-8."""
    if count_bytes(text) <= max_bytes:
        return text
    return text.encode()[: max_bytes - count_bytes("…")].decode(errors="ignore").rstrip() + "…"
