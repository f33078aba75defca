"""Requests to a provider: time limits, retries, and requests simplified where an endpoint refuses a part of them."""

import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict, dataclass, field
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar

import anyio

from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.options import ThinkingMode
from server.debate.rules.windows import find_unread_prompt
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
from server.models.prices import find_row
from server.models.providers.caches import CACHE_FIELDS, OTHERS, PromptCache, build_cache_fields
from server.models.providers.errors import ProviderFailure
from server.models.providers.response import Completion, build_reply, build_usage, read_token_count
from server.models.resilience import Cooldown, Sleep

MAX_BACKOFF = 8.0  # seconds, unless the provider asks for more

MIN_LIMIT = 256  # tokens of a reply: a refused limit is not halved below it

EFFORT = "reasoning_effort"

EFFORTS: dict[ThinkingMode, str] = {"low": "low", "medium": "medium", "high": "high", "off": "none"}
"""Our levels of thinking in OpenAI's protocol."""

_BOUNDS = ("maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "format")
_NO_SCHEMAS = (*_BOUNDS, "properties")

A = TypeVar("A")


@dataclass(eq=False)
class ProviderCaller(ABC):
    """Asks a provider again after transient failures."""

    name: str
    _: KW_ONLY
    provider: str = ""
    watch: WatchAttempt = watch_nothing
    sleep: Sleep = anyio.sleep
    cooldown: Cooldown | None = None  # of the provider

    @abstractmethod
    async def prepare(self) -> None:
        """Load what takes long, and check that the provider may be asked. Raises ModelError."""

    @abstractmethod
    def classify(self, error: Exception) -> ProviderFailure:
        """What an exception of an attempt means."""

    @contextmanager
    def measure(self, attempt: Attempt) -> Iterator[None]:
        """Measure one attempt, with the cause if it fails."""
        with self.watch(attempt):
            try:
                yield
            except Exception as error:
                attempt.failure = self.classify(error).cause
                raise

    async def ask_repeatedly(
        self,
        attempt: Callable[[], Awaitable[A]],
        timeout: float,  # noqa: ASYNC109  (of all attempts)
        max_attempts: int = MAX_ATTEMPTS,
        simplify: Callable[[ProviderFailure], bool] = lambda _: False,
    ) -> "TimedAnswer[A]":
        """Call `attempt`, which may raise any exception, until it returns. Raises ModelError.

        `simplify`: makes the next attempt ask for less after a failure; True if it did, so that no wait is needed.
        """
        count = 0
        try:
            with anyio.fail_after(timeout):
                start_time = anyio.current_time()
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
        return TimedAnswer(answer, count, anyio.current_time() - start_time)

    async def _wait_before_retry(self, failure: ProviderFailure, attempt: int, max_attempts: int) -> None:
        """Wait for the next attempt and the end of the cooldown. Raises ModelError if that is no use."""
        cooldown, retry_after = self.cooldown, failure.retry_after
        if (
            cooldown and failure.cause == "rate_limited"
        ):  # the guard repeats it, with fewer requests in flight
            cooldown.extend(retry_after or 0)
            raise ModelError(failure.cause, failure.detail, attempts=attempt, may_be_repeated=True) from None
        spread = random.uniform(0.5, 1.0)  # noqa: S311  (jitter, not security)
        pause = retry_after or min(MAX_BACKOFF, 2.0 ** (attempt - 1)) * spread  # also for Retry-After: 0
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
    """A provider's model. It asks again without functions and schema, or for a shorter reply, if they are refused."""

    _: KW_ONLY
    price: Price | None = None  # the operator's price, which wins over any table
    _limit: int = 0  # tokens of a reply after the endpoint refused a higher limit; 0 if it refused none
    _max_thinking_tokens: int = 0  # the most that any reply needed
    _refused: set[str] = field(default_factory=set)  # extras that the endpoint does not take

    @property
    def cache(self) -> PromptCache:
        """What is known of the provider's cache of prompts."""
        return OTHERS

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

    def find_limit(self, request: Request) -> int:
        """The limit of tokens to ask for: with room for thoughts, unless litellm's table says there are none."""
        row = find_row(self.name)
        tokens = request.max_tokens
        if row.get("supports_reasoning") is False:
            tokens -= request.thinking_tokens
        table_limit = row.get("max_output_tokens")
        bounds = (tokens, table_limit if isinstance(table_limit, int) else 0, self._limit)
        return min(bound for bound in bounds if bound > 0)

    async def _complete(self, request: Request, extras: dict[str, Any], on_text: OnText | None) -> Completion:
        """As `complete`. Where OpenAI reports an error because the limit was too low, this returns a cut reply."""
        try:
            return await self.complete(request, extras, on_text)
        except Exception as error:
            if "low_limit" not in self.classify(error).objections:
                raise
            return Completion(finish_reason="length")

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        await self.prepare()  # before the timeout starts: an import takes seconds
        all_extras = build_extras(self.name, request)
        all_extras |= build_cache_fields(self.cache, request)
        extras = {key: all_extras[key] for key in all_extras.keys() - self._refused}
        has_streamed = False

        def forward_piece(piece: str) -> None:
            nonlocal has_streamed
            has_streamed = has_streamed or bool(piece)
            if on_text:
                on_text(piece)

        async def complete() -> tuple[Completion, Usage]:
            attempt = build_attempt(self.name, self.provider, request)
            with self.measure(attempt):
                # Whoever saw part of a reply gets no pieces of the next attempt.
                streaming = forward_piece if on_text and not has_streamed else None
                completion = await self._complete(request, extras, streaming)
                attempt.usage = build_usage(self.name, completion, self.compute_cost(completion.usage))
                attempt.finish_reason = completion.finish_reason
            return completion, attempt.usage

        def simplify(failure: ProviderFailure) -> bool:
            nonlocal extras
            limit = self.find_limit(request)
            if "effort" in failure.objections and EFFORT in extras:
                self._refused.add(EFFORT)
                del extras[EFFORT]
            elif "high_limit" in failure.objections and limit > MIN_LIMIT:
                self._limit = max(limit // 2, MIN_LIMIT)
            elif failure.is_request_error and extras.keys() & CACHE_FIELDS:
                extras = {key: extras[key] for key in extras.keys() - CACHE_FIELDS}
            elif failure.is_request_error and extras.keys() - {EFFORT}:
                # The prompt describes the format in words as well.
                extras = {EFFORT: extras[EFFORT]} if EFFORT in extras else {}
            else:
                return False
            return True

        timed_answer = await self.ask_repeatedly(complete, request.timeout, request.max_attempts, simplify)
        if request.prompt.strict:
            self._refused |= all_extras.keys() - extras.keys()
        completion, usage = timed_answer.answer
        self._max_thinking_tokens = max(self._max_thinking_tokens, usage.thinking_tokens)
        text = "\n".join(message.content for message in request.prompt.messages)
        measures = {
            "attempts": timed_answer.attempts,
            "milliseconds": round(timed_answer.seconds * 1000),
            "sent_tokens": find_unread_prompt(text, usage.input_tokens, request.window),
        }
        return build_reply(self.name, completion, usage.model_copy(update=measures))


def build_extras(name: str, request: Request) -> dict[str, Any]:
    """The fields that an endpoint may refuse: the effort, and the request's functions or the schema of the answer."""
    effort = {EFFORT: EFFORTS[request.thinking]} if request.thinking else {}
    return effort | build_format(name, request)


def build_format(name: str, request: Request) -> dict[str, Any]:
    """The request's functions, or else the schema of the answer: some providers refuse both together.

    The table knows few models that support either. So all get them, unless litellm's table denies it; what an endpoint
    refuses is left out from then on. Our own schemas use strict mode. A caller's schema may use keywords that strict
    modes reject, so it is sent unchanged and not strict; a schema of anything but an object is not sent.
    """
    if request.functions:
        return {"tools": [{"type": "function", "function": asdict(row)} for row in request.functions]}
    schema, strict = request.prompt.schema, request.prompt.strict
    is_sent = schema is not None and request.sends_schema and (strict or schema.get("type") == "object")
    if not is_sent or find_row(name).get("supports_response_schema") is False:
        return {}
    answer = {"name": "answer", "strict": strict, "schema": remove_bounds(schema) if strict else schema}
    return {"response_format": {"type": "json_schema", "json_schema": answer}}


def remove_bounds(schema: Any) -> Any:
    """The schema without bounds, which strict modes reject. The core checks them."""
    if isinstance(schema, dict):
        plain = {key: remove_bounds(value) for key, value in schema.items() if key not in _NO_SCHEMAS}
        names = {name: remove_bounds(part) for name, part in schema.get("properties", {}).items()}
        return plain | ({"properties": names} if names else {})
    return [remove_bounds(item) for item in schema] if isinstance(schema, list) else schema
