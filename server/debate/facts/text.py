"""Cleaning and measuring text that models or users wrote."""

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from unicodedata import normalize

MAX_HEADING_LENGTH = 200
MOST_NAMES = 4  # in a sentence
MOST_SECONDS = 120  # longer times are told in minutes; and as many minutes in hours

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    # Titles and links. No opening character within: each is read once, also where none is ever closed.
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_ESCAPE_STARTS = "\x1b\x9b\x9d\x90\x98\x9e\x9f"
_LINE_BREAK = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f"  # control characters
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction of writing
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Invisible characters that have an effect or carry data, Unicode's default-ignorable ones included."""


def remove_invisible(text: str) -> str:
    """Text of which everything can be seen: no escape sequence, no control or zero-width character, no tag.

    Every kind of line break becomes a newline; tabs stay; lone surrogates become question marks.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text  # most texts: ten times as fast
    decodable = text.encode("utf-8", "replace").decode("utf-8")
    if any(
        start in decodable for start in _ESCAPE_STARTS
    ):  # to look for whole sequences takes half of the time
        decodable = _ESCAPE_SEQUENCE.sub("", decodable)
    return _INVISIBLE.sub("", _LINE_BREAK.sub("\n", decodable))


def escape_invisible(text: str) -> str:
    """JSON with escapes in place of what `remove_invisible` would remove or replace: its value stays the same."""
    pattern = f"{_LINE_BREAK.pattern}|{_INVISIBLE.pattern}"
    return re.sub(pattern, lambda match: json.dumps(match[0])[1:-1], text)


def clean(text: str) -> str:
    """As `remove_invisible`, without white space around it."""
    return remove_invisible(text).strip()


def clean_line(text: str) -> str:
    """As `clean`, on one line."""
    return collapse_whitespace(remove_invisible(text))


def normalize_topic(text: str) -> str:
    """A topic or a tag as they are compared: however its accents are encoded."""
    return normalize("NFC", normalize("NFC", clean_line(text)).casefold())


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def format_heading(text: str) -> str:
    """Text for a heading or a list item: one line of at most 200 characters."""
    return shorten(clean_line(text), MAX_HEADING_LENGTH)


def format_count(count: int, noun: str) -> str:
    """Format a number of things: 1 turn, 2 turns."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def join_names(names: Iterable[str]) -> str:
    """Ada; Ada and Ben; Ada, Ben, Cy and 4 more. Each once."""
    listed = list(dict.fromkeys(names))
    if len(listed) > MOST_NAMES:
        listed = [*listed[: MOST_NAMES - 1], f"{len(listed) - MOST_NAMES + 1} more"]
    return " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))


def format_dollars(amount: Decimal) -> str:
    """Dollars as people read them: two decimals, or below one dollar three significant digits: $1.20, $0.0123."""
    places = 2 if amount >= 1 else 2 - amount.adjusted()
    whole, _, part = f"{amount:,.{places}f}".partition(".")
    return f"${whole}.{part.rstrip('0'):0<2}"


def format_duration(seconds: float) -> str:
    """A time as people read it: 41 s, 3 min, 2 h."""
    if seconds < MOST_SECONDS:
        return f"{max(seconds, 1):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < MOST_SECONDS else f"{minutes / 60:.0f} h"


def count_bytes(text: str) -> int:
    return len(text.encode())


def shorten(text: str, limit: int) -> str:
    """Cut the text to so many characters, with a mark where some are missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shorten_to_bytes(text: str, max_bytes: int) -> str:
    """Cut the text to `max_bytes`, in UTF-8."""
    if count_bytes(text) <= max_bytes:
        return text
    return text.encode()[: max_bytes - count_bytes("…")].decode(errors="ignore").rstrip() + "…"
