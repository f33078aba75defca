"""Removes secrets from texts that are logged, stored or shown."""

import re
from collections.abc import Mapping

_SECRET_NAME_PATTERN = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)(_ID)?$", re.IGNORECASE)
_SECRET_TEXT_PATTERN = re.compile(
    r"\b[sprx]k[-_][\w*.-]{6,}|\b(?:AIza|gsk_|xai-|ghp_|hf_)[\w-]{6,}"
    r"|\b(?:bearer|basic)\s+[\w.~+/*=-]+"
    r"|(?<=[?&]key=)[^&\s]+|(?<=://)[^/\s@]+:[^/\s@]+(?=@)",
    re.IGNORECASE,
)

MIN_SECRET_LENGTH = 6


def redact(text: str, environ: Mapping[str, str]) -> str:
    """The text with "[secret]" in place of secret values of `environ` and of what looks like a key."""
    # The longest first: one secret may be the prefix of another.
    values = {
        value
        for name, value in environ.items()
        if len(value) >= MIN_SECRET_LENGTH and _SECRET_NAME_PATTERN.search(name)
    }
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "[secret]")
    return _SECRET_TEXT_PATTERN.sub("[secret]", text)
