"""Completions of OpenAI's protocol, whole and in the events of a stream, with words that depend on the prompt."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

_POSITION = re.compile(r"^> ([A-Z][0-9]{1,2})\. (.*)", re.MULTILINE)

EFFORTS = {"none": 0.0, "low": 0.25, "medium": 1.0, "high": 2.0}
"""How much a model that thinks does so, by `reasoning_effort`, of what it thinks unasked."""

LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")


def build_completion(body: Mapping[str, Any], model: str, text: str, finish_reason: str) -> dict[str, Any]:
    tokens_in = sum(len(str(message.get("content")).split()) for message in body.get("messages", ()))
    tokens_out = len(text.split())
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": model,
        "choices": [
            {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
            "prompt_tokens_details": {"cached_tokens": tokens_in // 2},
            "completion_tokens_details": {"reasoning_tokens": tokens_out // 10},
        },
    }


def find_limit(body: Mapping[str, Any]) -> int:
    """The tokens that a request allows, thinking included; 0 for any number."""
    return next((int(body[name]) for name in LIMIT_FIELDS if body.get(name)), 0)


def add_thoughts(completion: dict[str, Any], body: Mapping[str, Any], tokens: int) -> None:
    """Have the model think for so many tokens first. A word of the text is a token, as is one of the thoughts.

    What it may write as a whole includes its thoughts: what is left of the text then, if anything, is cut.
    """
    choice, usage = completion["choices"][0], completion["usage"]
    limit = find_limit(body) or 10**9
    wanted = int(tokens * EFFORTS[body.get("reasoning_effort") or "medium"])
    thought = min(wanted, body.get("thinking_budget", wanted), limit)
    words = choice["message"]["content"].split(" ")
    if len(words) > (left := limit - thought):
        choice["message"]["content"] = " ".join(words[:left])
        choice["finish_reason"] = "length"
    choice["message"]["reasoning_content"] = "Hmm, let me think. " * min(thought, 20)
    usage["completion_tokens"] = thought + min(len(words), left)
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    usage["completion_tokens_details"]["reasoning_tokens"] = thought


def add_tool_calls(choice: dict[str, Any], calls: Iterable[tuple[str, str]]) -> None:
    """Turn the choice into calls of functions."""
    choice["finish_reason"] = "tool_calls"
    choice["message"]["content"] = None
    choice["message"]["tool_calls"] = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls)
    ]


def split_tool_calls(calls: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The calls as providers stream them: first the name, then pieces of the arguments."""
    for index, whole in enumerate(calls):
        function = whole["function"]
        yield {"index": index, **whole, "function": {"name": function["name"], "arguments": ""}}
        size = max(7, len(function["arguments"]) // 20)
        for start in range(0, len(function["arguments"]), size):
            yield {"index": index, "function": {"arguments": function["arguments"][start : start + size]}}


def split_completion(completion: dict[str, Any]) -> Iterable[str]:
    """The completion as events of a stream, about a hundred at most."""
    choice = completion["choices"][0]
    text = choice["message"]["content"] or ""
    size = max(12, len(text) // 100)
    base = {**completion, "object": "chat.completion.chunk", "usage": None}
    for piece in re.findall(r"\S+\s*", choice["message"].get("reasoning_content", "")):
        delta = {"role": "assistant", "content": None, "reasoning_content": piece}
        yield json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    for start in range(0, len(text), size):
        delta = {"role": "assistant", "content": text[start : start + size]}
        yield json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    for piece in split_tool_calls(choice["message"].get("tool_calls", ())):
        delta = {"role": "assistant", "content": None, "tool_calls": [piece]}
        yield json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield json.dumps(
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    )
    yield json.dumps({**base, "choices": [], "usage": completion["usage"]})
    yield "[DONE]"


def generate_prose(prompt: str, chars: int) -> str:
    words = ("this", "point", "matters", "because", "evidence", "and", "practice", "weigh", "against", "it")
    turn = crc32(prompt.encode())
    wanted = chars // 4 if chars else 60
    text = " ".join(words[(turn + number * number) % len(words)] for number in range(wanted))
    text = text[:1].upper() + text[1:] + "."
    return text[: chars - 1].ljust(chars - 1, "o") + "." if chars else text


def generate_positions() -> str:
    """Positions named from a question, whatever it asks."""
    positions = ["Begin small with it.", "Leave it alone."]
    return json.dumps({"kind": "yes_no", "alternatives": [], "positions": positions, "assumption": ""})


def generate_finding(prompt: str, echo: str = "") -> str:
    """A finding, or a ballot, that depends on question and positions only, not on the order of reading."""
    positions = sorted(set(_POSITION.findall(prompt)), key=lambda position: position[1])
    question = prompt.partition("# Question")[2].partition("# ")[0]
    winner, _ = positions[crc32(question.encode()) % len(positions)] if positions else ("", "")
    others = {label: 10 / max(len(positions) - 1, 1) for label, _ in positions}
    return json.dumps(
        {
            "reasoning": f"{winner} answered what was said against it; the others did not.{echo}",
            "verdict": f"{winner} prevailed.{echo}",
            "winner": winner,
            "criteria": dict.fromkeys(("support", "response", "relevance", "consequences"), winner),
            "beliefs": {**others, winner: 80, "none": 10},
            "would_change": f"A number that nobody gave.{echo}",
            "unargued": [],
            "recommendation": f"Do what {winner} says.{echo}",
            "probability": 80,
            "corrected": "",
            "missed": "",
            "next": f"Measure it.{echo}",
            "cited": sorted(set(re.findall(rf"\b{winner} \d+\.\d+\b", prompt)))[:1] if winner else [],
        }
    )
