"""Models of every provider that litellm supports.

litellm takes seconds to import and prints to standard output, so it is imported on first use, in a thread,
and silenced. Retries are ours: litellm's need a package it does not depend on, and retry wrong keys too.
"""

import logging
import os
import random
import re
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import anyio
from anyio import to_thread

from server.debate.facts.config import Price
from server.models import ModelError, OnText, Reply, Request
from server.models.litellm.errors import ProviderFailure, classify_error
from server.models.litellm.request import build_arguments, build_extras, parse_provider
from server.models.litellm.response import Completion, build_reply, read_completion, read_stream
from server.models.resilience import Cooldown, Sleep
from server.redaction import redact

MAX_BACKOFF = 8.0  # seconds, unless the provider asks for more

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
        self._price = price
        self._api_base = api_base
        self._sleep = sleep
        self._cooldown = cooldown

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self._check_allowed()
        attempt, has_streamed = 0, False

        def forward_piece(piece: str) -> None:
            nonlocal has_streamed
            has_streamed = True
            if on_text:
                on_text(piece)

        litellm = await get_litellm()  # before the timeout starts: the import takes seconds
        try:
            with anyio.fail_after(request.timeout):
                started = anyio.current_time()
                extras = build_extras(litellm, self.name, request)
                while True:
                    attempt += 1
                    # A watcher who saw part of a reply gets no pieces of the next attempt.
                    streaming = forward_piece if on_text and not has_streamed else None
                    try:
                        completion = await self._request_completion(litellm, request, streaming, extras)
                        break
                    except Exception as error:  # noqa: BLE001  (litellm raises many types)
                        failure = self._classify_error(litellm, error)
                    if extras and attempt < request.max_attempts and failure.is_request_error:
                        extras = {}  # the prompt describes the format in words as well
                    else:
                        await self._wait_before_retry(failure, attempt, request.max_attempts)
        except TimeoutError:
            detail = f"{self.name} did not answer within {request.timeout:g} seconds."
            raise ModelError("timeout", detail, attempts=max(attempt, 1)) from None
        return build_reply(
            litellm, self.name, completion, self._price, attempt, anyio.current_time() - started
        )

    def _check_allowed(self) -> None:
        if reason := unsupported_reason(self.name):
            raise ModelError("bad_request", reason)
        if is_offline() and not is_loopback(self._base_url()):
            allowed = "only models on this machine may be called then (an api_base on 127.0.0.1)"
            detail = f"{self.name} was not asked: COUNTERPOINT_OFFLINE is set, and {allowed}."
            raise ModelError("bad_request", detail)

    def _base_url(self) -> str:
        """The configured address of the provider; "" for litellm's default."""
        provider = parse_provider(self.name).upper()
        variables = (f"{provider}_API_BASE", f"{provider}_BASE_URL")
        return self._api_base or next(filter(None, map(os.environ.get, variables)), "")

    async def _request_completion(
        self, litellm: Any, request: Request, on_text: OnText | None, extras: dict[str, Any]
    ) -> Completion:
        arguments = build_arguments(litellm, self.name, request) | extras
        # Offline, the address that was checked is the one that is used.
        if base := self._base_url() if is_offline() else self._api_base:
            arguments["api_base"] = base
        if on_text is None:
            return read_completion(await litellm.acompletion(**arguments))
        arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        return await read_stream(await litellm.acompletion(**arguments), on_text)

    def _classify_error(self, litellm: Any, error: Exception) -> ProviderFailure:
        missing: list[str] = []
        with suppress(Exception):  # it only improves the wording
            missing = litellm.validate_environment(model=self.name)["missing_keys"]
        return classify_error(error, self.name, missing)

    async def _wait_before_retry(self, failure: ProviderFailure, attempt: int, max_attempts: int) -> None:
        """Wait before the next attempt, until the provider's cooldown is over as well.

        Raises:
            ModelError: there is no next attempt, it would not help, or the time is too short for it.
        """
        pause, cooldown = failure.retry_after, self._cooldown
        if cooldown and failure.cause == "rate_limited" and pause:
            cooldown.extend(pause)
        if not pause:  # also for Retry-After: 0
            spread = random.uniform(0.5, 1.0)  # noqa: S311  (jitter, not security)
            pause = min(MAX_BACKOFF, 2.0 ** (attempt - 1)) * spread
        while failure.is_transient and attempt < max_attempts:
            pause = max(pause, cooldown.seconds_left() if cooldown else 0.0)
            if anyio.current_time() + pause >= anyio.current_effective_deadline():
                break
            await self._sleep(pause)
            pause = cooldown.seconds_left() if cooldown else 0.0
            if not pause:
                return
        raise ModelError(failure.cause, failure.detail, attempts=attempt) from None


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
    if (provider := parse_provider(name)) not in UNSUPPORTED_PROVIDERS:
        return ""
    reason = "cannot be used here, because their login writes to standard output. Choose another provider."
    return f"{name}: models of {provider} {reason}"


def is_offline() -> bool:
    return os.environ.get("COUNTERPOINT_OFFLINE", "") not in ("", "0")


def is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None
