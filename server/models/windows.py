"""Context windows of models: from settings, from the servers that run them, from litellm's table."""

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import anyio
from anyio import to_thread

from server.debate.facts.setup.limits import Window
from server.models import LITELLM_PREFIX
from server.models.fakes.chaos import unwrap_faulty_name
from server.models.prices import find_row
from server.models.providers.endpoints import (
    OLLAMA_PROVIDERS,
    find_address,
    is_callable,
    is_loopback,
    parse_provider,
)

TIMEOUT = 2.0  # seconds for a server to say what it has
MAX_ANSWER_LENGTH = 20_000_000  # bytes; Ollama sends the whole vocabulary of some models
MEMORY_SECONDS = 60.0  # for which an answer is remembered
MAX_ERROR_LENGTH = 10_000
MAX_WINDOW = 10**9

NOT_FOUND = "not found"
"""Replaces the answer of a server that does not have the model."""

_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx", "n_ctx_train")
"""The fields with the window in lists of models: of vLLM, OpenRouter, Groq, LM Studio, llama.cpp."""


@dataclass
class WindowTable:
    """Finds the windows of models. `own`: tokens by model, from the settings; they win over all other sources."""

    own: Mapping[str, int] = field(default_factory=dict)
    _answers: dict[tuple[str, str], tuple[float, Any]] = field(default_factory=dict)  # by address and model

    async def find(self, names: Iterable[str]) -> tuple[Window, ...]:
        """The windows of these models, as far as known. Servers are asked all at once, for two seconds at most."""
        tokens: dict[str, int] = {}

        async def look_up(name: str) -> None:
            tokens[name] = self.own.get(name) or await self._look_up(
                unwrap_faulty_name(name).removeprefix(LITELLM_PREFIX)
            )

        async with anyio.create_task_group() as tasks:
            for name in (names := tuple(dict.fromkeys(names))):
                tasks.start_soon(look_up, name)
        return tuple(Window(model=name, tokens=tokens[name]) for name in names if tokens[name])

    async def find_missing(self, names: Iterable[str]) -> str:
        """A sentence on the first of these models that Ollama does not have, with what to do; "" if it has all."""
        for name in dict.fromkeys(names):
            plain_name = unwrap_faulty_name(name).removeprefix(LITELLM_PREFIX)
            model, base = plain_name.partition("/")[2], find_address(plain_name)
            if parse_provider(plain_name) in OLLAMA_PROVIDERS and name not in self.own:
                answer = await self._ask(f"{base}/api/show", model, {"model": model})
                if answer == NOT_FOUND:
                    return f"Ollama at {base} has no model {model}. Fetch it (ollama pull {model}), or name another."
        return ""

    async def _look_up(self, name: str) -> int:
        """The tokens of a model's window; 0 where unknown, as for the embedded model, which reads a summary."""
        if name in self.own:
            return self.own[name]
        base, model = find_address(name), name.partition("/")[2]
        if parse_provider(name) in OLLAMA_PROVIDERS:
            answer = await self._ask(f"{base}/api/show", model, {"model": model})
            return read_ollama_window(answer) or read_window(find_row(name), "max_input_tokens")
        if tokens := read_window(find_row(name), "max_input_tokens"):
            return tokens
        if not (model and base):
            return 0
        answer = await self._ask(
            f"{base.rstrip('/')}/models", os.environ.get(f"{parse_provider(name)}_API_KEY".upper(), "")
        )
        return read_listed_window(answer, model)

    async def _ask(self, url: str, key: str, body: Any = None) -> Any:
        """A server's answer, remembered for a minute; None if it does not answer."""
        asked_at, answer = self._answers.get((url, key), (-MEMORY_SECONDS, None))
        if time.monotonic() - asked_at < MEMORY_SECONDS:
            return answer
        answer = None
        if is_callable(url):
            with anyio.move_on_after(TIMEOUT), suppress(Exception):  # the server may answer anything
                answer = await to_thread.run_sync(
                    fetch_json, url, "" if body else key, body, abandon_on_cancel=True
                )
        if answer != NOT_FOUND:  # not remembered: the user may pull the model at any moment
            self._answers[url, key] = time.monotonic(), answer
        return answer


def fetch_json(url: str, key: str = "", body: Any = None, *, timeout: float = TIMEOUT) -> Any:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = Request(url, json.dumps(body).encode() if body else None, headers)  # noqa: S310  (http or https)
    proxies = ProxyHandler({}) if is_loopback(url) else ProxyHandler()
    try:
        with build_opener(proxies).open(request, timeout=timeout) as response:
            return json.loads(response.read(MAX_ANSWER_LENGTH))
    except HTTPError as error:
        with error:
            answer = json.loads(error.read(MAX_ERROR_LENGTH))
        # Ollama's own words: a proxy or another server in its place may just not know the path.
        is_unknown = error.code == HTTPStatus.NOT_FOUND and "not found" in str(answer.get("error"))
        return NOT_FOUND if is_unknown else None


def read_window(row: Any, *names: str) -> int:
    """The first of these figures that is a plausible number of tokens; 0 if none is."""
    figures = (row.get(name) for name in names) if isinstance(row, dict) else ()
    return next((int(f) for f in figures if isinstance(f, int | float) and 0 < f <= MAX_WINDOW), 0)


def read_ollama_window(answer: Any) -> int:
    """From Ollama's `/api/show`: the context length of the model, or its `num_ctx` if that is smaller."""
    answer = answer if isinstance(answer, dict) else {}
    info = answer.get("model_info")
    info = info if isinstance(info, dict) else {}
    longest = read_window(info, *(key for key in info if key.endswith(".context_length")))
    setting = re.search(r"^num_ctx\s+(\d{1,9})\b", str(answer.get("parameters")), re.MULTILINE)
    return min(filter(None, (longest, int(setting[1]) if setting else 0)), default=0)


def read_listed_window(answer: Any, model: str) -> int:
    """From `/v1/models` of an OpenAI-compatible server. A server with a single model may list it by any name."""
    data = answer.get("data") if isinstance(answer, dict) else None
    rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    row = next((row for row in rows if row.get("id") == model), rows[0] if len(rows) == 1 else {})
    return read_window(row, *_FIELDS) or read_window(row.get("meta"), *_FIELDS)
