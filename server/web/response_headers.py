"""Headers that make browsers keep responses from the pages of other sites."""

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import Message

PROTECTIVE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def add_headers(message: Message, headers: Mapping[str, str]) -> None:
    """Add the headers that are missing to the start of a response (ASGI)."""
    own_headers = MutableHeaders(scope=message)
    for name, value in headers.items():
        own_headers.setdefault(name, value)
