"""Text that somebody else wrote: made clean, put on one line, quoted."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def clean(text: str) -> str:
    """Text without control characters and lone surrogates; JSON and terminals can carry what is left."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return _CONTROL.sub(" ", whole.replace("\r\n", "\n").replace("\r", "\n")).strip()


def one_line(text: str) -> str:
    return " ".join(text.split())


def quote(text: str) -> str:
    """Text as a quotation. Every kind of line break is one, so that no line escapes its mark."""
    return "\n".join("> " + line for line in text.splitlines() or [""])


def counted(number: int, noun: str) -> str:
    """A number of things: 1 turn, 2 turns."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size(text: str) -> int:
    return len(text.encode())


def shortened(text: str, limit: int) -> str:
    """Text of at most so many bytes."""
    if size(text) <= limit:
        return text
    return text.encode()[: limit - size("…")].decode(errors="ignore").rstrip() + "…"
