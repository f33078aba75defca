"""Requests to models: a span `chat MODEL` for each, and what it took in the metrics."""

import asyncio
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType

import anyio
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from server.models import Attempt, ModelError, Usage
from server.telemetry.instruments import Instruments
from server.telemetry.labels import (
    build_finish_reason,
    build_model_name,
    build_name,
    build_provider_name,
)

Attributes = dict[str, str | int | float | tuple[str, ...]]


@dataclass(slots=True)
class AttemptWatch:
    """Entered before a request is made, and left when it is over. `more`: attributes of the span alone."""

    attempt: Attempt
    tracer: Tracer
    instruments: Instruments
    parent: Context | None
    more: Attributes
    labels: dict[str, str] = field(init=False)
    span: Span = field(init=False)
    started: float = field(init=False)

    def __enter__(self) -> None:
        attempt = self.attempt
        model = build_model_name(attempt.model)
        self.labels = {
            "gen_ai.operation.name": attempt.operation,
            "gen_ai.provider.name": build_provider_name(attempt.provider),
            "gen_ai.request.model": model,
        }
        attributes: Attributes = {**self.labels, **self.more}
        if attempt.max_tokens:
            attributes["gen_ai.request.max_tokens"] = attempt.max_tokens
        name = f"{attempt.operation} {model}"
        self.span = self.tracer.start_span(name, self.parent, SpanKind.CLIENT, attributes)
        self.labels["gen_ai.request.model"] = self.instruments.models.find(model)
        self.started = perf_counter()

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        labels, seconds = self.labels, perf_counter() - self.started
        if usage := self.attempt.usage:
            self.record_usage(usage)
        if failure := self.attempt.failure or (find_cause(error) if error else ""):
            labels = {**labels, "error.type": failure}
            self.span.set_attribute("error.type", failure)
            self.span.set_status(StatusCode.ERROR)
        self.instruments.request_seconds.record(seconds, labels)
        self.span.end()

    def record_usage(self, usage: Usage) -> None:
        tokens, labels = self.instruments.tokens, self.labels
        attributes: Attributes = {}
        if model := build_name(usage.model.partition("?")[0]):
            attributes["gen_ai.response.model"] = model
        if reply_id := build_name(usage.reply_id):
            attributes["gen_ai.response.id"] = reply_id
        if self.attempt.finish_reason:
            attributes["gen_ai.response.finish_reasons"] = (build_finish_reason(self.attempt.finish_reason),)
        if usage.input_tokens or usage.output_tokens:
            attributes["gen_ai.usage.input_tokens"] = usage.input_tokens
            attributes["gen_ai.usage.output_tokens"] = usage.output_tokens
            attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
            tokens.record(usage.input_tokens, {**labels, "gen_ai.token.type": "input"})
            tokens.record(usage.output_tokens, {**labels, "gen_ai.token.type": "output"})
        if usage.cost_usd:
            attributes["counterpoint.cost_usd"] = cost = float(usage.cost_usd)
            self.instruments.cost.add(cost, labels)
        self.span.set_attributes(attributes)


def find_cause(error: BaseException) -> str:
    """Why a request has no answer, in the words of `FailureCause`, or `cancelled`."""
    if isinstance(error, ModelError):
        return error.cause
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, asyncio.CancelledError):
        return "timeout" if anyio.current_effective_deadline() <= anyio.current_time() else "cancelled"
    return "crashed"
