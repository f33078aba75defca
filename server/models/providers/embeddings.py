"""Embeddings of providers: asked directly where they speak OpenAI's protocol, else through litellm."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from server.debate.facts.setup.limits import Price
from server.models import Attempt, Usage
from server.models.embeddings import Embeddings, build_embeddings
from server.models.providers.connections import UnreadableResponseError, read_body
from server.models.providers.direct import DirectCaller, parse
from server.models.providers.litellm import LitellmCaller, import_litellm
from server.models.providers.model import ProviderCaller


class Answer(NamedTuple):
    vectors: list[list[float]]
    tokens: int


@dataclass(eq=False)
class ProviderEmbedder(ProviderCaller):
    """Embeds texts with a provider's model. The cost is the tokens of the texts by `price`."""

    _: KW_ONLY
    price: Price

    @abstractmethod
    async def ask(self, texts: Sequence[str]) -> Answer:
        """Make one attempt. May raise any exception."""

    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ASYNC109  (the interface)
        await self.prepare()
        timed_answer = await self.ask_repeatedly(partial(self._ask_once, texts), timeout)
        vectors, usage = timed_answer.answer
        measures = {"attempts": timed_answer.attempts, "milliseconds": round(timed_answer.seconds * 1000)}
        return build_embeddings(self.name, vectors, len(texts), usage.model_copy(update=measures))

    async def _ask_once(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        attempt = Attempt(self.name, self.provider, operation="embeddings")
        with self.measure(attempt):
            vectors, tokens = await self.ask(texts)
            is_priced = self.price.input and tokens
            cost = f"{(Decimal(self.price.input) * tokens).normalize():f}" if is_priced else ""
            attempt.usage = Usage(model=self.name, input_tokens=tokens, cost_usd=cost)
        return vectors, attempt.usage


@dataclass(eq=False)
class DirectEmbedder(DirectCaller, ProviderEmbedder):
    """OpenAI's protocol, which Ollama has as well."""

    async def ask(self, texts: Sequence[str]) -> Answer:
        path = "/v1/embeddings" if self.endpoint.is_ollama else "/embeddings"
        async with self.post(path, {"model": self.endpoint.model, "input": list(texts)}) as response:
            return read_answer(parse(await read_body(response)))


class LitellmEmbedder(LitellmCaller, ProviderEmbedder):
    async def ask(self, texts: Sequence[str]) -> Answer:
        options = {"num_retries": 0, "max_retries": 0}
        answer = await import_litellm().aembedding(model=self.litellm_name, input=list(texts), **options)
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
        raise UnreadableResponseError(f"It is not a list of embeddings ({type(error).__name__}).") from error
