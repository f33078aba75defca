"""Fault injection: a model that wraps another and makes some of its calls fail.

The fault of a call is drawn from the seed of the chaos and from the call (its seed, seat and round), never
from the order of calls: the same debate meets the same faults every time.
"""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from itertools import accumulate
from typing import Any, Literal, Self, get_args
from urllib.parse import parse_qsl

import anyio

from server.models import Model, ModelError, OnText, Reply, Request
from server.models.fakes.faults import CORRUPTIONS, CRASHES, FAILURES, choose_item, first_half

Fault = Literal["failure", "timeout", "corrupt", "truncated", "never", "empty", "crash"]
FAULTS: tuple[Fault, ...] = get_args(Fault)

MAX_LATENCY = 3600
MAX_SEED = 2**31 - 1
EXAMPLE_SPEC = "failure=0.1,latency=0.2,timeout=0.05,corrupt=0.1,seed=7"

_WHOLE_NUMBER = re.compile(r"[0-9]{1,10}")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE]-?[0-9]{1,3})?|[0-9]+\.")


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
        """The chaos of a line such as "failure=0.1,latency=0.2,seed=7".

        Raises:
            ValueError: the line is malformed; the text says what to write.
        """
        given: dict[str, str] = {}
        for part in spec.split(","):
            name, sign, value = (piece.strip() for piece in part.partition("="))
            if not (name and sign) or name in given:
                problem = f'each word once: "{part[:60]}" does not fit.'
                raise ValueError(f'Chaos is written as in "{EXAMPLE_SPEC}", {problem}')
            given[name] = value
        return cls.from_mapping(given)

    @classmethod
    def from_mapping(cls, values: Mapping[str, str]) -> Self:
        """As `parse`, from names and values. Raises the same errors."""
        known = [field.name for field in fields(cls)]
        if unknown := next((name for name in values if name not in known), ""):
            raise ValueError(f'Chaos knows no "{unknown[:60]}". It knows {", ".join(known)}.')
        maxima = {"latency": MAX_LATENCY, "seed": MAX_SEED}
        amounts = {name: parse_amount(name, value, maxima.get(name, 1)) for name, value in values.items()}
        if (total := math.fsum(amounts.get(name, 0) for name in FAULTS)) > 1 + 1e-9:
            raise ValueError(f"The rates of chaos come to {total:g}; 1 is the most, as a call has one fault.")
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

    def draw_fraction(self, request: Request, purpose: str) -> float:
        """A number in [0, 1), by hash: every release and every Python draws the same."""
        call = f"{self.seed}:{request.seed}:{request.prompt.summary.round}:{request.seat}:{purpose}"
        return int.from_bytes(sha256(call.encode("utf-8", "replace")).digest()[:6]) / 2**48


def parse_amount(name: str, value: str, maximum: int) -> Any:
    """An integer for the seed, a float for anything else."""
    is_whole = name == "seed"
    found = float(value) if (_WHOLE_NUMBER if is_whole else _NUMBER).fullmatch(value) else math.nan
    if not 0 <= found <= maximum:
        kind = "whole number" if is_whole else "number"
        raise ValueError(f'Chaos: {name} is a {kind} from 0 to {maximum}, not "{value[:60]}".')
    return int(value) if is_whole else found


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


def unwrap_faulty_name(name: str) -> str:
    """The name of the model behind injected faults."""
    with suppress(ValueError):  # an own model may have any name
        while is_faulty(name):
            name, _ = parse_faulty_name(name)
    return name


class FaultyModel:
    """Answers as `model` does, apart from the faults of `chaos`. Injected errors say "(chaos)"."""

    def __init__(self, model: Model, chaos: Chaos, *, name: str = "faulty") -> None:
        self.model = model
        self.chaos = chaos
        self.name = name

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        fault, draw = self.chaos.choose_fault(request), self.chaos.draw_fraction
        if self.chaos.latency:
            request = await self.wait(self.chaos.latency * draw(request, "latency"), request)
        match fault:
            case None:
                return await self.model.reply(request, on_text)
            case "failure":
                cause, detail, attempts = choose_item(FAILURES, draw(request, "cause"))
                tried = min(attempts, request.max_attempts)
                raise ModelError(cause, f"{self.name}: {detail} (chaos).", attempts=tried)
            case "timeout":
                await self.wait(request.timeout, request)
            case "crash":
                error = choose_item(CRASHES, draw(request, "crash"))()
                raise error
            case "never":
                await anyio.sleep_forever()
        reply = await self.model.reply(request)  # not streamed: the reply will differ
        if fault == "empty":
            return replace(reply, text="", function_calls=())
        if fault == "truncated":
            return replace(reply, text=first_half(reply.text), cut=True)
        return choose_item(tuple(CORRUPTIONS.values()), draw(request, "corruption"))(reply)

    async def wait(self, seconds: float, request: Request) -> Request:
        """The request with the time that is left after so many seconds.

        Raises:
            ModelError: none is left.
        """
        await anyio.sleep(min(seconds, request.timeout))
        if seconds >= request.timeout:
            detail = f"{self.name} did not answer within {request.timeout:.3g} seconds (chaos)."
            raise ModelError("timeout", detail)
        return replace(request, timeout=request.timeout - seconds)
