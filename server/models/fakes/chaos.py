"""Chaos on purpose: a model with faults around another, so that one can see what a debate makes of them.

What befalls a call is drawn from the chaos' seed and from the call itself (its seed, its seat and its
round), never from the order in which calls come in: the same debate meets the same faults every time.
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
    "failure": "the provider refuses, or is away",
    "timeout": "no answer in the time allowed, and the model says so",
    "corrupt": "an answer that is not what was asked for",
    "truncated": "an answer that was stopped half-way",
    "never": "neither an answer nor an error, until the call is cancelled",
    "empty": "an answer without a word",
    "crash": "the model's own code raises something",
}
"""What can befall a call: one of them at most, each at the rate it is given."""

_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+(?:[eE]-?[0-9]{1,3})?|[0-9]+\.")

MAX_LATENCY = 3600.0
MAX_SEED = 2**31 - 1
EXAMPLE_SPEC = "failure=0.1,latency=0.2,timeout=0.05,corrupt=0.1,seed=7"


@dataclass(frozen=True, slots=True)
class Chaos:
    """How often what goes wrong: rates from 0 to 1, and beside them `latency`, in seconds at most."""

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
        """What a line such as "failure=0.1,latency=0.2,seed=7" asks for.

        Raises:
            ValueError: it cannot be understood; the text says what to write.
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
        """As `parse`, from names and values."""
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
        told = [f"{name}={amount:g}" for name, amount in amounts.items() if amount]
        return ",".join([*told, f"seed={self.seed}"])

    def choose_fault(self, request: Request) -> Fault | None:
        """What befalls this call."""
        point = self.draw_fraction(request, "fault")
        for name in FAULTS:
            rate: float = getattr(self, name)
            if point < rate:
                return name
            point -= rate
        return None

    def draw_fraction(self, request: Request, purpose: str) -> float:
        """A number from 0 to below 1. By hash, so that every release and every Python draws the same."""
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
    """(the model behind it, what befalls it) of a name such as "faulty?model=scripted&failure=0.1".

    Raises:
        ValueError: it is no such name; the text says what to write.
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
            "model, percent-encoded where it has signs of its own, and what is to go wrong, each word once."
        )
    return inner, Chaos.from_mapping(given)


class FaultyModel:
    """Answers as `model` does, but for what `chaos` has in store. Errors of its own say that they are."""

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
        reply = await self.model.reply(left)  # nobody reads along what is not going to arrive like that
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
                cause, told, attempts = choose_item(FAILURES, self.chaos.draw_fraction(request, "cause"))
                tried = min(attempts, request.max_attempts)
                raise ModelError(cause, f"{self.name}: {told} (chaos).", attempts=tried)
            case "timeout":
                await anyio.sleep(request.timeout)
                raise self.build_timeout_error(request)
            case "crash":
                raise_crash(self.chaos.draw_fraction(request, "crash"))
            case _:
                await anyio.sleep_forever()

    async def apply_latency(self, request: Request) -> Request:
        """Let this call's latency pass. What is left of it has that much less time."""
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
