"""Fault injection: a model that wraps another and makes some of its calls fail.

The fault of a call is drawn from the seed of the chaos and from the call (its seed, seat and round), never from the
order of calls: the same debate meets the same faults every time.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import Literal, Self
from urllib.parse import parse_qsl

import anyio

from server.models import Model, ModelError, OnText, Reply, Request
from server.models.fakes.faults import CORRUPTIONS, FAILURES, choose_item, first_half, raise_crash

Fault = Literal["failure", "timeout", "corrupt", "truncated", "never", "empty", "crash"]

FAULTS: dict[Fault, str] = {
    "failure": "the provider refuses, or is down",
    "timeout": "a timeout error, after the time allowed",
    "corrupt": "an answer of the wrong shape",
    "truncated": "half an answer, marked as cut",
    "never": "neither an answer nor an error, until the call is cancelled",
    "empty": "an empty answer",
    "crash": "the model's code raises an exception",
}
"""The faults. A call has one at most."""

_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+(?:[eE]-?[0-9]{1,3})?|[0-9]+\.")

MAX_LATENCY = 3600.0
MAX_SEED = 2**31 - 1
EXAMPLE_SPEC = "failure=0.1,latency=0.2,timeout=0.05,corrupt=0.1,seed=7"


@dataclass(frozen=True, slots=True)
class Chaos:
    """Rates of faults from 0 to 1, and the longest `latency` in seconds."""

    failure: float = 0.0
    timeout: float = 0.0
    corrupt: float = 0.0
    truncated: float = 0.0
    never: float = 0.0
    empty: float = 0.0
    crash: float = 0.0
    latency: float = 0.0
    seed: int = 0

    @classmethod
    def parse(cls, spec: str) -> Self:
        """The chaos of a line such as "failure=0.1,latency=0.2,seed=7".

        Raises:
            ValueError: the line is malformed; the text says what to write.
        """
        given: dict[str, str] = {}
        for part in spec.split(","):
            name, sign, value = (piece.strip() for piece in part.partition("="))
            if not (name and sign) or name in given:
                raise ValueError(
                    f'Chaos is written as in "{EXAMPLE_SPEC}", each word once: "{part[:60]}" does not fit.'
                )
            given[name] = value
        return cls.from_mapping(given)

    @classmethod
    def from_mapping(cls, values: Mapping[str, str]) -> Self:
        """As `parse`, from names and values. Raises the same errors."""
        known = [field.name for field in fields(cls)]
        if unknown := next((name for name in values if name not in known), ""):
            raise ValueError(f'Chaos knows no "{unknown[:60]}". It knows {", ".join(known)}.')
        rates = {name: parse_number(name, values.get(name, "0"), maximum=1.0) for name in FAULTS}
        if (total := math.fsum(rates.values())) > 1 + 1e-9:
            raise ValueError(f"The rates of chaos come to {total:g}; 1 is the most, as a call has one fault.")
        return cls(
            **{str(name): rate for name, rate in rates.items()},
            latency=parse_number("latency", values.get("latency", "0"), maximum=MAX_LATENCY),
            seed=parse_integer("seed", values.get("seed", "0")),
        )

    def __str__(self) -> str:
        amounts = {name: getattr(self, name) for name in (*FAULTS, "latency")}
        parts = [f"{name}={amount:g}" for name, amount in amounts.items() if amount]
        return ",".join([*parts, f"seed={self.seed}"])

    def choose_fault(self, request: Request) -> Fault | None:
        """The fault of this call, if it has one."""
        point = self.draw_fraction(request, "fault")
        for name in FAULTS:
            rate: float = getattr(self, name)
            if point < rate:
                return name
            point -= rate
        return None

    def draw_fraction(self, request: Request, purpose: str) -> float:
        """A number in [0, 1), by hash: every release and every Python draws the same."""
        call = f"{self.seed}:{request.seed}:{request.prompt.summary.round}:{request.seat}:{purpose}"
        return int.from_bytes(sha256(call.encode("utf-8", "replace")).digest()[:6]) / 2**48


def parse_number(name: str, value: str, *, maximum: float) -> float:
    found = float(value) if _NUMBER.fullmatch(value) else math.nan
    if not 0 <= found <= maximum:
        raise ValueError(f'Chaos: {name} is a number from 0 to {maximum:g}, not "{value[:60]}".')
    return found


def parse_integer(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= len(str(MAX_SEED))) or (
        int(value) > MAX_SEED
    ):
        raise ValueError(f'Chaos: {name} is a whole number from 0 to {MAX_SEED}, not "{value[:60]}".')
    return int(value)


def is_faulty(name: str) -> bool:
    return name.partition("?")[0] == "faulty"


def parse_faulty_name(name: str) -> tuple[str, Chaos]:
    """(wrapped model, chaos) of a name such as "faulty?model=scripted&failure=0.1".

    Raises:
        ValueError: the name is malformed; the text says what to write.
    """
    try:
        pairs = parse_qsl(name.partition("?")[2], keep_blank_values=True, strict_parsing=True)
    except ValueError:
        pairs = []
    given = dict(pairs)
    inner = given.pop("model", "")
    if not inner or len(given) + 1 < len(pairs):
        raise ValueError(
            f'"{name}" is not understood. Write one such as "faulty?model=scripted&failure=0.1&seed=7": a '
            "model (percent-encoded if it has parameters) and its faults, each word once."
        )
    return inner, Chaos.from_mapping(given)


class FaultyModel:
    """Answers as `model` does, apart from the faults of `chaos`. Injected errors say "(chaos)"."""

    def __init__(self, model: Model, chaos: Chaos, *, name: str = "faulty") -> None:
        self.model = model
        self.chaos = chaos
        self.name = name

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        fault = self.chaos.choose_fault(request)
        left = await self.apply_latency(request)
        if fault is None:
            return await self.model.reply(left, on_text)
        if fault in ("failure", "timeout", "never", "crash"):
            await self.withhold_reply(fault, left)
        reply = await self.model.reply(left)  # not streamed: the reply will differ
        match fault:
            case "empty":
                return replace(reply, text="", function_calls=())
            case "truncated":
                return replace(reply, text=first_half(reply.text), cut=True)
            case _:
                kinds = tuple(CORRUPTIONS.values())
                return choose_item(kinds, self.chaos.draw_fraction(request, "corruption"))(reply)

    async def withhold_reply(self, fault: Fault, request: Request) -> None:
        match fault:
            case "failure":
                cause, detail, attempts = choose_item(FAILURES, self.chaos.draw_fraction(request, "cause"))
                tried = min(attempts, request.max_attempts)
                raise ModelError(cause, f"{self.name}: {detail} (chaos).", attempts=tried)
            case "timeout":
                await anyio.sleep(request.timeout)
                raise self.build_timeout_error(request)
            case "crash":
                raise_crash(self.chaos.draw_fraction(request, "crash"))
            case _:
                await anyio.sleep_forever()

    async def apply_latency(self, request: Request) -> Request:
        """Wait for the latency of this call; return the request with the time that is left."""
        latency = self.chaos.latency * self.chaos.draw_fraction(request, "latency")
        if not latency:
            return request
        if latency >= request.timeout:
            await anyio.sleep(request.timeout)
            raise self.build_timeout_error(request)
        await anyio.sleep(latency)
        return replace(request, timeout=request.timeout - latency)

    def build_timeout_error(self, request: Request) -> ModelError:
        return ModelError(
            "timeout", f"{self.name} did not answer within {request.timeout:.3g} seconds (chaos)."
        )
