"""A model that follows a script: the whole product runs on it without a key, a network or a wait.

Its answers depend on the request alone, so that a debate with it can be replayed word for word.
"""

import re
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Self
from urllib.parse import parse_qsl

import anyio

from server.models import FunctionCall, ModelError, OnText, Reply, Request, Usage
from server.models.fakes.default_script import build_function_calls, build_reply_text

ScriptOutput = str | tuple[FunctionCall, ...]
"""A text, or the functions that are called in place of one."""

Script = Callable[[Request], ScriptOutput | Awaitable[ScriptOutput]]

_MAX_CHARS = 1_000_000  # characters: written in one go, while nothing else of the process runs


class ScriptedModel:
    """Follows `script`, which may raise a `ModelError`; without one, says something sensible."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        delay: float = 0.0,
        name: str = "scripted",
        chars: int = 0,
        record_requests: bool = True,
    ) -> None:
        self.script = script
        self.delay = delay  # seconds before an answer
        self.name = name
        self.chars = chars  # the exact length of an argument; 0 for about 80 words
        self.record_requests = record_requests
        self.requests: list[Request] = []  # everything, for tests and scripts; nothing without `remember`

    @classmethod
    def from_name(cls, name: str) -> Self:
        """The model that is called "scripted", or "scripted?delay=0.2&chars=1200".

        It serves as long as the process does, so it does not keep what it was asked.

        Raises:
            ValueError: there is no such parameter, or its value means nothing.
        """
        _, _, query = name.partition("?")
        try:
            given = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
            delay, chars = float(given.pop("delay", "0")), int(given.pop("chars", "0"))
        except ValueError:
            given = {query: ""}
            delay, chars = 0.0, 0
        if given or not 0 <= delay <= 3600 or not 0 <= chars <= _MAX_CHARS:  # noqa: PLR2004  (as the text says)
            raise ValueError(
                f'"{name}" is not understood. Write "scripted", or with parameters '
                f'"scripted?delay=0.2&chars=1200" (delay: 0 to 3600 seconds; chars: 0 to {_MAX_CHARS}).'
            )
        return cls(delay=delay, chars=chars, name=name, record_requests=False)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        if self.record_requests:
            self.requests.append(request)
        try:
            with anyio.fail_after(request.timeout):
                started = anyio.current_time()
                await anyio.sleep(self.delay)
                said = await self._produce_output(request)
        except TimeoutError:
            detail = f"{self.name} did not answer within {request.timeout:g} seconds."
            raise ModelError("timeout", detail) from None
        text, called = (said, ()) if isinstance(said, str) else ("", said)
        if on_text:
            for piece in re.findall(r"\s*\S+\s*?|\s+", text):
                on_text(piece)
        usage = Usage(
            model=self.name,
            input_tokens=sum(len(message.content.split()) for message in request.prompt.messages),
            output_tokens=len(text.split()) + sum(len(call.arguments.split()) for call in called),
            cost_usd="0",
            milliseconds=round((anyio.current_time() - started) * 1000),
        )
        return Reply(text, usage, function_calls=called)

    async def _produce_output(self, request: Request) -> ScriptOutput:
        if self.script is not None:
            told = self.script(request)
            return await told if isawaitable(told) else told
        return build_function_calls(request, self.chars) or build_reply_text(request, self.chars)
