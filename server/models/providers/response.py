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
    thought_length: int = 0  # characters of streamed thoughts, which nobody is shown

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
        """Add the `part` of the first choice, and return its text."""
        self.model = chunk.model or self.model
        self.reply_id = self.reply_id or getattr(chunk, "id", None)
        self.usage = getattr(chunk, "usage", None) or self.usage
        if not chunk.choices:  # filters and proxies may return 200 and no choices
            return ""
        self.finish_reason = chunk.choices[0].finish_reason or self.finish_reason
        message = getattr(chunk.choices[0], part)
        self.add_calls(getattr(message, "tool_calls", None) or ())
        thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
        self.thought_length += len(thought) if isinstance(thought, str) else 0
        self.pieces.append(message.content or "")
        return self.pieces[-1]

    def add_calls(self, pieces: Iterable[Any]) -> None:
        for position, piece in enumerate(pieces):
            index, call_id = getattr(piece, "index", None), getattr(piece, "id", None)
            index = position if index is None else index
            call = next((row for row in reversed(self.calls) if row.index == index), None)
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
            if not completion.pieces:
                on_text("")  # it has begun, if only to think
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
    output_tokens = read_token_count(counts, "completion_tokens")
    return Usage(
        model=qualify_model_name(name, completion.model)[:MAX_MODEL_NAME_LENGTH],
        input_tokens=read_token_count(counts, "prompt_tokens"),
        cached_tokens=read_token_count(getattr(counts, "prompt_tokens_details", None), "cached_tokens"),
        output_tokens=output_tokens,
        thinking_tokens=count_thinking_tokens(completion, output_tokens),
        cost_usd=cost_usd,
        reply_id=completion.reply_id if isinstance(completion.reply_id, str) else "",
    )


def count_thinking_tokens(completion: Completion, output_tokens: int) -> int:
    """The thinking tokens among the output; estimated from characters if the provider does not count them."""
    details = getattr(completion.usage, "completion_tokens_details", None)
    if reasoning_tokens := read_token_count(details, "reasoning_tokens"):
        return min(reasoning_tokens, output_tokens)
    length = completion.thought_length + sum(map(len, completion.pieces))
    return round(output_tokens * completion.thought_length / length) if completion.thought_length else 0


def read_token_count(counts: Any, field: str) -> int:
    """A token count from the provider's JSON, which may hold anything: 0 if it is not an integer."""
    count = getattr(counts, field, 0)
    return min(max(count, 0), MAX_TOKEN_COUNT) if type(count) is int else 0


def qualify_model_name(name: str, reported_name: Any) -> str:
    """The model that replied, as `provider/model`, with the provider that was asked."""
    provider, slash, requested_name = name.partition("/")
    reported_name = collapse_whitespace(clean(reported_name)) if isinstance(reported_name, str) else ""
    if reported_name in ("", requested_name):
        return name
    return (
        reported_name
        if not slash or reported_name.startswith(f"{provider}/")
        else f"{provider}/{reported_name}"
    )
