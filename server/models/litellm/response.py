"""Reads completions from litellm, whole or streamed."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import anyio

from server.debate.facts.text import clean, collapse_whitespace
from server.models import FunctionCall, OnText

MAX_TEXT_LENGTH = 1_000_000
"""Characters after which a stream is closed."""

MAX_CALLS = 16
MAX_NAME_LENGTH = 128
MAX_ARGUMENTS_LENGTH = 20_000
"""Longer arguments of a call are cut, and fail to parse as JSON."""


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    finish_reason: str
    model: str
    usage: Any
    function_calls: tuple[FunctionCall, ...] = ()


def read_completion(response: Any) -> Completion:
    usage = getattr(response, "usage", None)
    if not response.choices:  # filters and proxies may return 200 and no choices
        return Completion("", "", response.model or "", usage)
    choice = response.choices[0]
    calls = CallCollector()
    calls.add(getattr(choice.message, "tool_calls", None) or ())
    return Completion(
        choice.message.content or "",
        choice.finish_reason or "",
        response.model or "",
        usage,
        calls.build_calls(),
    )


async def read_stream(stream: Any, on_text: OnText) -> Completion:
    pieces: list[str] = []
    length = 0
    calls = CallCollector()
    finish, model, usage = "", "", None
    try:
        async for chunk in stream:
            model = chunk.model or model
            usage = getattr(chunk, "usage", None) or usage
            if not chunk.choices:
                continue
            finish = chunk.choices[0].finish_reason or finish
            delta = chunk.choices[0].delta
            calls.add(getattr(delta, "tool_calls", None) or ())
            if piece := delta.content:
                pieces.append(piece)
                length += len(piece)
                on_text(piece)
            if length >= MAX_TEXT_LENGTH:
                finish = "length"
                break
    finally:
        # Closing the connection stops the provider's work, also on cancellation.
        with anyio.move_on_after(1, shield=True):
            await stream.aclose()
    return Completion("".join(pieces), finish, model, usage, calls.build_calls())


class CallCollector:
    """Assembles function calls from streamed pieces."""

    def __init__(self) -> None:
        self._partial_calls: list[_PartialCall] = []

    def add(self, pieces: Iterable[Any]) -> None:
        for position, piece in enumerate(pieces):
            index = getattr(piece, "index", None)
            part = self._find_partial_call(position if index is None else index, getattr(piece, "id", None))
            if part is not None and piece.function is not None:
                part.add(piece.function.name, piece.function.arguments)

    def _find_partial_call(self, index: Any, call_id: Any) -> "_PartialCall | None":
        """The call that a piece belongs to; None for more than `MAX_CALLS`."""
        last = next((part for part in reversed(self._partial_calls) if part.index == index), None)
        # Some providers give every call the index 0: a new id is a new call.
        if last is not None and (not call_id or last.call_id in (None, call_id)):
            last.call_id = call_id or last.call_id
            return last
        if len(self._partial_calls) == MAX_CALLS:
            return None
        self._partial_calls.append(_PartialCall(index, call_id))
        return self._partial_calls[-1]

    def build_calls(self) -> tuple[FunctionCall, ...]:
        return tuple(
            FunctionCall(name, clean(part.arguments))
            for part in self._partial_calls
            if (name := collapse_whitespace(clean(part.name))[:MAX_NAME_LENGTH])
        )


class _PartialCall:
    __slots__ = ("arguments", "call_id", "index", "name")

    def __init__(self, index: Any, call_id: Any) -> None:
        self.index = index
        self.call_id = call_id
        self.name = ""
        self.arguments = ""

    def add(self, name: Any, arguments: Any) -> None:
        if isinstance(name, str):
            self.name = self.name or name
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments)
        if isinstance(arguments, str):
            self.arguments += arguments[: MAX_ARGUMENTS_LENGTH - len(self.arguments)]
