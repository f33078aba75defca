"""The faults that chaos injects: failures of providers, crashes, corrupt replies."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

from server.models import FailureCause, FunctionCall, Reply

T = TypeVar("T")

MAX_REPLY_LENGTH = 1_000_000  # characters

FAILURES: tuple[tuple[FailureCause, str, int], ...] = (
    ("rate_limited", "the provider limits the rate of requests", 3),
    ("unavailable", "the provider is down", 3),
    ("unauthorized", "the provider refused the key", 1),
    ("bad_request", "the provider refused the request", 1),
    ("refused", "a content filter stopped it", 1),
    ("unreadable", "the provider's answer could not be read", 1),
)
"""(cause, detail, attempts)."""


class UnprintableError(Exception):
    """An error whose text cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("this error has no text")


CRASHES: tuple[Callable[[], BaseException], ...] = (
    lambda: RuntimeError("chaos"),
    lambda: KeyError("choices"),
    lambda: ZeroDivisionError("chaos"),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "chaos"),
    lambda: RecursionError("chaos"),
    lambda: MemoryError("chaos"),
    lambda: TimeoutError("chaos"),
    lambda: ConnectionResetError("chaos"),
    lambda: ExceptionGroup("chaos", [ValueError("one"), OSError("another")]),
    lambda: asyncio.CancelledError("chaos"),
    lambda: SystemExit("chaos"),
    UnprintableError,
)


def choose_item(items: tuple[T, ...], fraction: float) -> T:
    """The item at a fraction in [0, 1)."""
    return items[int(fraction * len(items))]


def build_text_replacer(text: str, *calls: FunctionCall) -> Callable[[Reply], Reply]:
    return lambda reply: replace(reply, text=text, function_calls=calls)


def truncate_reply(reply: Reply) -> Reply:
    """Half of the reply, not marked as cut."""
    halves = tuple(replace(call, arguments=first_half(call.arguments)) for call in reply.function_calls)
    return replace(reply, text=first_half(reply.text), function_calls=halves)


def first_half(text: str) -> str:
    return text[: (len(text) + 1) // 2]


def insert_control_characters(reply: Reply) -> Reply:
    """With terminal escapes, a change of writing direction and a lone surrogate."""
    return replace(reply, text=reply.text.replace(" ", " \x00\x1b[2J\x07\u202e\ud800\r"))


def repeat_text(reply: Reply) -> Reply:
    text = reply.text or "So it is. "
    return replace(reply, text=(text * (MAX_REPLY_LENGTH // len(text) + 1))[:MAX_REPLY_LENGTH])


CORRUPTIONS: dict[str, Callable[[Reply], Reply]] = {
    "broken off": truncate_reply,
    "wrong fields": build_text_replacer('{"answer": 42, "winner": ["?"], "margin": "lots", "to": null}'),
    "wrong types": build_text_replacer("[null, true, 1e+308]"),
    "no JSON": build_text_replacer("I would rather not put that into a form. {Really}: I would not."),
    "control characters": insert_control_characters,
    "another language": build_text_replacer("我不同意这个观点。 \u202bلست موافقا.\u202c"),
    "a megabyte": repeat_text,
    "nested": build_text_replacer('{"a":' * 50_000),
    "functions that nobody offered": build_text_replacer(
        "", FunctionCall("no_such_function", '{"response": ')
    ),
    "no reply": lambda _: cast("Reply", None),
}
"""By name, what is done to a reply."""
