"""Models of every provider that litellm supports.

litellm takes seconds to import and prints to standard output, so it is imported on first use, in a thread,
and silenced. Retries are ours: litellm's need a package it does not depend on, and retry wrong keys too.
"""

import logging
import os
import random
import re
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import anyio
from anyio import to_thread

from server.debate.facts.config import Price
from server.debate.facts.text import clean, collapse_whitespace
from server.models import ModelError, OnText, Prompt, Reply, Request, Usage
from server.models.litellm.errors import ProviderFailure, classify_error
from server.models.litellm.request import build_response_format, build_tools
from server.models.litellm.response import Completion, read_completion, read_stream
from server.models.prices import compute_cost
from server.models.resilience.concurrency import Cooldown, Sleep
from server.redaction import redact

MAX_BACKOFF = 8.0  # seconds, unless the provider asks for more
REASONING_TOKENS = 4_000
"""Added to the reply's own limit for reasoning models, which would otherwise use it up and return nothing."""

MAX_TOKEN_COUNT = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""

MAX_COST_USD = 1_000_000
"""A higher cost of one reply is a counting error."""

MAX_MODEL_NAME_LENGTH = 200

UNSUPPORTED_PROVIDERS = ("github_copilot", "chatgpt")
"""Their login prints a device code to standard output, which carries the protocol."""

_import_lock = threading.Lock()
_litellm: Any = None


class LitellmModel:
    """`price`: the operator's price; None for litellm's price table. `cooldown`: that of the provider."""

    def __init__(
        self,
        name: str,
        *,
        api_base: str = "",
        sleep: Sleep = anyio.sleep,
        cooldown: Cooldown | None = None,
        price: Price | None = None,
    ) -> None:
        self.name = name
        self.price = price
        self.api_base = api_base
        self._sleep = sleep
        self._cooldown = cooldown

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self._check_allowed()
        has_streamed = False
        attempt, most = 0, request.max_attempts

        def forward_piece(piece: str) -> None:
            nonlocal has_streamed
            has_streamed = True
            if on_text:
                on_text(piece)

        litellm = await get_litellm()  # before the timeout starts: the import takes seconds
        try:
            with anyio.fail_after(request.timeout):
                started = anyio.current_time()
                extras = self._build_extras(litellm, request)
                for attempt in range(1, most + 1):
                    # A watcher who saw part of a reply gets no pieces of the next attempt.
                    streaming = forward_piece if on_text and not has_streamed else None
                    try:
                        completion = await self._request_completion(litellm, request, streaming, extras)
                    except Exception as error:  # noqa: BLE001  (litellm raises many types)
                        failure = self._classify_error(litellm, error)
                    else:
                        return self._build_reply(litellm, completion, attempt, anyio.current_time() - started)
                    if extras and attempt < most and failure.is_request_error:
                        extras = {}  # the prompt describes the format in words as well
                    else:
                        await self._wait_before_retry(failure, attempt, can_retry=attempt < most)
        except TimeoutError:
            detail = f"{self.name} did not answer within {request.timeout:g} seconds."
            raise ModelError("timeout", detail, attempts=max(attempt, 1)) from None
        raise AssertionError("the last attempt returns or raises")

    def _check_allowed(self) -> None:
        if reason := unsupported_reason(self.name):
            raise ModelError("bad_request", reason)
        if is_offline() and not is_loopback(self._base_url()):
            raise ModelError(
                "bad_request",
                f"{self.name} was not asked: COUNTERPOINT_OFFLINE is set, and only models on this machine "
                "may be called then (an api_base on 127.0.0.1).",
            )

    def _base_url(self) -> str:
        """The configured address of the provider; "" for litellm's default."""
        provider = parse_provider(self.name).upper()
        return (
            self.api_base
            or os.environ.get(f"{provider}_API_BASE", "")
            or os.environ.get(f"{provider}_BASE_URL", "")
        )

    def _build_extras(self, litellm: Any, request: Request) -> dict[str, Any]:
        """The request's functions, or else the schema of the answer: some providers refuse both together.

        litellm knows for few models whether they can call functions, so all models get them; it drops them
        for providers without function calling.
        """
        # For Ollama, litellm would turn functions into a JSON mode in which every reply is a call.
        if request.functions and parse_provider(self.name) != "ollama":
            return {"tools": build_tools(request.functions)}
        sent = build_response_format(request.prompt)
        if sent is None or not litellm.supports_response_schema(model=self.name):
            return {}
        return {"response_format": sent}

    async def _request_completion(
        self, litellm: Any, request: Request, on_text: OnText | None, extras: Mapping[str, Any]
    ) -> Completion:
        arguments: dict[str, Any] = {
            "model": self.name,
            "messages": build_messages(self.name, request.prompt),
            "max_tokens": request.max_tokens,
            "timeout": request.timeout,
            "num_retries": 0,
            "max_retries": 0,  # of the OpenAI client below litellm
            "drop_params": True,
        }
        if litellm.supports_reasoning(model=self.name):
            arguments["max_tokens"] += REASONING_TOKENS
        # Offline, the address that was checked is the one that is used.
        if base := self._base_url() if is_offline() else self.api_base:
            arguments["api_base"] = base
        if on_text is None:
            return read_completion(await litellm.acompletion(**arguments, **extras))
        arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        return await read_stream(await litellm.acompletion(**arguments, **extras), on_text)

    def _classify_error(self, litellm: Any, error: Exception) -> ProviderFailure:
        try:
            missing = litellm.validate_environment(model=self.name)["missing_keys"]
        except Exception:  # noqa: BLE001  (only improves the wording)
            missing = []
        return classify_error(error, self.name, missing)

    async def _wait_before_retry(self, failure: ProviderFailure, attempt: int, *, can_retry: bool) -> None:
        """Wait before the next attempt.

        Raises:
            ModelError: there is no next attempt, it would not help, or the time is too short for it.
        """
        if self._cooldown and failure.cause == "rate_limited" and failure.retry_after:
            self._cooldown.extend(failure.retry_after)
        if failure.is_transient and can_retry:
            pause = failure.retry_after
            if not pause:  # also for Retry-After: 0
                spread = random.uniform(0.5, 1.0)  # noqa: S311  (jitter, not security)
                pause = min(MAX_BACKOFF, 2.0 ** (attempt - 1)) * spread
            if await self._sleep_before_deadline(pause):
                return
        raise ModelError(failure.cause, failure.detail, attempts=attempt) from None

    async def _sleep_before_deadline(self, seconds: float) -> bool:
        """Sleep until the pause and the provider's cooldown are over; False if the deadline comes first."""
        while True:
            seconds = max(seconds, self._cooldown.seconds_left() if self._cooldown else 0.0)
            if anyio.current_time() + seconds >= anyio.current_effective_deadline():
                return False
            await self._sleep(seconds)
            if self._cooldown is None or not (seconds := self._cooldown.seconds_left()):
                return True

    def _build_reply(self, litellm: Any, completion: Completion, attempts: int, seconds: float) -> Reply:
        if completion.finish_reason == "content_filter" and not (
            completion.text or completion.function_calls
        ):
            detail = f"{self.name}: a content filter stopped it; reword the question or choose another model."
            raise ModelError("refused", detail, attempts=attempts)
        counts = completion.usage
        details = getattr(counts, "prompt_tokens_details", None)
        usage = Usage(
            model=qualify_model_name(self.name, clean_model_name(completion.model))[:MAX_MODEL_NAME_LENGTH],
            input_tokens=read_token_count(counts, "prompt_tokens"),
            cached_tokens=read_token_count(details, "cached_tokens"),
            output_tokens=read_token_count(counts, "completion_tokens"),
            cost_usd=compute_reply_cost(litellm, self.name, counts, self.price),
            milliseconds=round(seconds * 1000),
            attempts=attempts,
        )
        return Reply(
            completion.text,
            usage,
            cut=completion.finish_reason == "length",
            function_calls=completion.function_calls,
        )


async def get_litellm() -> Any:
    """The litellm module. After a cancellation the import finishes in its thread.

    Raises:
        ModelError: it cannot be imported.
    """
    if _litellm is not None:
        return _litellm
    try:
        return await to_thread.run_sync(import_litellm, abandon_on_cancel=True)
    except ImportError as error:
        detail = f"litellm cannot be imported ({redact(str(error), os.environ)[:200]}); install it again."
        raise ModelError("unavailable", detail) from error


def import_litellm() -> Any:
    global _litellm  # noqa: PLW0603  (one per process)
    with _import_lock:
        if _litellm is None:
            # Else the import fetches a price list, and waits for seconds when offline.
            os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
            litellm: Any = import_module("litellm")
            litellm.suppress_debug_info = True  # else errors print to standard output
            litellm.telemetry = False
            for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
                # Its log records contain requests, keys and tracebacks.
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
            _litellm = litellm
    return _litellm


def unsupported_reason(name: str) -> str:
    """Why models of this provider are never called; "" if they may be."""
    provider = parse_provider(name)
    if provider in UNSUPPORTED_PROVIDERS:
        return (
            f"{name}: models of {provider} cannot be used here, because their login writes to standard "
            "output. Choose another provider."
        )
    return ""


def parse_provider(name: str) -> str:
    return name.partition("/")[0].lower() if "/" in name else "openai"


def is_offline() -> bool:
    return os.environ.get("COUNTERPOINT_OFFLINE", "") not in ("", "0")


def is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def build_messages(name: str, prompt: Prompt) -> list[dict[str, Any]]:
    """Messages for litellm; for Anthropic in blocks with a cache mark, which its prompt cache needs."""
    messages: list[dict[str, Any]] = [{"role": m.role, "content": m.content} for m in prompt.messages]
    if parse_provider(name) == "anthropic" or name.startswith("claude"):
        for message in messages:
            if message["role"] == "user":
                message["content"] = split_blocks(message["content"])
    return messages


def split_blocks(text: str) -> list[dict[str, Any]]:
    """The text in blocks of one section each, the last but one marked for the cache.

    The last section differs by seat. The cache matches the common prefix of prompts by whole blocks.
    """
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": part} for part in re.split(r"(?<=\n\n)(?=\S)", text) if part
    ]
    if len(parts) > 1:
        parts[-2]["cache_control"] = {"type": "ephemeral"}
    return parts


def read_token_count(counts: Any, field: str) -> int:
    """A token count from the provider's JSON, which may hold anything: 0 if it is not an integer."""
    count = getattr(counts, field, 0)
    return min(max(count, 0), MAX_TOKEN_COUNT) if type(count) is int else 0


def clean_model_name(name: Any) -> str:
    """The model name a provider reported, without control characters."""
    return collapse_whitespace(clean(name)) if isinstance(name, str) else ""


def qualify_model_name(name: str, reported_name: str) -> str:
    """The model that replied, with the provider it was requested from: `provider/model`."""
    provider, slash, requested = name.partition("/")
    if not reported_name or not slash:
        return reported_name or name
    if reported_name == requested or reported_name.startswith(provider + "/"):
        return reported_name if reported_name != requested else name
    return f"{provider}/{reported_name}"


def compute_reply_cost(litellm: Any, name: str, counts: Any, own_price: Price | None = None) -> str:
    """US dollars, at the operator's own price if there is one; "" if unknown.

    Unknown is a model without a price in litellm's table, where litellm raises or says 0, and a reply without
    token counts.
    """
    tokens = read_token_count(counts, "prompt_tokens"), read_token_count(counts, "completion_tokens")
    if not any(tokens):
        return ""
    if own_price and own_price.input:
        return compute_cost(own_price, *tokens)
    try:
        cost = sum(litellm.cost_per_token(model=name, usage_object=counts))
        known = litellm.get_model_info(model=name)["key"]
        if "input_cost_per_token" not in litellm.model_cost[known]:
            return ""
    except Exception:  # noqa: BLE001  (an unknown price must not lose the reply)
        return ""
    return f"{cost:.10f}".rstrip("0").rstrip(".") if 0 <= cost < MAX_COST_USD else ""
