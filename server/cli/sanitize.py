"""Text of models and callers without anything that a terminal would obey instead of showing it."""

import re

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
# The last group reverses the order in which text is shown, which can change who seems to say what.
_CONTROL_CHARACTER = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]|[\u202a-\u202e\u2066-\u2069]"
)


def sanitize_text(text: str) -> str:
    """Text without escape sequences and control characters; tabs and newlines stay."""
    return _CONTROL_CHARACTER.sub("", _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n")))


def sanitize_line(text: str) -> str:
    """As `sanitize_text`, on one line."""
    return " ".join(sanitize_text(text).split())
