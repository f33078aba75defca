"""Text that somebody else wrote: made clean, put on one line, quoted."""

import re

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def clean(text: str) -> str:
    """Text without control characters and lone surrogates; JSON and terminals can carry what is left."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return _CONTROL_CHARACTERS.sub(" ", whole.replace("\r\n", "\n").replace("\r", "\n")).strip()


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def quote(text: str) -> str:
    """Text as a quotation. Every kind of line break is one, so that no line escapes its mark."""
    return "\n".join("> " + line for line in text.splitlines() or [""])


def format_count(count: int, noun: str) -> str:
    """A number of things: 1 turn, 2 turns."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def count_bytes(text: str) -> int:
    return len(text.encode())


def shorten_to_bytes(text: str, max_bytes: int) -> str:
    """Text of at most so many bytes."""
    if count_bytes(text) <= max_bytes:
        return text
    return text.encode()[: max_bytes - count_bytes("…")].decode(errors="ignore").rstrip() + "…"
