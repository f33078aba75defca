"""Fault injection: a model that wraps another and makes some of its calls fail.

The fault of a call is drawn from the seed of the chaos and from the call (its seed, seat and round), never
from the order of calls: the same debate meets the same faults every time.
"""

import asyncio
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, fields, replace
from hashlib import sha256
from itertools import accumulate, cycle, islice
from typing import Any, Literal, Self, TypeVar, assert_never, cast, get_args
from urllib.parse import parse_qsl

import anyio

from server.debate.facts.errors import InvalidRequestError, require
from server.models import FailureCause, FunctionCall, Model, ModelError, OnText, Reply, Request

T = TypeVar("T")
Fault = Literal["failure", "timeout", "corrupt", "truncated", "never", "empty", "crash"]
FAULTS: tuple[Fault, ...] = get_args(Fault)

EXAMPLE_SPEC = "failure=0.1,timeout=0.05,seed=7"

_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE]-?[0-9]{1,3})?|[0-9]+\.")
_AMOUNTS = {
    "latency": (_NUMBER, "number", 3600),
    "seed": (re.compile(r"[0-9]{1,10}"), "whole number", 2**31 - 1),
}

# (cause, detail, number of attempts)
FAILURES: tuple[tuple[FailureCause, str, int], ...] = (
    ("rate_limited", "the provider limits the rate of requests", 3),
    ("unavailable", "the provider is down", 3),
    ("unauthorized", "the provider refused the key", 1),
    ("bad_request", "the provider refused the request", 1),
    ("refused", "a content filter stopped it", 1),
    ("unreadable", "the provider's answer could not be read", 1),
)


class UnprintableError(Exception):
    """An error that fails when it is converted to text."""

    def __str__(self) -> str:
        raise RuntimeError("this error has no text")


CRASHES: tuple[Callable[[], BaseException], ...] = (
    lambda: RuntimeError("chaos"),
    lambda: KeyError("choices"),
    lambda: ZeroDivisionError("chaos"),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "chaos"),
    lambda: RecursionError("chaos"),
    lambda: MemoryError("chaos"),
    lambda: TimeoutError("chaos"),
    lambda: ConnectionResetError("chaos"),
    lambda: ExceptionGroup("chaos", [ValueError("one"), OSError("another")]),
    lambda: asyncio.CancelledError("chaos"),
    lambda: SystemExit("chaos"),
    UnprintableError,
)


def first_half(text: str) -> str:
    return text[: (len(text) + 1) // 2]


def break_off(reply: Reply) -> Reply:
    """Half of the reply, not marked as cut."""
    halves = tuple(replace(call, arguments=first_half(call.arguments)) for call in reply.function_calls)
    return replace(reply, text=first_half(reply.text), function_calls=halves)


def repeat_text(reply: Reply) -> Reply:
    return replace(reply, text="".join(islice(cycle(reply.text or "So it is. "), 1_000_000)))


def build_text_replacer(text: str, *calls: FunctionCall) -> Callable[[Reply], Reply]:
    return lambda reply: replace(reply, text=text, function_calls=calls)


# Terminal escapes, a change of writing direction and a lone surrogate.
_CONTROL_CHARACTERS = " \x00\x1b[2J\x07\u202e\ud800\r"
_UNKNOWN_CALL = FunctionCall("no_such_function", '{"response": ')

# Changes of a reply, by name.
CORRUPTIONS: dict[str, Callable[[Reply], Reply]] = {
    "broken off": break_off,
    "wrong fields": build_text_replacer('{"answer": 42, "winner": ["?"], "margin": "lots", "to": null}'),
    "wrong types": build_text_replacer("[null, true, 1e+308]"),
    "no JSON": build_text_replacer("I would rather not put that into a form. {Really}: I would not."),
    "control characters": lambda reply: replace(reply, text=reply.text.replace(" ", _CONTROL_CHARACTERS)),
    "another language": build_text_replacer("我不同意这个观点。 \u202bلست موافقا.\u202c"),
    "a megabyte": repeat_text,
    "nested": build_text_replacer('{"a":' * 50_000),
    "functions that nobody offered": build_text_replacer("", _UNKNOWN_CALL),
    "no reply": lambda _: cast("Reply", None),
}


@dataclass(frozen=True, slots=True)
class Chaos:
    """Rates of faults from 0 to 1; a call has one fault at most."""

    failure: float = 0.0  # the provider refuses, or is down
    timeout: float = 0.0  # a timeout error, after the time allowed
    corrupt: float = 0.0  # an answer of the wrong shape
    truncated: float = 0.0  # half an answer, marked as cut
    never: float = 0.0  # neither an answer nor an error, until the call is cancelled
    empty: float = 0.0
    crash: float = 0.0  # the model's code raises an exception
    latency: float = 0.0  # the longest, in seconds
    seed: int = 0

    @classmethod
    def parse(cls, spec: str) -> Self:
        """The chaos of "failure=0.1,latency=0.2,seed=7". Raises InvalidRequestError."""
        values: dict[str, str] = {}
        for part in spec.split(","):
            name, sign, value = (piece.strip() for piece in part.partition("="))
            problem = f'each word once: "{part[:60]}" does not fit.'
            is_new = name and sign and name not in values
            require(is_new, f'Chaos is written as in "{EXAMPLE_SPEC}", {problem}')
            values[name] = value
        return cls.from_mapping(values)

    @classmethod
    def from_mapping(cls, values: Mapping[str, str]) -> Self:
        """As `parse`, from names and values. Raises the same errors."""
        names = [field.name for field in fields(cls)]
        amounts: dict[str, Any] = {}
        for name, value in values.items():
            require(name in names, f'Chaos knows no "{name[:60]}". It knows {", ".join(names)}.')
            number, kind, maximum = _AMOUNTS.get(name, (_NUMBER, "number", 1))
            amount = float(value) if number.fullmatch(value) else math.nan
            problem = f'Chaos: {name} is a {kind} from 0 to {maximum}, not "{value[:60]}".'
            require(0 <= amount <= maximum, problem)
            amounts[name] = int(value) if name == "seed" else amount
        total = math.fsum(amounts.get(name, 0) for name in FAULTS)
        reason = "1 is the most, as a call has one fault"
        require(total <= 1 + 1e-9, f"The rates of chaos come to {total:g}; {reason}.")
        return cls(**amounts)

    def __str__(self) -> str:
        amounts = {name: getattr(self, name) for name in (*FAULTS, "latency")}
        parts = [f"{name}={amount:g}" for name, amount in amounts.items() if amount]
        return ",".join([*parts, f"seed={self.seed}"])

    def choose_fault(self, request: Request) -> Fault | None:
        """The fault of this call, if it has one."""
        point = self.draw_fraction(request, "fault")
        totals = accumulate(getattr(self, name) for name in FAULTS)
        return next((name for name, total in zip(FAULTS, totals, strict=True) if point < total), None)

    def choose_item(self, request: Request, purpose: str, items: Sequence[T]) -> T:
        return items[int(self.draw_fraction(request, purpose) * len(items))]

    def draw_fraction(self, request: Request, purpose: str) -> float:
        """A number in [0, 1), by hash: every release and every Python draws the same."""
        call = f"{self.seed}:{request.seed}:{request.prompt.summary.round}:{request.seat}:{purpose}"
        return int.from_bytes(sha256(call.encode("utf-8", "replace")).digest()[:6]) / 2**48


def is_faulty(name: str) -> bool:
    return name.partition("?")[0] == "faulty"


def parse_faulty_name(name: str) -> tuple[str, Chaos]:
    """(wrapped model, chaos) of "faulty?model=scripted&failure=0.1". Raises as `Chaos.parse`."""
    pairs: list[tuple[str, str]] = []
    with suppress(ValueError):
        pairs = parse_qsl(name.partition("?")[2], keep_blank_values=True, strict_parsing=True)
    values = dict(pairs)
    inner = values.pop("model", "")
    example = 'Write one such as "faulty?model=scripted&failure=0.1&seed=7"'
    parts = "a model (percent-encoded if it has parameters) and its faults, each word once"
    is_complete = inner and len(values) + 1 == len(pairs)
    require(is_complete, f'"{name}" is not understood. {example}: {parts}.')
    return inner, Chaos.from_mapping(values)


def unwrap_faulty_name(name: str) -> str:
    """The name of the model behind injected faults."""
    with suppress(InvalidRequestError):  # an own model may have any name
        while is_faulty(name):
            name, _ = parse_faulty_name(name)
    return name


@dataclass(eq=False)
class FaultyModel:
    """Answers as `model` does, apart from the faults of `chaos`. Injected errors say "(chaos)"."""

    model: Model
    chaos: Chaos
    _: KW_ONLY
    name: str = "faulty"

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        fault, choose = self.chaos.choose_fault(request), self.chaos.choose_item
        if self.chaos.latency:
            latency = self.chaos.latency * self.chaos.draw_fraction(request, "latency")
            request = await self._wait(latency, request)
        match fault:
            case None:
                return await self.model.reply(request, on_text)
            case "failure":
                cause, detail, attempts = choose(request, "cause", FAILURES)
                attempts_made = min(attempts, request.max_attempts)
                raise ModelError(cause, f"{self.name}: {detail} (chaos).", attempts=attempts_made)
            case "timeout":
                await self._wait(request.timeout, request)
            case "crash":
                error = choose(request, "crash", CRASHES)()
                raise error
            case "never":
                await anyio.sleep_forever()
            case "empty" | "truncated" | "corrupt":
                pass
            case _:
                assert_never(fault)
        reply = await self.model.reply(request)  # not streamed: the reply will differ
        if fault == "empty":
            return replace(reply, text="", function_calls=())
        if fault == "truncated":
            return replace(reply, text=first_half(reply.text), cut=True)
        return choose(request, "corruption", tuple(CORRUPTIONS.values()))(reply)

    async def _wait(self, seconds: float, request: Request) -> Request:
        """The request with the time left after so many seconds. Raises ModelError if none is left."""
        await anyio.sleep(min(seconds, request.timeout))
        if seconds >= request.timeout:
            detail = f"{self.name} did not answer within {request.timeout:.3g} seconds (chaos)."
            raise ModelError("timeout", detail)
        return replace(request, timeout=request.timeout - seconds)
