"""Every provider that litellm knows.

litellm takes seconds to import and prints where it likes, so it is imported on the first use, in a
thread, and silenced. Retries are ours: its own need a package it does not depend on, and repeat
wrong keys as well.
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
from server.debate.facts.text import clean, one_line
from server.models import ModelError, OnText, Prompt, Reply, Request, Usage
from server.models.litellm.errors import Failure, understand
from server.models.litellm.request import response_format, tools
from server.models.litellm.response import Answer, streamed, whole
from server.models.prices import cost
from server.models.resilience.concurrency import Pause, Rest
from server.redaction import redact

LONGEST_PAUSE = 8.0  # seconds, where the provider does not ask for more
ROOM_TO_THINK = 4_000
"""Tokens beside the answer's own: models that reason spend the same budget on it, and would say nothing."""

MOST_TOKENS = 2**53 - 1
"""What every reader of JSON takes for the same number."""

DEAREST = 1_000_000
"""Dollars. An answer that seems to cost more was counted wrong."""

LONGEST_LABEL = 200
"""Characters of the name under which a model answered."""

REFUSED_PROVIDERS = ("github_copilot", "chatgpt")
"""Their log-in prints a device code on standard output, which belongs to the protocol."""

_loading = threading.Lock()
_litellm: Any = None


class LitellmModel:
    """`price`: what its tokens cost, where the operator says so; else litellm's table tells."""

    def __init__(
        self,
        name: str,
        *,
        api_base: str = "",
        pause: Pause = anyio.sleep,
        rest: Rest | None = None,
        price: Price | None = None,
    ) -> None:
        self.name = name
        self.price = price
        self.api_base = api_base
        self._pause = pause
        self._rest = rest  # of the provider, where others ask it too

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self._refuse()
        told = False
        attempt, most = 0, request.attempts

        def tell(piece: str) -> None:
            nonlocal told
            told = True
            if on_text:
                on_text(piece)

        litellm = await loaded()  # before the clock runs: the first import may take seconds
        try:
            with anyio.fail_after(request.timeout):
                started = anyio.current_time()
                extras = self._extras(litellm, request)
                for attempt in range(1, most + 1):
                    # Who has seen half of an answer does not see its second beginning.
                    streaming = tell if on_text and not told else None
                    try:
                        answer = await self._ask(litellm, request, streaming, extras)
                    except Exception as error:  # noqa: BLE001  (litellm raises what it likes)
                        failure = self._understand(litellm, error)
                    else:
                        return self._read(litellm, answer, attempt, anyio.current_time() - started)
                    if extras and attempt < most and failure.about_request:
                        extras = {}  # the prompt says in words what is wanted
                    else:
                        await self._wait(failure, attempt, again=attempt < most)
        except TimeoutError:
            detail = f"{self.name} did not answer within {request.timeout:g} seconds."
            raise ModelError("timeout", detail, attempts=max(attempt, 1)) from None
        raise AssertionError("the last attempt returns or raises")

    def _refuse(self) -> None:
        if reason := refusal(self.name):
            raise ModelError("bad_request", reason)
        if offline() and not loopback(self._base()):
            raise ModelError(
                "bad_request",
                f"{self.name} was not asked: COUNTERPOINT_OFFLINE is set, and only models on this machine "
                "may be called then (an api_base on 127.0.0.1).",
            )

    def _base(self) -> str:
        """Where requests go as far as we are told; "" where litellm knows."""
        provider = provider_of(self.name).upper()
        return (
            self.api_base
            or os.environ.get(f"{provider}_API_BASE", "")
            or os.environ.get(f"{provider}_BASE_URL", "")
        )

    def _extras(self, litellm: Any, request: Request) -> dict[str, Any]:
        """Functions to call, or else the schema of the answer: some providers refuse both at once.

        Whether a model can call functions is known of few, so all are offered them. litellm leaves them
        out where a provider has no such thing.
        """
        # For these litellm would ask for JSON instead, and whatever comes would be a call.
        if request.functions and provider_of(self.name) != "ollama":
            return {"tools": tools(request.functions)}
        sent = response_format(request.prompt)
        if sent is None or not litellm.supports_response_schema(model=self.name):
            return {}
        return {"response_format": sent}

    async def _ask(
        self, litellm: Any, request: Request, on_text: OnText | None, extras: Mapping[str, Any]
    ) -> Answer:
        arguments: dict[str, Any] = {
            "model": self.name,
            "messages": messages(self.name, request.prompt),
            "max_tokens": request.max_tokens,
            "timeout": request.timeout,
            "num_retries": 0,
            "max_retries": 0,  # of the OpenAI client below litellm, which has two of its own
            "drop_params": True,
        }
        if litellm.supports_reasoning(model=self.name):
            arguments["max_tokens"] += ROOM_TO_THINK
        # The address that was checked is the one that is used.
        if base := self._base() if offline() else self.api_base:
            arguments["api_base"] = base
        if on_text is None:
            return whole(await litellm.acompletion(**arguments, **extras))
        arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        return await streamed(await litellm.acompletion(**arguments, **extras), on_text)

    def _understand(self, litellm: Any, error: Exception) -> Failure:
        try:
            missing = litellm.validate_environment(model=self.name)["missing_keys"]
        except Exception:  # noqa: BLE001  (an aid to wording; the error at hand is what counts)
            missing = []
        return understand(error, self.name, missing)

    async def _wait(self, failure: Failure, attempt: int, *, again: bool) -> None:
        """Wait for the next attempt, unless there is to be none.

        Raises:
            ModelError: asking again would not help, or not in time.
        """
        if self._rest and failure.cause == "rate_limited" and failure.retry_after:
            self._rest.ask(failure.retry_after)
        if failure.transient and again:
            pause = failure.retry_after
            if not pause:  # "at once" would be answered by whoever is asked too often already
                spread = random.uniform(0.5, 1.0)  # noqa: S311  (seats that failed together come back apart)
                pause = min(LONGEST_PAUSE, 2.0 ** (attempt - 1)) * spread
            if await self._paused(pause):
                return
        raise ModelError(failure.cause, failure.detail, attempts=attempt) from None

    async def _paused(self, seconds: float) -> bool:
        """Whether the pause is over, and the provider's rest with it; at once where that comes too late."""
        while True:
            seconds = max(seconds, self._rest.left() if self._rest else 0.0)
            if anyio.current_time() + seconds >= anyio.current_effective_deadline():
                return False
            await self._pause(seconds)
            if self._rest is None or not (seconds := self._rest.left()):
                return True

    def _read(self, litellm: Any, answer: Answer, attempts: int, seconds: float) -> Reply:
        if answer.finish == "content_filter" and not (answer.text or answer.calls):
            detail = f"{self.name}: a content filter stopped it; reword the question or choose another model."
            raise ModelError("refused", detail, attempts=attempts)
        counts = answer.usage
        details = getattr(counts, "prompt_tokens_details", None)
        usage = Usage(
            model=answered(self.name, label(answer.model))[:LONGEST_LABEL],
            input_tokens=count(counts, "prompt_tokens"),
            cached_tokens=count(details, "cached_tokens"),
            output_tokens=count(counts, "completion_tokens"),
            cost_usd=price(litellm, self.name, counts, self.price),
            milliseconds=round(seconds * 1000),
            attempts=attempts,
        )
        return Reply(answer.text, usage, cut=answer.finish == "length", calls=answer.calls)


async def loaded() -> Any:
    """litellm, imported once. A wait that is cancelled leaves the import to finish by itself."""
    if _litellm is not None:
        return _litellm
    try:
        return await to_thread.run_sync(load, abandon_on_cancel=True)
    except ImportError as error:
        detail = f"litellm cannot be imported ({redact(str(error), os.environ)[:200]}); install it again."
        raise ModelError("unavailable", detail) from error


def load() -> Any:
    global _litellm  # noqa: PLW0603  (one per process, as the import is)
    with _loading:
        if _litellm is None:
            # Without it the import fetches a price list, and waits for it for seconds when offline.
            os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
            litellm: Any = import_module("litellm")
            litellm.suppress_debug_info = True  # else it prints to standard output on errors
            litellm.telemetry = False
            for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
                # Its records hold requests, keys and tracebacks.
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
            _litellm = litellm
    return _litellm


def refusal(name: str) -> str:
    """Why a model of this name is never asked; "" where it may be."""
    provider = provider_of(name)
    if provider in REFUSED_PROVIDERS:
        return (
            f"{name}: models of {provider} cannot be used here, because their log-in writes to standard "
            "output. Choose another provider."
        )
    return ""


def provider_of(name: str) -> str:
    return name.partition("/")[0].lower() if "/" in name else "openai"


def offline() -> bool:
    return os.environ.get("COUNTERPOINT_OFFLINE", "") not in ("", "0")


def loopback(base: str) -> bool:
    host = urlsplit(base).hostname or ""
    return host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def messages(name: str, prompt: Prompt) -> list[dict[str, Any]]:
    """The messages as they are; for Anthropic, whose cache wants to be told, in marked blocks."""
    plain: list[dict[str, Any]] = [{"role": m.role, "content": m.content} for m in prompt.messages]
    if provider_of(name) == "anthropic" or name.startswith("claude"):
        for message in plain:
            if message["role"] == "user":
                message["content"] = blocks(message["content"])
    return plain


def blocks(text: str) -> list[dict[str, Any]]:
    """The text in blocks, a section each; joined they are the text again.

    The mark stands before the last one, which is particular to its seat. What an earlier prompt to
    the model has in common with this one is found by whole blocks.
    """
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": part} for part in re.split(r"(?<=\n\n)(?=\S)", text) if part
    ]
    if len(parts) > 1:
        parts[-2]["cache_control"] = {"type": "ephemeral"}
    return parts


def count(counts: Any, name: str) -> int:
    """A number of tokens. It comes out of the provider's JSON as it stood there: anything, or nothing."""
    found = getattr(counts, name, 0)
    return min(max(found, 0), MOST_TOKENS) if type(found) is int else 0


def label(model: Any) -> str:
    """The name of a model that a provider gave, fit to be recorded and shown."""
    return one_line(clean(model)) if isinstance(model, str) else ""


def answered(name: str, model: str) -> str:
    """The model that answered, with the provider that it was asked through."""
    provider, slash, asked = name.partition("/")
    if not model or not slash:
        return model or name
    if model == asked or model.startswith(provider + "/"):
        return model if model != asked else name
    return f"{provider}/{model}"


def price(litellm: Any, name: str, counts: Any, own: Price | None = None) -> str:
    """In dollars, at the operator's own price if there is one.

    "" where litellm knows no price, for which it may raise or say 0, and where the provider counted
    nothing: no answer takes no tokens.
    """
    taken = count(counts, "prompt_tokens"), count(counts, "completion_tokens")
    if not any(taken):
        return ""
    if own and own.input:
        return cost(own, *taken)
    try:
        spent = sum(litellm.cost_per_token(model=name, usage_object=counts))
        known = litellm.get_model_info(model=name)["key"]
        if "input_cost_per_token" not in litellm.model_cost[known]:
            return ""
    except Exception:  # noqa: BLE001  (an unknown price must not cost the answer)
        return ""
    # Counts that are no counts make prices that are none.
    return f"{spent:.10f}".rstrip("0").rstrip(".") if 0 <= spent < DEAREST else ""
