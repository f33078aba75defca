"""Requests to a provider: time limits and attempts; and of a model, what an endpoint does not take."""

import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar

import anyio

from server.debate.facts.setup.limits import Price
from server.debate.rules.windows import estimate_tokens, find_unread_prompt
from server.models import (
    MAX_ATTEMPTS,
    Attempt,
    ModelError,
    OnText,
    Reply,
    Request,
    Usage,
    WatchAttempt,
    build_attempt,
    watch_nothing,
)
from server.models.providers.errors import ProviderFailure
from server.models.providers.request import build_extras
from server.models.providers.response import Completion, build_reply, build_usage, read_token_count
from server.models.resilience import Cooldown, Sleep

MAX_BACKOFF = 8.0  # seconds, unless the provider asks for more

SMALLEST_OLLAMA_WINDOW = 8192  # tokens
OLLAMA_MARGIN = 1.5  # code and tables have more tokens than are estimated


A = TypeVar("A")


@dataclass(eq=False)
class ProviderCaller(ABC):
    """Asks a provider again after transient failures."""

    name: str
    _: KW_ONLY
    provider: str = ""
    watch: WatchAttempt = watch_nothing
    sleep: Sleep = anyio.sleep
    cooldown: Cooldown | None = None  # that of the provider

    @abstractmethod
    async def prepare(self) -> None:
        """Load what takes long, and check that the provider may be asked. Raises ModelError."""

    @abstractmethod
    def classify(self, error: Exception) -> ProviderFailure:
        """What an exception of an attempt means."""

    @contextmanager
    def measure(self, made: Attempt) -> Iterator[None]:
        """Around one attempt: tells whoever measures them of it, and of what it failed for."""
        with self.watch(made):
            try:
                yield
            except Exception as error:
                made.failure = self.classify(error).cause
                raise

    async def ask_repeatedly(
        self,
        attempt: Callable[[], Awaitable[A]],
        timeout: float,  # noqa: ASYNC109  (of all attempts)
        max_attempts: int = MAX_ATTEMPTS,
        simplify: Callable[[ProviderFailure], bool] = lambda _: False,
    ) -> "TimedAnswer[A]":
        """What `attempt` returns, which may raise any exception. Raises ModelError.

        `simplify`: whether the next attempt asks for less after this failure, and so need not wait.
        """
        count = 0
        try:
            with anyio.fail_after(timeout):
                started = anyio.current_time()
                while True:
                    count += 1
                    try:
                        answer = await attempt()
                        break
                    except Exception as error:  # noqa: BLE001  (clients raise many types)
                        failure = self.classify(error)
                    if count >= max_attempts or not simplify(failure):
                        await self._wait_before_retry(failure, count, max_attempts)
        except TimeoutError:
            detail = f"{self.name} did not answer within {timeout:g} seconds."
            raise ModelError("timeout", detail, attempts=max(count, 1)) from None
        return TimedAnswer(answer, count, anyio.current_time() - started)

    async def _wait_before_retry(self, failure: ProviderFailure, attempt: int, max_attempts: int) -> None:
        """Wait for the next attempt and the end of the cooldown. Raises ModelError if that is no use."""
        cooldown, asked = self.cooldown, failure.retry_after
        if cooldown and failure.cause == "rate_limited":  # its guard repeats it, with fewer at once
            cooldown.extend(asked or 0)
            raise ModelError(failure.cause, failure.detail, attempts=attempt, may_be_repeated=True) from None
        spread = random.uniform(0.5, 1.0)  # noqa: S311  (jitter, not security)
        pause = asked or min(MAX_BACKOFF, 2.0 ** (attempt - 1)) * spread  # also for Retry-After: 0
        while failure.is_transient and attempt < max_attempts:
            pause = max(pause, cooldown.seconds_left() if cooldown else 0.0)
            if anyio.current_time() + pause >= anyio.current_effective_deadline():
                break
            await self.sleep(pause)
            pause = cooldown.seconds_left() if cooldown else 0.0
            if not pause:
                return
        raise ModelError(failure.cause, failure.detail, attempts=attempt) from None


class TimedAnswer(NamedTuple, Generic[A]):
    answer: A
    attempts: int
    seconds: float


@dataclass(eq=False)
class ProviderModel(ProviderCaller):
    """Asks again without functions and schema where an endpoint refuses them."""

    _: KW_ONLY
    api_base: str = ""
    price: Price | None = None  # the operator's price, before any table's
    _window: int = 0  # the largest that Ollama was asked for
    _refused: set[str] = field(default_factory=set)  # what the endpoint answered only without

    @property
    def has_functions(self) -> bool:
        """Whether functions can be offered at all."""
        return True

    @abstractmethod
    def start_loading(self) -> None:
        """Begin to load what takes long, in a thread. Never raises: the first call reports errors."""

    @abstractmethod
    async def complete(self, request: Request, extras: dict[str, Any], on_text: OnText | None) -> Completion:
        """Make one attempt, streamed if `on_text` is given. May raise any exception."""

    @abstractmethod
    def look_up_cost(self, counts: Any) -> str:
        """US dollars by a table of prices for these counts of tokens; "" if unknown."""

    def compute_cost(self, counts: Any) -> str:
        """US dollars, at the operator's own price if there is one; "" if unknown, as without counts of tokens."""
        tokens = read_token_count(counts, "prompt_tokens"), read_token_count(counts, "completion_tokens")
        if not any(tokens):
            return ""
        if self.price is None:
            return self.look_up_cost(counts)
        cost = Decimal(self.price.input) * tokens[0] + Decimal(self.price.output) * tokens[1]
        return f"{cost.normalize():f}"

    def choose_window(self, request: Request) -> int:
        """The `num_ctx` to ask Ollama for, without which it cuts prompts, unsaid.

        Memory grows with it, and another one loads the model again: a power of two with room to spare, and never less
        than before.
        """
        tokens = estimate_tokens(message.content for message in request.prompt.messages)
        self._window = self._window or SMALLEST_OLLAMA_WINDOW
        while self._window < tokens * OLLAMA_MARGIN + request.max_tokens:
            self._window *= 2
        return min(self._window, request.window or self._window)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        await self.prepare()  # before the timeout starts: an import takes seconds
        offered = build_extras(self.name, request, has_functions=self.has_functions)
        extras = {key: offered[key] for key in offered.keys() - self._refused}
        has_streamed = False

        def forward_piece(piece: str) -> None:
            nonlocal has_streamed
            has_streamed = True
            if on_text:
                on_text(piece)

        async def complete() -> tuple[Completion, Usage]:
            made = build_attempt(self.name, self.provider, request)
            with self.measure(made):
                # A watcher who saw part of a reply gets no pieces of the next attempt.
                streaming = forward_piece if on_text and not has_streamed else None
                completion = await self.complete(request, extras, streaming)
                made.usage = build_usage(self.name, completion, self.compute_cost(completion.usage))
                made.finish_reason = completion.finish_reason
            return completion, made.usage

        def drop_extras(failure: ProviderFailure) -> bool:
            nonlocal extras
            if not (extras and failure.is_request_error):
                return False
            extras = {}  # the prompt describes the format in words as well
            return True

        asked = await self.ask_repeatedly(complete, request.timeout, request.max_attempts, drop_extras)
        if request.prompt.strict:
            self._refused |= offered.keys() - extras.keys()
        completion, usage = asked.answer
        text = "\n".join(message.content for message in request.prompt.messages)
        took = {
            "attempts": asked.attempts,
            "milliseconds": round(asked.seconds * 1000),
            "sent_tokens": find_unread_prompt(text, usage.input_tokens, request.window),
        }
        return build_reply(self.name, completion, usage.model_copy(update=took))
