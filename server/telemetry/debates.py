"""Debates: a root span for each stretch that a process runs one, spans of its rounds, and their requests below them.

A stretch outlives the request that began it, whose span it is linked to. All stretches of a debate, and all spans
below them, have its id.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from types import TracebackType

import anyio
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)

from server.debate.commands.setup.formats import FORMATS, PHASES
from server.engine.database.errors import StorageUnavailableError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queue import count_stuck
from server.engine.runner import Run
from server.models import Attempt, ModelError, Usage
from server.redaction import redact_error
from server.telemetry import OTHER
from server.telemetry.instruments import Instruments, LengthGauge
from server.telemetry.labels import (
    build_finish_reason,
    build_model_name,
    build_name,
    build_provider_name,
    build_seat_name,
)
from storage.errors import StorageError
from storage.outbox import Outbox

NAME = "invoke_workflow debate"
QUEUE_INTERVAL = 2.0  # seconds between looks at the queue of the hooks
STUCK_INTERVAL = 10.0  # seconds between looks at what is stuck

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


@dataclass(slots=True)
class Stretch:
    """A debate while this process runs it."""

    snapshot: DebateSnapshot
    root: Context
    round: int = 0
    span: Span | None = None  # of the round, once it has made a request
    parent: Context | None = None

    def end_round(self) -> None:
        if self.span:
            self.span.end()
        self.span = self.parent = None


_stretch: ContextVar[Stretch | None] = ContextVar("debate that this task works for", default=None)


class DebateTracer:
    """What the engine and the models tell of debates and of requests, as spans and metrics."""

    def __init__(self, tracer: Tracer, instruments: Instruments) -> None:
        self._tracer, self._instruments = tracer, instruments
        self._stretches: dict[str, Stretch] = {}  # by debate id

    def attach(self, manager: DebateManager, outbox: Outbox | None) -> None:
        """Be told of the debates of a manager. `outbox`: where its hooks have their queue."""
        manager.run_watchers.append(self.watch_run)
        manager.store.subscribe(self.note_commit)
        self._instruments.waiting.sources |= {
            "debates": manager.count_waiting,
            "models": manager.planner.models.guard.count_waiting,
        }
        if outbox:
            manager.keep_running(follow, self._instruments.queue, outbox.count, QUEUE_INTERVAL)
        manager.keep_running(follow, self._instruments.stuck, partial(count_stuck, manager), STUCK_INTERVAL)

    @contextmanager
    def watch_run(self, run: Run) -> Iterator[None]:
        """Around all that this process does for a debate while it has its lease."""
        snapshot, start_time = run.snapshot, perf_counter()
        span = self._start_root(snapshot)
        stretch = Stretch(snapshot, set_span_in_context(span))
        self._stretches[snapshot.id] = stretch
        self._instruments.running.add(1)
        token, context_token = _stretch.set(stretch), attach(stretch.root)
        error = ""
        try:
            yield
        except BaseException as raised:
            error = type(raised).__name__ if isinstance(raised, Exception) else find_cause(raised)
            raise
        finally:
            detach(context_token)
            _stretch.reset(token)
            stretch.end_round()
            del self._stretches[snapshot.id]
            self._instruments.running.add(-1)
            self._end_root(span, run.snapshot, error, perf_counter() - start_time)

    def _start_root(self, snapshot: DebateSnapshot) -> Span:
        request_span = get_current_span().get_span_context()  # of the request in which the engine began this
        links = [Link(request_span)] if request_span.is_valid else []
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": "debate",
            "gen_ai.conversation.id": snapshot.id,
            "counterpoint.owner": redact_error(snapshot.owner),
            "counterpoint.format": build_format_name(snapshot.debate.setup.format),
            "counterpoint.continued": has_begun(snapshot),
        }
        return self._tracer.start_span(NAME, Context(), attributes=attributes, links=links)

    def _end_root(self, span: Span, snapshot: DebateSnapshot, error: str, seconds: float) -> None:
        debate = snapshot.debate
        labels = {
            "counterpoint.format": build_format_name(debate.setup.format),
            "counterpoint.status": snapshot.status,
        }
        attributes: Attributes = {**labels, "counterpoint.rounds": debate.round}
        if debate.verdict:
            attributes["counterpoint.outcome"] = debate.verdict.outcome
        if debate.paused:
            attributes["counterpoint.paused_by"] = debate.paused.cause
        if debate.ended:
            attributes["counterpoint.ended_by"] = debate.ended.cause
        if error:
            labels["error.type"] = attributes["error.type"] = error
            span.set_status(StatusCode.ERROR)
        span.set_attributes(attributes)
        names = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "debate"}
        self._instruments.debate_seconds.record(seconds, {**names, **labels})
        span.end()

    def note_commit(self, snapshot: DebateSnapshot) -> None:
        """Called with each new state of a debate: a round ends where the next begins."""
        if stretch := self._stretches.get(snapshot.id):
            stretch.snapshot = snapshot
            if snapshot.debate.round != stretch.round:
                stretch.end_round()
                stretch.round = snapshot.debate.round

    def watch_attempt(self, attempt: Attempt) -> AttemptWatch:
        """Around one request to a model."""
        stretch = _stretch.get()
        parent = self._find_round(stretch) if stretch else None
        more: Attributes = {"counterpoint.task": attempt.task} if attempt.task else {}
        if stretch:
            more["gen_ai.conversation.id"] = stretch.snapshot.id
            more["counterpoint.round"] = stretch.round
            if attempt.seat:
                more["gen_ai.agent.name"] = build_seat_name(stretch.snapshot.debate, attempt.seat)
        return AttemptWatch(attempt, self._tracer, self._instruments, parent, more)

    def _find_round(self, stretch: Stretch) -> Context:
        if stretch.parent is None:
            debate = stretch.snapshot.debate
            stretch.round = debate.round
            phase = debate.phase.name if debate.phase else "framing"
            attributes: Attributes = {
                "gen_ai.conversation.id": stretch.snapshot.id,
                "counterpoint.round": debate.round,
                "counterpoint.phase": phase if phase in (*PHASES, "framing") else OTHER,
            }
            stretch.span = self._tracer.start_span(
                f"round {debate.round}", stretch.root, attributes=attributes
            )
            stretch.parent = set_span_in_context(stretch.span)
        return stretch.parent


async def follow(gauge: LengthGauge, count: Callable[[], Awaitable[int]], interval: float) -> None:
    """Count again and again. Never returns."""
    while True:
        with suppress(StorageError, StorageUnavailableError):  # whoever else uses the database logs it
            gauge.length = await count()
        await anyio.sleep(interval)


def build_format_name(name: str) -> str:
    return name if name in FORMATS else OTHER


def has_begun(snapshot: DebateSnapshot) -> bool:
    """Whether a debate has entries beside those that it was opened with."""
    inherited_rounds = snapshot.debate.setup.forked_at_round
    rounds = (getattr(entry.event, "round", 0) for entry in snapshot.entries[1:])
    return any(not inherited_rounds or number > inherited_rounds for number in rounds)
