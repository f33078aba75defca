"""A client that lends its model: it answers by what is asked, refuses, hangs, or answers something else."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
from mcp.types import CreateMessageRequestParams, CreateMessageResult, ErrorData, TextContent

NAME = "gpt-5-mini"

Behaviour = Callable[[str], Any]
"""From a prompt to a message, an error, a text, or something awaitable; None for the usual answer."""


def refuse(_: str = "") -> ErrorData:
    return ErrorData(code=-1, message="User rejected sampling request")


async def hang(_: str = "") -> None:
    await anyio.sleep_forever()


def build_message(text: str, **more: Any) -> CreateMessageResult:
    given = {"model": NAME, "content": TextContent(type="text", text=text), "stop_reason": "endTurn"}
    return CreateMessageResult(role="assistant", **(given | more))


def answer_prompt(prompt: str) -> str:
    """A usable answer to any prompt of a debate: an argument, a ballot, a judgment."""
    asked = prompt[prompt.rfind("Answer with JSON only") :] if "Answer with JSON only" in prompt else ""
    if not asked:
        said = re.findall(r"You are ([^.]+)\. Your position", prompt)
        return f"1. {said[-1] if said else 'Somebody'} says that it holds, no source."
    names = re.findall(r'"([^"]+)": percent', asked)
    share = {name: 70 if not index else 30 // (len(names) - 1) for index, name in enumerate(sorted(names))}
    if '"kind"' in asked:
        return json.dumps({"kind": "yes_no", "positions": ["It holds", "It does not hold"], "assumption": ""})
    found = {
        "beliefs": share,
        "position": "It holds.",
        "would_check": "the figures",
        "winner": min(names),
    }
    return json.dumps({**found, "verdict": "It holds.", "reasoning": "Nobody answered it.", "margin": 2})


@dataclass
class ClientModel:
    """The callback of a client. `behave`: what a prompt of a seat is answered with, where that is not the usual."""

    behave: Behaviour = lambda _: None
    prompts: list[str] = field(default_factory=list)
    requests: list[CreateMessageRequestParams] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0

    async def __call__(
        self, _context: Any, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        content = params.messages[-1].content
        assert isinstance(content, TextContent)
        self.prompts.append(content.text)
        self.requests.append(params)
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            await anyio.lowlevel.checkpoint()
            given = self.behave(content.text)
            given = await given if hasattr(given, "__await__") else given
        finally:
            self.at_once -= 1
        if isinstance(given, CreateMessageResult | ErrorData):
            return given
        return build_message(given if isinstance(given, str) else answer_prompt(content.text))

    def count(self, text: str) -> int:
        return sum(text in prompt for prompt in self.prompts)


def once(behaviour: Behaviour, *marks: str) -> Behaviour:
    """Behave so the first time that a prompt has one of these marks in it, and as usual otherwise."""
    left = [*marks]

    def behave(prompt: str) -> Any:
        found = next((mark for mark in left if mark in prompt), None)
        if found is None:
            return None
        left.remove(found)
        return behaviour(prompt)

    return behave


def always(behaviour: Behaviour, marks: Sequence[str]) -> Behaviour:
    return lambda prompt: behaviour(prompt) if any(mark in prompt for mark in marks) else None
