"""Embeddings of providers: asked directly where they speak OpenAI's protocol, else through litellm."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import anyio

from server.debate.facts.config import Price
from server.models import LITELLM_PREFIX, MAX_ATTEMPTS, ModelError, Usage
from server.models.embeddings import Embeddings, check_vectors
from server.models.providers.addresses import check_callable, find_api_base
from server.models.providers.connections import Connections, UnreadableResponseError, read_body
from server.models.providers.direct import parse
from server.models.providers.endpoints import Endpoint
from server.models.providers.errors import classify_error
from server.models.providers.litellm import get_litellm

MAX_PAUSE = 4.0  # seconds between two attempts


class Answer(NamedTuple):
    vectors: list[list[float]]
    tokens: int


@dataclass(eq=False)
class ProviderEmbedder(ABC):
    """Asks again after transient failures. What it costs is the tokens of the texts by `price`."""

    name: str
    _: KW_ONLY
    price: Price

    @abstractmethod
    async def ask(self, texts: Sequence[str]) -> Answer:
        """Make one attempt. May raise any exception."""

    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ASYNC109  (the interface)
        started, attempt = anyio.current_time(), 0
        try:
            with anyio.fail_after(timeout):
                while True:
                    attempt += 1
                    try:
                        vectors, tokens = await self.ask(texts)
                        break
                    except ModelError:
                        raise
                    except Exception as error:  # noqa: BLE001  (clients raise many types)
                        failure = classify_error(error, self.name)
                    if not failure.is_transient or attempt >= MAX_ATTEMPTS:
                        raise ModelError(failure.cause, failure.detail, attempts=attempt)
                    await anyio.sleep(failure.retry_after or min(2.0 ** (attempt - 1), MAX_PAUSE))
        except TimeoutError:
            detail = f"{self.name} did not answer within {timeout:g} seconds."
            raise ModelError("timeout", detail, attempts=max(attempt, 1)) from None
        cost = f"{(Decimal(self.price.input) * tokens).normalize():f}" if self.price.input and tokens else ""
        usage = Usage(
            model=self.name,
            input_tokens=tokens,
            cost_usd=cost,
            milliseconds=round((anyio.current_time() - started) * 1000),
            attempts=attempt,
        )
        return Embeddings(check_vectors(self.name, vectors, len(texts)), usage)


@dataclass(eq=False)
class DirectEmbedder(ProviderEmbedder):
    """OpenAI's protocol, which Ollama has as well."""

    _: KW_ONLY
    endpoint: Endpoint
    connections: Connections

    async def ask(self, texts: Sequence[str]) -> Answer:
        endpoint = self.endpoint
        check_callable(self.name, endpoint.base)
        body = json.dumps({"model": endpoint.model, "input": list(texts)}).encode()
        headers = {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        path = "/v1/embeddings" if endpoint.is_ollama else "/embeddings"
        async with self.connections.post(endpoint.base + path, body, headers) as response:
            return read_answer(parse(await read_body(response)))


@dataclass(eq=False)
class LitellmEmbedder(ProviderEmbedder):
    async def ask(self, texts: Sequence[str]) -> Answer:
        name = self.name.removeprefix(LITELLM_PREFIX)
        check_callable(self.name, find_api_base(name))
        litellm = await get_litellm()
        answer = await litellm.aembedding(model=name, input=list(texts), num_retries=0, max_retries=0)
        return read_answer(parse(answer.model_dump_json().encode()))


def read_answer(answer: Any) -> Answer:
    """Vectors in the order of their texts. Raises UnreadableResponseError."""
    try:
        rows = sorted(answer.data, key=lambda row: int(row.index or 0))
        vectors = [[float(value) for value in row.embedding] for row in rows]
        usage = answer.usage or {}
        tokens = usage.get("prompt_tokens") or usage.get("total_tokens") or 0
        return Answer(vectors, max(int(tokens), 0))
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableResponseError(f"It is no list of embeddings ({type(error).__name__}).") from error
