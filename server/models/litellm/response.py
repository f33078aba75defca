"""What a provider said, whole or in pieces."""

import json
from collections.abc import Iterable
from typing import Any

import anyio

from server.debate.facts.text import clean, one_line
from server.models import FunctionCall, OnText

LONGEST_TEXT = 1_000_000
"""Characters of a stream that are waited for: far more than any answer has, and less than memory."""

MOST_CALLS = 16
LONGEST_NAME = 128
LONGEST_ARGUMENTS = 20_000
"""Characters of one call's. What is longer is cut, and is no JSON then."""


class Answer:
    """What a provider said, streamed or not."""

    __slots__ = ("calls", "finish", "model", "text", "usage")

    def __init__(
        self, text: str, finish: str, model: str, usage: Any, calls: tuple[FunctionCall, ...] = ()
    ) -> None:
        self.text = text
        self.finish = finish
        self.model = model
        self.usage = usage
        self.calls = calls


def whole(response: Any) -> Answer:
    usage = getattr(response, "usage", None)
    if not response.choices:  # as filters and proxies answer: with nothing, and 200
        return Answer("", "", response.model or "", usage)
    choice = response.choices[0]
    calls = Calls()
    calls.take(getattr(choice.message, "tool_calls", None) or ())
    return Answer(
        choice.message.content or "",
        choice.finish_reason or "",
        response.model or "",
        usage,
        calls.read(),
    )


async def streamed(stream: Any, on_text: OnText) -> Answer:
    pieces: list[str] = []
    length = 0
    calls = Calls()
    finish, model, usage = "", "", None
    try:
        async for chunk in stream:
            model = chunk.model or model
            usage = getattr(chunk, "usage", None) or usage
            if not chunk.choices:
                continue
            finish = chunk.choices[0].finish_reason or finish
            delta = chunk.choices[0].delta
            calls.take(getattr(delta, "tool_calls", None) or ())
            if piece := delta.content:
                pieces.append(piece)
                length += len(piece)
                on_text(piece)
            if length >= LONGEST_TEXT:
                finish = "length"
                break
    finally:
        # Hanging up is what stops the provider's work, when we are cancelled above all.
        with anyio.move_on_after(1, shield=True):
            await stream.aclose()
    return Answer("".join(pieces), finish, model, usage, calls.read())


class Calls:
    """Calls of functions, put together of their pieces."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def take(self, pieces: Iterable[Any]) -> None:
        for position, piece in enumerate(pieces):
            index = getattr(piece, "index", None)
            part = self._part(position if index is None else index, getattr(piece, "id", None))
            if part is not None and piece.function is not None:
                part.take(piece.function.name, piece.function.arguments)

    def _part(self, index: Any, identity: Any) -> "_Part | None":
        """The call that a piece belongs to; None where there are too many."""
        last = next((part for part in reversed(self._parts) if part.index == index), None)
        # Some providers number every call 0: a new id is a new call.
        if last is not None and (not identity or last.identity in (None, identity)):
            last.identity = identity or last.identity
            return last
        if len(self._parts) == MOST_CALLS:
            return None
        self._parts.append(_Part(index, identity))
        return self._parts[-1]

    def read(self) -> tuple[FunctionCall, ...]:
        return tuple(
            FunctionCall(name, clean(part.arguments))
            for part in self._parts
            if (name := one_line(clean(part.name))[:LONGEST_NAME])
        )


class _Part:
    __slots__ = ("arguments", "identity", "index", "name")

    def __init__(self, index: Any, identity: Any) -> None:
        self.index = index
        self.identity = identity
        self.name = ""
        self.arguments = ""

    def take(self, name: Any, arguments: Any) -> None:
        if isinstance(name, str):
            self.name = self.name or name
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments)
        if isinstance(arguments, str):
            room = LONGEST_ARGUMENTS - len(self.arguments)
            self.arguments += arguments[:room]
