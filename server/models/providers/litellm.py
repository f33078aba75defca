"""Models and errors of every provider that litellm supports.

litellm takes seconds to import and prints to standard output. So it is imported in a thread, while the debate that
needs it is being recorded, and silenced. Retries are ours: litellm's need a package that it does not depend on, and
also repeat requests with wrong keys.
"""

import asyncio
import gc
import json
import logging
import os
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import aclosing, suppress
from functools import cache
from importlib import import_module
from typing import Any

from server.background_tasks import start_thread
from server.models import LITELLM_PREFIX, ModelError, OnText, Request
from server.models.prices import MAX_COST_USD, find_row
from server.models.providers.caches import ANTHROPIC, OTHERS, PromptCache, build_blocks
from server.models.providers.connections import (
    MAX_RESPONSE_BYTES,
    MAX_STREAM_BYTES,
    UnreadableResponseError,
    check_size,
)
from server.models.providers.endpoints import check_callable, is_offline, parse_provider, read_api_base
from server.models.providers.errors import ProviderFailure, classify_error
from server.models.providers.model import EFFORT, ProviderCaller, ProviderModel
from server.models.providers.response import (
    Completion,
    read_completion,
    read_stream,
)
from server.redaction import find_secrets, learn_secrets, redact_error

MAX_COMPRESSED_BYTES = 200_000

FIRST_CALL_MODULES = (
    "litellm._service_logger",
    "litellm.proxy.openai_files_endpoints.common_utils",
    "litellm.litellm_core_utils.default_encoding",
)
"""What litellm imports in its first call, which would block the event loop for a quarter of a second."""

ANTHROPIC_BUDGETS = {"low": 1_024, "medium": 2_048, "high": 4_096}
"""The thinking tokens that litellm gives Anthropic's models, by effort. They refuse fewer than the lowest."""

_import: Future[Any] | None = None  # the one that runs, or ran last


class LitellmCaller(ProviderCaller):
    """Asks by litellm. `litellm/NAME` is NAME, whatever it is, as litellm has it."""

    @property
    def litellm_name(self) -> str:
        return self.name.removeprefix(LITELLM_PREFIX)

    async def prepare(self) -> None:
        check_callable(self.name, read_api_base(self.litellm_name))
        await get_litellm()

    def classify(self, error: Exception) -> ProviderFailure:
        missing_variables = list_missing_variables(import_litellm(), self.litellm_name)
        return classify_error(error, self.name, missing_variables, find_key_variable(self.litellm_name))


class LitellmModel(LitellmCaller, ProviderModel):
    @property
    def cache(self) -> PromptCache:
        is_anthropic = parse_provider(self.litellm_name) == "anthropic" or self.litellm_name.startswith(
            "claude"
        )
        return ANTHROPIC if is_anthropic else OTHERS

    def start_loading(self) -> None:
        start_import()

    async def complete(self, request: Request, extras: dict[str, Any], on_text: OnText | None) -> Completion:
        litellm = import_litellm()
        arguments = self._build_arguments(request) | self._fit_effort(request, extras)
        try:
            if on_text is None:
                return read_completion(await litellm.acompletion(**arguments))
            options = {"stream": True, "stream_options": {"include_usage": True}}
            return await read_stream(await litellm.acompletion(**arguments, **options), on_text)
        except Exception as error:
            # litellm reports an unreadable answer as a broken connection, which would be retried.
            if unreadable := find_unreadable(error):
                raise unreadable from None
            raise

    def look_up_cost(self, counts: Any) -> str:
        return look_up_litellm_cost(import_litellm(), self.litellm_name, counts)

    def _fit_effort(self, request: Request, extras: dict[str, Any]) -> dict[str, Any]:
        """Anthropic's models refuse a thinking budget that is not below the limit: send a smaller one, or none."""
        limit, usual = self.find_limit(request), ANTHROPIC_BUDGETS.get(extras.get(EFFORT, ""), 0)
        if limit > usual or not ("claude" in self.litellm_name or self.litellm_name.startswith("anthropic/")):
            return extras
        budget = {"thinking": {"type": "enabled", "budget_tokens": limit - 1}}
        other_extras = {name: value for name, value in extras.items() if name != EFFORT}
        return other_extras | (budget if limit > min(ANTHROPIC_BUDGETS.values()) else {})

    def _build_arguments(self, request: Request) -> dict[str, Any]:
        messages: list[dict[str, Any]] = [
            {"role": m.role, "content": m.content} for m in request.prompt.messages
        ]
        if request.marks and self.cache.mark:
            messages[-1]["content"] = build_blocks(request, self.cache.mark)
        # Offline, litellm must use the address that was checked.
        api_base = read_api_base(self.litellm_name) if is_offline() else ""
        return ({"api_base": api_base} if api_base else {}) | {
            "model": self.litellm_name,
            "messages": messages,
            "max_tokens": self.find_limit(request),
            "timeout": request.timeout,
            "num_retries": 0,
            "max_retries": 0,  # of the OpenAI client below litellm
            "drop_params": True,
        }


def find_unreadable(error: BaseException | None) -> UnreadableResponseError | None:
    """The first cause of an error that says that the answer is too large, or not JSON."""
    while error:
        if isinstance(error, UnreadableResponseError):
            return error
        if isinstance(error, json.JSONDecodeError):
            return UnreadableResponseError("It is not a completion (JSONDecodeError).")
        error = error.__cause__ or error.__context__
    return None


def list_missing_variables(litellm: Any, name: str) -> list[str]:
    """The environment variables that the provider needs and that are not set."""
    with suppress(Exception):  # it only improves the wording of an error
        return list(litellm.validate_environment(model=name)["missing_keys"])
    return []


def find_key_variable(name: str) -> str:
    """The variable that holds the key of a model's provider; "" if the variable with the usual name is not set."""
    provider = parse_provider(name) if "/" in name else str(find_row(name).get("litellm_provider", ""))
    variable = f"{provider}_API_KEY".upper()
    return variable if os.environ.get(variable) else ""


def has_provider(litellm: Any, name: str) -> bool:
    """Whether litellm knows the provider of a model."""
    try:
        litellm.get_llm_provider(model=name)
    except Exception:  # noqa: BLE001  (litellm raises many types)
        return False
    return True


def start_import() -> Future[Any]:
    """Begin to import litellm in a thread, unless that has begun. An import that failed is tried again."""
    global _import  # noqa: PLW0603  (a process has one)
    if _import is None or (_import.done() and _import.exception()):
        _import = start_thread(import_litellm, "import litellm")
    return _import


def is_importing() -> bool:
    return _import is not None and not _import.done()


async def get_litellm() -> Any:
    """The litellm module, or ModelError."""
    try:
        return await asyncio.wrap_future(start_import())
    except Exception as error:
        cause = redact_error(f"{type(error).__name__}: {error}")[:200]
        detail = f"litellm cannot be imported ({cause}); install it again."
        raise ModelError("unavailable", detail) from error


@cache
def import_litellm() -> Any:
    # Otherwise the import downloads a price list, which takes seconds without a network.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    gc.disable()  # the import makes half a million permanent objects; scanning them repeatedly blocks the process
    try:
        litellm: Any = import_module("litellm")
        for name in FIRST_CALL_MODULES:
            with suppress(Exception):  # internal modules of litellm, which another release may move
                import_module(name)
    finally:
        gc.freeze()
        gc.enable()
    learn_secrets(find_secrets(os.environ))  # the import reads a file .env
    litellm.suppress_debug_info = True  # otherwise errors print to standard output
    litellm.telemetry = False
    limit_responses(import_module("litellm.llms.custom_httpx.aiohttp_transport").AiohttpResponseStream)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        # Its log records contain requests, keys and tracebacks.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return litellm


def limit_responses(stream_type: Any) -> None:
    """Make the streams through which litellm reads every response raise UnreadableResponseError for a large one.

    Compressed bytes can expand a thousandfold later, so they have a lower limit.
    """
    read_all = stream_type.__aiter__

    async def read_some(stream: Any) -> AsyncIterator[bytes]:
        headers = stream._aiohttp_response.headers  # noqa: SLF001
        is_compressed = headers.get("content-encoding", "identity") != "identity"
        limit = MAX_COMPRESSED_BYTES if is_compressed else MAX_RESPONSE_BYTES
        if headers.get("content-type", "").startswith("text/event-stream"):
            limit *= MAX_STREAM_BYTES // MAX_RESPONSE_BYTES
        size = 0
        async with aclosing(read_all(stream)) as pieces:
            async for piece in pieces:
                size += len(piece)
                check_size(size, limit)
                yield piece

    stream_type.__aiter__ = read_some


def look_up_litellm_cost(litellm: Any, name: str, counts: Any) -> str:
    """US dollars; "" for a model without a price in litellm's table, where litellm raises or says 0."""
    try:
        cost = sum(litellm.cost_per_token(model=name, usage_object=counts))
        key = litellm.get_model_info(model=name)["key"]
        if "input_cost_per_token" not in litellm.model_cost[key]:
            return ""
    except Exception:  # noqa: BLE001  (an unknown price must not lose the reply)
        return ""
    return f"{cost:.10f}".rstrip("0").rstrip(".") if 0 <= cost < MAX_COST_USD else ""
