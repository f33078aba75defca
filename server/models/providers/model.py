"""A model of a provider: time limits, attempts, and what an endpoint does not take."""

import random
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from typing import Any

import anyio

from server.debate.facts.config import Price
from server.debate.rules.windows import estimate_tokens, find_unread_prompt
from server.models import ModelError, OnText, Reply, Request
from server.models.providers.errors import ProviderFailure
from server.models.providers.request import build_extras
from server.models.providers.response import Completion, build_reply, read_token_count
from server.models.resilience import Cooldown, Sleep

MAX_BACKOFF = 8.0  # seconds, unless the provider asks for more

SMALLEST_OLLAMA_WINDOW = 8192  # tokens
OLLAMA_MARGIN = 1.5  # code and tables have more tokens than are estimated


@dataclass(eq=False)
class ProviderModel(ABC):
    """Asks again after transient failures, and without functions and schema where an endpoint refuses them."""

    name: str
    _: KW_ONLY
    api_base: str = ""
    sleep: Sleep = anyio.sleep
    cooldown: Cooldown | None = None  # that of the provider
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
    async def prepare(self) -> None:
        """Load what takes long, and check that the provider may be asked. Raises ModelError."""

    @abstractmethod
    async def complete(self, request: Request, extras: dict[str, Any], on_text: OnText | None) -> Completion:
        """Make one attempt, streamed if `on_text` is given. May raise any exception."""

    @abstractmethod
    def classify(self, error: Exception) -> ProviderFailure:
        """What an exception of `complete` means."""

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
        attempt, has_streamed = 0, False

        def forward_piece(piece: str) -> None:
            nonlocal has_streamed
            has_streamed = True
            if on_text:
                on_text(piece)

        await self.prepare()  # before the timeout starts: an import takes seconds
        try:
            with anyio.fail_after(request.timeout):
                started = anyio.current_time()
                offered = build_extras(self.name, request, has_functions=self.has_functions)
                extras = {key: offered[key] for key in offered.keys() - self._refused}
                while True:
                    attempt += 1
                    # A watcher who saw part of a reply gets no pieces of the next attempt.
                    streaming = forward_piece if on_text and not has_streamed else None
                    try:
                        completion = await self.complete(request, extras, streaming)
                        break
                    except Exception as error:  # noqa: BLE001  (clients raise many types)
                        failure = self.classify(error)
                    if extras and attempt < request.max_attempts and failure.is_request_error:
                        extras = {}  # the prompt describes the format in words as well
                    else:
                        await self._wait_before_retry(failure, attempt, request.max_attempts)
        except TimeoutError:
            detail = f"{self.name} did not answer within {request.timeout:g} seconds."
            raise ModelError("timeout", detail, attempts=max(attempt, 1)) from None
        seconds = anyio.current_time() - started
        if request.prompt.strict:
            self._refused |= offered.keys() - extras.keys()
        reply = build_reply(self.name, completion, self.compute_cost(completion.usage), attempt, seconds)
        text = "\n".join(message.content for message in request.prompt.messages)
        unread = find_unread_prompt(text, reply.usage.input_tokens, request.window)
        return replace(reply, usage=reply.usage.model_copy(update={"sent_tokens": unread}))

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
