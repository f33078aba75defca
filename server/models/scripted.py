"""A model that follows a script: the whole product runs on it without a key, a network or a wait.

Its answers depend on the request alone, so that a debate with it can be replayed word for word.
"""

import json
import re
from collections.abc import Awaitable, Callable
from hashlib import sha256
from inspect import isawaitable
from typing import Any, Self
from urllib.parse import parse_qsl

import anyio

from server.models import Cue, ModelError, OnText, Reply, Request, Usage

Script = Callable[[Request], str | Awaitable[str]]

_SENTENCES = (
    "The strongest reason for {stance} is what it spares people later, when changing course is dear.",
    "Where {stance} was tried, the effort fell on those who could carry it and the gain went to everybody.",
    "The costs of {stance} are known in advance; the costs of the alternatives appear afterwards.",
    "Nobody has to take {stance} on faith, because it can be tried small and undone.",
    "Much that is said against {stance} describes a careless version that nobody here defends.",
    "I am unsure how large the effect is, but its direction favours {stance} in every case I know.",
    "Those who decide this live with it for years, and {stance} leaves them the most room to move.",
    "A decision has to work on a bad day too, and on a bad day {stance} fails gently.",
    "What is easy to measure speaks against it, what matters in the end speaks for {stance}.",
    "Simple arrangements are the ones people keep to, and {stance} is the simplest on offer.",
)
_WORDS = 80  # about what a debater on this model says in a turn
_LONGEST = 1_000_000  # characters: written in one go, while nothing else of the process runs


class ScriptedModel:
    """Follows `script`, which may raise a `ModelError`; without one, says something sensible."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        delay: float = 0.0,
        name: str = "scripted",
        chars: int = 0,
        remember: bool = True,
    ) -> None:
        self.script = script
        self.delay = delay  # seconds before an answer
        self.name = name
        self.chars = chars  # the exact length of an argument; 0 for about 80 words
        self.remember = remember
        self.asked: list[Request] = []  # everything, for tests and scripts; nothing without `remember`

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
        if given or not 0 <= delay <= 3600 or not 0 <= chars <= _LONGEST:  # noqa: PLR2004  (as the text says)
            raise ValueError(
                f'"{name}" is not understood. Write "scripted", or with parameters '
                f'"scripted?delay=0.2&chars=1200" (delay: 0 to 3600 seconds; chars: 0 to {_LONGEST}).'
            )
        return cls(delay=delay, chars=chars, name=name, remember=False)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        if self.remember:
            self.asked.append(request)
        try:
            with anyio.fail_after(request.timeout):
                started = anyio.current_time()
                await anyio.sleep(self.delay)
                text = await self._text(request)
        except TimeoutError:
            detail = f"{self.name} did not answer within {request.timeout:g} seconds."
            raise ModelError("timeout", detail) from None
        if on_text:
            for piece in re.findall(r"\s*\S+\s*?|\s+", text):
                on_text(piece)
        usage = Usage(
            model=self.name,
            input_tokens=sum(len(message.content.split()) for message in request.prompt.messages),
            output_tokens=len(text.split()),
            cost_usd="0",
            milliseconds=round((anyio.current_time() - started) * 1000),
        )
        return Reply(text, usage)

    async def _text(self, request: Request) -> str:
        if self.script is not None:
            told = self.script(request)
            return await told if isawaitable(told) else told
        if request.prompt.schema is not None:
            return json.dumps(instance(request.prompt.schema, request.prompt.cue), ensure_ascii=False)
        return argument(request, self.chars)


def argument(request: Request, chars: int = 0) -> str:
    cue = request.prompt.cue
    stance = named(cue)
    turn = number(request.seat, cue.stance, str(cue.round), str(request.seed))
    parts = []
    if cue.opponent:
        parts.append(f'Against this it was said: "{excerpt(cue.opponent)}" That does not settle the matter.')
    else:
        parts.append(f"The question is: {excerpt(cue.question)} My answer is {stance}.")
    length = len(parts[0])
    words = len(parts[0].split())
    step = 0
    while length < chars if chars else words < _WORDS and step < len(_SENTENCES):
        # 3 and the number of sentences have no common divisor: each comes up before one is repeated.
        parts.append(_SENTENCES[(turn + 3 * step) % len(_SENTENCES)].format(stance=stance))
        length += 1 + len(parts[-1])
        words += len(parts[-1].split())
        step += 1
    text = " ".join(parts)
    return text[: chars - 1].rstrip().ljust(chars - 1, ".") + "." if chars else text


def instance(schema: dict[str, Any], cue: Cue, name: str = "") -> Any:
    """A value that the schema admits.

    Of several values allowed it takes one by the question's hash, whatever order they are listed in:
    a judge on this model finds for the same side in both orders.
    """
    hashed = number(cue.question, name)
    value: Any
    match schema:
        case {"enum": options}:
            value = sorted(options, key=str)[hashed % len(options)]
        case {"anyOf": [first, *_]}:
            value = instance(first, cue, name)
        case {"type": "object"}:
            inner = schema.get("properties", {})
            value = with_winner({key: instance(inner[key], cue, key) for key in inner}, cue)
        case {"type": "array"}:
            value = [instance(schema["items"], cue, name)] * max(1, schema.get("minItems", 1))
        case {"type": "integer" | "number"}:
            low = schema.get("minimum", 0)
            value = low + hashed % (schema.get("maximum", low + 3) - low + 1)
        case {"type": "boolean"}:
            value = hashed % 2 == 0
        case {"type": "null"}:
            value = None
        case _:
            value = f"{name or 'This'}: nothing more to say."[: schema.get("maxLength", 100)]
    return value


def with_winner(values: dict[str, Any], cue: Cue) -> dict[str, Any]:
    """The same values; where they name a winner, the rest fits it."""
    winner = values.get("winner")
    if isinstance(winner, str) and {"reasoning", "verdict"} <= values.keys():
        stance = dict(cue.positions).get(winner, winner)
        values["reasoning"] = f"{winner} answered what was said against it; the others left points open."
        values["margin"] = 2
        values["verdict"] = f'"{excerpt(stance)}" ({winner}) was better supported.'
    return values


def named(cue: Cue) -> str:
    """The stance as the grammar of a sentence takes it: "my side" where it is a mere yes or no."""
    stance = " ".join(cue.stance.split()).rstrip(".")
    if stance.casefold() in ("", "for", "against", "pro", "con", "yes", "no"):
        return f'the answer "{stance}"' if stance else "this side"
    return f'"{stance}"'


def excerpt(text: str, longest: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[:longest].rpartition(" ")[0] + "…"


def number(*parts: str) -> int:
    return int.from_bytes(sha256("\0".join(parts).encode("utf-8", "replace")).digest()[:6])
