"""Models of every provider that litellm supports.

litellm takes seconds to import and prints to standard output, so it is imported on first use, in a thread,
and silenced. Retries are ours: litellm's need a package it does not depend on, and retry wrong keys too.
"""

import logging
import os
import random
import re
from contextlib import suppress
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

import anyio
from anyio import to_thread

from server.debate.facts.config import Price
from server.debate.rules.windows import estimate_tokens, find_unread_prompt
from server.models import ModelError, OnText, Reply, Request
from server.models.litellm.addresses import (
    OLLAMA_PROVIDERS,
    find_api_base,
    is_callable,
    is_offline,
    parse_provider,
)
from server.models.litellm.errors import ProviderFailure, classify_error
from server.models.litellm.response import Completion, build_reply, read_completion, read_stream
from server.models.prices import find_row
from server.models.resilience import Cooldown, Sleep
from server.redaction import find_secrets, learn_secrets, redact_error

MAX_BACKOFF = 8.0  # seconds, unless the provider asks for more
REASONING_TOKENS = 4_000  # added for reasoning models, which would use up the reply's own limit

SMALLEST_OLLAMA_WINDOW = 8192  # tokens
OLLAMA_MARGIN = 1.5  # code and tables have more tokens than are estimated

_BOUNDS = ("maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "format")
_NO_SCHEMAS = (*_BOUNDS, "properties")


@dataclass(eq=False)
class LitellmModel:
    name: str
    _: KW_ONLY
    api_base: str = ""
    sleep: Sleep = anyio.sleep
    cooldown: Cooldown | None = None  # that of the provider
    price: Price | None = None  # the operator's price; None for litellm's price table
    _ollama_window: int = 0  # the largest that was asked for
    _refused: set[str] = field(default_factory=set)  # what the endpoint answered only without

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        api_base = self._choose_api_base()
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
                arguments = self._build_arguments(litellm, request, api_base)
                offered = build_extras(self.name, request)
                extras = {key: offered[key] for key in offered.keys() - self._refused}
                while True:
                    attempt += 1
                    # A watcher who saw part of a reply gets no pieces of the next attempt.
                    streaming = forward_piece if on_text and not has_streamed else None
                    try:
                        completion = await request_completion(litellm, arguments | extras, streaming)
                        break
                    except Exception as error:  # noqa: BLE001  (litellm raises many types)
                        failure = classify_error(error, self.name, find_missing_variables(litellm, self.name))
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
        reply = build_reply(litellm, self.name, completion, self.price, attempt, seconds)
        text = "\n".join(message.content for message in request.prompt.messages)
        unread = find_unread_prompt(text, reply.usage.input_tokens, request.window)
        return replace(reply, usage=reply.usage.model_copy(update={"sent_tokens": unread}))

    def _choose_api_base(self) -> str:
        """The provider's address; "" for litellm's default. Raises ModelError where it may not be called."""
        base = self.api_base or find_api_base(self.name)
        if not is_callable(base):
            allowed = "only models on this machine may be called then (an api_base on 127.0.0.1)"
            detail = f"{self.name} was not asked: COUNTERPOINT_OFFLINE is set, and {allowed}."
            raise ModelError("bad_request", detail)
        # Offline, the address that was checked is the one that is used.
        return base if is_offline() or parse_provider(self.name) in OLLAMA_PROVIDERS else self.api_base

    def _build_arguments(self, litellm: Any, request: Request, api_base: str) -> dict[str, Any]:
        is_reasoning = litellm.supports_reasoning(model=self.name)
        # Anthropic's prompt cache needs blocks with a mark.
        has_blocks = parse_provider(self.name) == "anthropic" or self.name.startswith("claude")
        messages = [
            {"role": role, "content": split_blocks(content) if has_blocks and role == "user" else content}
            for role, content in ((message.role, message.content) for message in request.prompt.messages)
        ]
        arguments: dict[str, Any] = {"api_base": api_base} if api_base else {}
        if parse_provider(self.name) in OLLAMA_PROVIDERS:
            self._ollama_window = max(self._ollama_window, choose_ollama_window(request))
            arguments["num_ctx"] = min(self._ollama_window, request.window or self._ollama_window)
        return arguments | {
            "model": self.name,
            "messages": messages,
            "max_tokens": request.max_tokens + (REASONING_TOKENS if is_reasoning else 0),
            "timeout": request.timeout,
            "num_retries": 0,
            "max_retries": 0,  # of the OpenAI client below litellm
            "drop_params": True,
        }

    async def _wait_before_retry(self, failure: ProviderFailure, attempt: int, max_attempts: int) -> None:
        """Wait for the next attempt and the end of the cooldown. Raises ModelError if that is no use."""
        cooldown, asked = self.cooldown, failure.retry_after
        if cooldown and failure.cause == "rate_limited" and asked:
            cooldown.extend(asked)
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


async def request_completion(litellm: Any, arguments: dict[str, Any], on_text: OnText | None) -> Completion:
    if on_text is None:
        return read_completion(await litellm.acompletion(**arguments))
    options = {"stream": True, "stream_options": {"include_usage": True}}
    return await read_stream(await litellm.acompletion(**arguments, **options), on_text)


def find_missing_variables(litellm: Any, name: str) -> list[str]:
    """The environment variables that the provider needs and that are not set."""
    with suppress(Exception):  # it only improves the wording of an error
        return list(litellm.validate_environment(model=name)["missing_keys"])
    return []


async def get_litellm() -> Any:
    """The litellm module, or ModelError. After a cancellation the import finishes in its thread."""
    if import_litellm.cache_info().currsize:
        return import_litellm()
    try:
        return await to_thread.run_sync(import_litellm, abandon_on_cancel=True)
    except ImportError as error:
        detail = f"litellm cannot be imported ({redact_error(str(error))[:200]}); install it again."
        raise ModelError("unavailable", detail) from error


@cache
def import_litellm() -> Any:
    # Else the import fetches a price list, and waits for seconds when offline.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    litellm: Any = import_module("litellm")
    learn_secrets(find_secrets(os.environ))  # it reads a file .env
    litellm.suppress_debug_info = True  # else errors print to standard output
    litellm.telemetry = False
    with suppress(ImportError):
        # It asks Ollama about the model at every turn, and all of this process waits; `windows` asks once.
        ollama = import_module("litellm.llms.ollama.common_utils").OllamaModelInfo
        ollama.get_model_info = lambda *_, **__: None
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        # Its log records contain requests, keys and tracebacks.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return litellm


def choose_ollama_window(request: Request) -> int:
    """The `num_ctx` to ask for, without which Ollama cuts prompts, unsaid.

    Memory grows with it, and another one loads the model again: a power of two with room to spare.
    """
    tokens = estimate_tokens(message.content for message in request.prompt.messages)
    window = SMALLEST_OLLAMA_WINDOW
    while window < tokens * OLLAMA_MARGIN + request.max_tokens:
        window *= 2
    return window


def split_blocks(text: str) -> list[dict[str, Any]]:
    """The text in blocks of one section each, the last but one marked for the cache.

    The last section differs by seat. The cache matches the common prefix of prompts by whole blocks.
    """
    parts = re.split(r"(?<=\n\n)(?=\S)", text)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": part} for part in parts if part]
    if len(blocks) > 1:
        blocks[-2]["cache_control"] = {"type": "ephemeral"}
    return blocks


def build_extras(name: str, request: Request) -> dict[str, Any]:
    """The request's functions, or else the schema of the answer: some providers refuse both together.

    Few models are known to support either, so they get them unless litellm's table says that they do not; what
    an endpoint refuses is left out from then on. Our own schemas use strict mode. A caller's schema may use keywords
    that strict modes reject, so it is sent unchanged and not strict; one of anything but an object is not sent.
    """
    # For Ollama, litellm would turn functions into a JSON mode in which every reply is a call.
    if request.functions and parse_provider(name) != "ollama":
        return {"tools": [{"type": "function", "function": asdict(one)} for one in request.functions]}
    schema, strict = request.prompt.schema, request.prompt.strict
    is_sent = schema is not None and (strict or schema.get("type") == "object")
    if not is_sent or find_row(name).get("supports_response_schema") is False:
        return {}
    answer = {"name": "answer", "strict": strict, "schema": remove_bounds(schema) if strict else schema}
    return {"response_format": {"type": "json_schema", "json_schema": answer}}


def remove_bounds(schema: Any) -> Any:
    """The schema without bounds, which strict modes reject. The core checks them."""
    if isinstance(schema, dict):
        kept = {key: remove_bounds(value) for key, value in schema.items() if key not in _NO_SCHEMAS}
        names = {name: remove_bounds(part) for name, part in schema.get("properties", {}).items()}
        return kept | ({"properties": names} if names else {})
    return [remove_bounds(item) for item in schema] if isinstance(schema, list) else schema
