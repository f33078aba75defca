"""What providers return: completions, whole or streamed."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import anyio

from server.debate.facts.text import clean, collapse_whitespace
from server.models import FunctionCall, ModelError, OnText, Reply, Usage

MAX_TEXT_LENGTH = 1_000_000  # characters after which a stream is closed
MAX_CALLS = 16
MAX_NAME_LENGTH = 128
MAX_ARGUMENTS_LENGTH = 20_000  # longer arguments of a call are cut, and fail to parse as JSON
MAX_MODEL_NAME_LENGTH = 200
MAX_TOKEN_COUNT = 10**9  # of one answer: more is a counting error


@dataclass(slots=True)
class _PartialCall:
    index: Any
    call_id: Any
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Completion:
    """A response, or what the chunks of a stream have said so far."""

    pieces: list[str] = field(default_factory=list)
    finish_reason: str = ""
    model: str = ""
    usage: Any = None
    calls: list[_PartialCall] = field(default_factory=list)
    reply_id: Any = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def function_calls(self) -> tuple[FunctionCall, ...]:
        return tuple(
            FunctionCall(name, clean(call.arguments))
            for call in self.calls
            if (name := collapse_whitespace(clean(call.name))[:MAX_NAME_LENGTH])
        )

    def add(self, chunk: Any, part: str) -> str:
        """Add what the first choice says in its `part`, and return its text."""
        self.model = chunk.model or self.model
        self.reply_id = self.reply_id or getattr(chunk, "id", None)
        self.usage = getattr(chunk, "usage", None) or self.usage
        if not chunk.choices:  # filters and proxies may return 200 and no choices
            return ""
        self.finish_reason = chunk.choices[0].finish_reason or self.finish_reason
        said = getattr(chunk.choices[0], part)
        self.add_calls(getattr(said, "tool_calls", None) or ())
        self.pieces.append(said.content or "")
        return self.pieces[-1]

    def add_calls(self, pieces: Iterable[Any]) -> None:
        for position, piece in enumerate(pieces):
            index, call_id = getattr(piece, "index", None), getattr(piece, "id", None)
            index = position if index is None else index
            call = next((one for one in reversed(self.calls) if one.index == index), None)
            # Some providers give every call the index 0: a new id is a new call.
            if call is None or (call_id and call.call_id not in (None, call_id)):
                if len(self.calls) == MAX_CALLS:
                    continue
                call = _PartialCall(index, call_id)
                self.calls.append(call)
            call.call_id = call_id or call.call_id
            if piece.function is None:
                continue
            name, arguments = piece.function.name, piece.function.arguments
            if isinstance(name, str):
                call.name = call.name or name
            if isinstance(arguments, dict):
                arguments = json.dumps(arguments)
            if isinstance(arguments, str):
                call.arguments += arguments[: MAX_ARGUMENTS_LENGTH - len(call.arguments)]


def read_completion(response: Any) -> Completion:
    completion = Completion()
    completion.add(response, "message")
    return completion


async def read_stream(stream: Any, on_text: OnText) -> Completion:
    completion, length = Completion(), 0
    try:
        async for chunk in stream:
            if piece := completion.add(chunk, "delta"):
                on_text(piece)
            length += len(piece)
            if length >= MAX_TEXT_LENGTH:
                completion.finish_reason = "length"
                break
    finally:
        # Closing the connection stops the provider's work, also on cancellation.
        with anyio.move_on_after(1, shield=True):
            await stream.aclose()
    return completion


def build_reply(name: str, completion: Completion, usage: Usage) -> Reply:
    """The reply of the model `name`. Raises ModelError if a content filter stopped it."""
    text, calls = completion.text, completion.function_calls
    if completion.finish_reason == "content_filter" and not (text or calls):
        detail = f"{name}: a content filter stopped it; reword the question or choose another model."
        raise ModelError("refused", detail, attempts=usage.attempts)
    return Reply(text, usage, cut=completion.finish_reason == "length", function_calls=calls)


def build_usage(name: str, completion: Completion, cost_usd: str = "") -> Usage:
    counts = completion.usage
    return Usage(
        model=qualify_model_name(name, completion.model)[:MAX_MODEL_NAME_LENGTH],
        input_tokens=read_token_count(counts, "prompt_tokens"),
        cached_tokens=read_token_count(getattr(counts, "prompt_tokens_details", None), "cached_tokens"),
        output_tokens=read_token_count(counts, "completion_tokens"),
        cost_usd=cost_usd,
        reply_id=completion.reply_id if isinstance(completion.reply_id, str) else "",
    )


def read_token_count(counts: Any, field: str) -> int:
    """A token count from the provider's JSON, which may hold anything: 0 if it is not an integer."""
    count = getattr(counts, field, 0)
    return min(max(count, 0), MAX_TOKEN_COUNT) if type(count) is int else 0


def qualify_model_name(name: str, reported: Any) -> str:
    """The model that replied, with the provider it was requested from: `provider/model`."""
    provider, slash, requested = name.partition("/")
    reported = collapse_whitespace(clean(reported)) if isinstance(reported, str) else ""
    if reported in ("", requested):
        return name
    return reported if not slash or reported.startswith(f"{provider}/") else f"{provider}/{reported}"
