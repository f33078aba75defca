"""What can go wrong with a model, as material for chaos: failures, crashes, and answers that are none."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Never, TypeVar, cast

from server.models import Cause, FunctionCall, Reply

T = TypeVar("T")

LONGEST_ANSWER = 1_000_000  # characters

FAILURES: tuple[tuple[Cause, str, int], ...] = (
    ("rate_limited", "the provider limits the rate of requests", 3),
    ("unavailable", "the provider is down", 3),
    ("unauthorized", "the provider refused the key", 1),
    ("bad_request", "the provider refused the request", 1),
    ("refused", "a content filter stopped it", 1),
    ("unreadable", "the provider's answer could not be read", 1),
)
"""(cause, what is said of it, after how many attempts)."""


class Unprintable(Exception):  # noqa: N818  (it is named for what is wrong with it)
    """An error that makes another of whoever wants to know its text."""

    def __str__(self) -> str:
        raise RuntimeError("nor can this")


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
    Unprintable,
)


def one_of(several: tuple[T, ...], point: float) -> T:
    """point: from 0 to below 1."""
    return several[int(point * len(several))]


def crash(point: float) -> Never:
    error = one_of(CRASHES, point)()
    raise error


def with_text(text: str) -> Callable[[Reply], Reply]:
    return lambda reply: replace(reply, text=text, calls=())


def broken_off(reply: Reply) -> Reply:
    """Without a word of it, as opposed to an answer that its model knows was cut."""
    halves = tuple(replace(call, arguments=half(call.arguments)) for call in reply.calls)
    return replace(reply, text=half(reply.text), calls=halves)


def half(text: str) -> str:
    return text[: (len(text) + 1) // 2]


def controlled(reply: Reply) -> Reply:
    """With what moves a cursor, turns the direction of writing, and is no text at all."""
    return replace(reply, text=reply.text.replace(" ", " \x00\x1b[2J\x07\u202e\ud800\r"))


def endless(reply: Reply) -> Reply:
    text = reply.text or "So it is. "
    return replace(reply, text=(text * (LONGEST_ANSWER // len(text) + 1))[:LONGEST_ANSWER])


CORRUPTIONS: dict[str, Callable[[Reply], Reply]] = {
    "broken off": broken_off,
    "wrong fields": with_text(json.dumps({"answer": 42, "winner": ["?"], "margin": "lots", "to": None})),
    "wrong types": with_text(json.dumps([None, True, 1e308])),
    "no JSON": with_text("I would rather not put that into a form. {Really}: I would not."),
    "control characters": controlled,
    "another language": with_text("我不同意这个观点。 \u202bلست موافقا.\u202c"),
    "a megabyte": endless,
    "nested": with_text('{"a":' * 50_000),
    "functions that nobody offered": lambda reply: replace(
        reply, text="", calls=(FunctionCall("no_such_function", '{"response": '),)
    ),
    "no reply": lambda _: cast("Reply", None),
}
"""What becomes of an answer, by what is wrong with it."""
