"""A model that follows a script: no key, no network, no delay.

Its answers depend on the request alone: the same debate gives the same words.
"""

import re
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Self
from urllib.parse import parse_qsl

import anyio

from server.models import FunctionCall, OnText, Reply, Request, Usage, limit_time
from server.models.fakes.default_script import build_function_calls, build_reply_text

ScriptOutput = str | tuple[FunctionCall, ...]
"""A text, or function calls in place of one."""

Script = Callable[[Request], ScriptOutput | Awaitable[ScriptOutput]]

_MAX_DELAY = 3600
_MAX_CHARS = 1_000_000  # built without a pause, while the event loop waits


def is_scripted(name: str) -> bool:
    return name.partition("?")[0] == "scripted"


class ScriptedModel:
    """Follows `script`, which may raise a `ModelError`, or the default script."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        delay: float = 0.0,
        name: str = "scripted",
        chars: int = 0,
        record_requests: bool = True,
    ) -> None:
        self.script = script or (
            lambda request: build_function_calls(request, chars) or build_reply_text(request, chars)
        )
        self.delay = delay  # seconds before an answer
        self.name = name
        self.chars = chars  # the exact length of an argument; 0 for about 80 words
        self.record_requests = record_requests
        self.requests: list[Request] = []  # for tests; empty without `record_requests`

    @classmethod
    def from_name(cls, name: str) -> Self:
        """The model of a name like "scripted?delay=0.2&chars=1200". Raises ValueError for another parameter."""
        query = name.partition("?")[2]
        try:
            given = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
            delay, chars = float(given.pop("delay", "0")), int(given.pop("chars", "0"))
            is_valid = not given and 0 <= delay <= _MAX_DELAY and 0 <= chars <= _MAX_CHARS
        except ValueError:
            is_valid = False
        if not is_valid:
            advice = f"(delay: 0 to {_MAX_DELAY} seconds; chars: 0 to {_MAX_CHARS})"
            example = f'Write "scripted", or with parameters "scripted?delay=0.2&chars=1200" {advice}.'
            raise ValueError(f'"{name}" is not understood. {example}')
        return cls(delay=delay, chars=chars, name=name, record_requests=False)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        if self.record_requests:
            self.requests.append(request)
        started = anyio.current_time()
        with limit_time(self.name, request.timeout):
            await anyio.sleep(self.delay)
            output = self.script(request)
            answer = await output if isawaitable(output) else output
        text, calls = (answer, ()) if isinstance(answer, str) else ("", answer)
        if on_text:
            for piece in re.findall(r"\s*\S+\s*?|\s+", text):
                on_text(piece)
        usage = Usage(
            model=self.name,
            input_tokens=sum(len(message.content.split()) for message in request.prompt.messages),
            output_tokens=len(text.split()) + sum(len(call.arguments.split()) for call in calls),
            cost_usd="0",
            milliseconds=round((anyio.current_time() - started) * 1000),
        )
        return Reply(text, usage, function_calls=calls)
