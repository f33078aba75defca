"""Requests and responses of Anthropic's and Google's protocols, to and from those of OpenAI's."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.support.provider.completions import LIMIT_FIELDS, split_completion

_FINISH_ANTHROPIC = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_FINISH_GEMINI = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_GEMINI_PATH = re.compile(r"/models/([^/:]+):(stream)?[gG]enerateContent")


class Said(NamedTuple):
    """What one choice of a completion says."""

    thought: str
    text: str
    finish_reason: str
    tokens_in: int
    tokens_out: int
    tokens_thought: int


def is_completion(path: str) -> bool:
    """Whether what is asked for there is a completion, in any of the protocols."""
    path = path.partition("?")[0]
    return path.endswith(("/chat/completions", "/v1/messages")) or bool(_GEMINI_PATH.search(path))


def read_body(path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request as OpenAI's protocol has it. `thinking_budget`: the most tokens of thoughts."""
    if found := _GEMINI_PATH.search(path):
        return read_gemini(body, found[1], is_stream=bool(found[2]))
    return read_anthropic(body) if path.partition("?")[0].endswith("/v1/messages") else dict(body)


def read_anthropic(body: Mapping[str, Any]) -> dict[str, Any]:
    thinking = body.get("thinking") or {}
    messages = [{"content": join_texts(body.get("system"))}]
    messages += [{"content": join_texts(message["content"])} for message in body["messages"]]
    return {
        "model": body["model"],
        "messages": messages,
        LIMIT_FIELDS[0]: body["max_tokens"],
        "stream": body.get("stream", False),
        **({"thinking_budget": thinking["budget_tokens"]} if "budget_tokens" in thinking else {}),
    }


def read_gemini(body: Mapping[str, Any], model: str, *, is_stream: bool) -> dict[str, Any]:
    configured = body.get("generationConfig") or {}
    thinking = configured.get("thinkingConfig") or {}
    contents = [body.get("system_instruction") or {}, *body["contents"]]
    return {
        "model": model,
        "messages": [{"content": join_texts(content.get("parts"))} for content in contents],
        LIMIT_FIELDS[0]: configured.get("maxOutputTokens") or configured.get("max_output_tokens"),
        "stream": is_stream,
        **({"thinking_budget": thinking["thinkingBudget"]} if "thinkingBudget" in thinking else {}),
    }


def join_texts(blocks: Any) -> str:
    """A text, or the texts of several blocks."""
    return blocks if isinstance(blocks, str) else "".join(block.get("text", "") for block in blocks or ())


def write_completion(path: str, completion: dict[str, Any]) -> dict[str, Any]:
    """A completion of OpenAI's protocol as that of this path has it."""
    if _GEMINI_PATH.search(path):
        return write_gemini(read_choice(completion), completion["model"])
    if path.partition("?")[0].endswith("/v1/messages"):
        return write_anthropic(read_choice(completion), completion["model"])
    return completion


def split_events(path: str, completion: dict[str, Any]) -> Iterable[str]:
    """The lines of the completion as a stream of the protocol of this path."""
    if _GEMINI_PATH.search(path):
        return split_gemini(read_choice(completion), completion["model"])
    if path.partition("?")[0].endswith("/v1/messages"):
        return split_anthropic(read_choice(completion), completion["model"])
    return (f"data: {event}" for event in split_completion(completion))


def read_choice(completion: Mapping[str, Any]) -> Said:
    choice, usage = completion["choices"][0], completion["usage"]
    return Said(
        choice["message"].get("reasoning_content", ""),
        choice["message"]["content"],
        choice["finish_reason"],
        usage["prompt_tokens"],
        usage["completion_tokens"],
        usage["completion_tokens_details"]["reasoning_tokens"],
    )


def write_anthropic(said: Said, model: str) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    if said.thought:
        blocks.append({"type": "thinking", "thinking": said.thought, "signature": "of the stub"})
    if said.text:
        blocks.append({"type": "text", "text": said.text})
    return {
        "id": "msg_stub",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": _FINISH_ANTHROPIC[said.finish_reason],
        "usage": {"input_tokens": said.tokens_in, "output_tokens": said.tokens_out},
    }


def split_anthropic(said: Said, model: str) -> Iterable[str]:
    whole = write_anthropic(said, model)
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        field = "thinking" if kind == "thinking" else "text"
        start = {"type": "content_block_start", "index": index, "content_block": {**block, field: ""}}
        deltas = [
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": f"{field}_delta", field: piece},
            }
            for piece in re.findall(r"\S+\s*", block[field])
        ]
        events += [start, *deltas, {"type": "content_block_stop", "index": index}]
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events += [{"type": "message_delta", "delta": ended, "usage": whole["usage"]}, {"type": "message_stop"}]
    return (f"event: {event['type']}\ndata: {json.dumps(event)}" for event in events)


def write_gemini(said: Said, model: str) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": said.thought, "thought": True}] if said.thought else []
    parts += [{"text": said.text}] if said.text else []
    content = {"role": "model", **({"parts": parts} if parts else {})}
    return {
        "candidates": [{"content": content, "finishReason": _FINISH_GEMINI[said.finish_reason], "index": 0}],
        "modelVersion": model,
        "responseId": "gemini-stub",
        "usageMetadata": {
            "promptTokenCount": said.tokens_in,
            "candidatesTokenCount": said.tokens_out - said.tokens_thought,
            "thoughtsTokenCount": said.tokens_thought,
            "totalTokenCount": said.tokens_in + said.tokens_out,
        },
    }


def split_gemini(said: Said, model: str) -> Iterable[str]:
    whole = write_gemini(said, model)
    for part in whole["candidates"][0]["content"].pop("parts", ()):
        for piece in re.findall(r"\S+\s*", part["text"]):
            content = {"role": "model", "parts": [{**part, "text": piece}]}
            yield f"data: {json.dumps({'candidates': [{'content': content, 'index': 0}], 'modelVersion': model})}"
    yield f"data: {json.dumps(whole)}"
