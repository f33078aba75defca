"""Embeddings of texts: the interface, and a cache. A vector is cached by its source and its whole text.

`ModelRegistry.get_embedder` has the embedders of providers (`providers.embeddings`) and the one for tests and dry runs
(`fakes.scripted`). Vectors say what a text is about, and not what it claims: a negation lies close to what it denies,
and so does the same sentence with another number.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import NamedTuple, Protocol

import anyio
from anyio import to_thread

from server.debate.facts.answers import build_embedding_key
from server.models import ModelError, Usage

TEXTS_AT_ONCE = 96  # in one request

Vector = tuple[float, ...]


class Embeddings(NamedTuple):
    vectors: tuple[Vector, ...]  # one for each text, in the order of the texts; all of the same length
    usage: Usage


class Embedder(Protocol):
    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ASYNC109  (of the whole, retries included)
        """The vectors of texts. Raises ModelError if they do not come within `timeout` seconds.

        An embedder behind a provider's limits may wait as long again before it asks.
        """


class VectorCache(Protocol):
    """Keeps vectors by `build_embedding_key`."""

    async def find_vectors(self, keys: Collection[str]) -> Mapping[str, Vector]: ...

    async def keep_vectors(self, vectors: Mapping[str, Vector]) -> None: ...


@dataclass
class CachedEmbedder:
    """Asks only for vectors that are not in the cache, each text once, and caches them.

    `address`: where the model is asked; at another address the same name may be another model. `owner`: whose texts
    they are; a shared cache would reveal to other owners that somebody asked about a text.
    """

    name: str
    embedder: Embedder
    cache: VectorCache
    address: str = ""
    owner: str = ""

    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ASYNC109  (the interface)
        source = json.dumps([self.name, self.address, self.owner])
        keys = [build_embedding_key(source, text) for text in texts]
        texts_by_key = dict(zip(keys, texts, strict=True))
        usages = [Usage(model=self.name, cost_usd="0", attempts=0)]
        try:
            with anyio.fail_after(timeout):
                vectors_by_key = await self._find(texts_by_key, timeout, usages)
            vectors, usage = [vectors_by_key[key] for key in keys], reduce(add_usage, usages)
            # In another thread: hundreds of vectors take tens of milliseconds.
            return await to_thread.run_sync(build_embeddings, self.name, vectors, len(texts), usage)
        except TimeoutError:
            problem = f"{self.name} gave no vectors in {timeout:g} seconds."
            raise ModelError("timeout", problem, usage=reduce(add_usage, usages)) from None

    async def _find(
        self,
        texts: Mapping[str, str],
        timeout: float,  # noqa: ASYNC109  (as above)
        usages: list[Usage],
    ) -> dict[str, Vector]:
        """The vectors of texts by key, all of one model. Appends to `usages` what each answer consumed."""
        rows = await self.cache.find_vectors(texts.keys())
        cached = {key: vector for key, vector in rows.items() if has_direction(vector)}
        uncached = {key: text for key, text in texts.items() if key not in cached}
        fresh = await self._ask(uncached, timeout, usages)
        vectors = {**cached, **fresh}
        if len({len(vector) for vector in vectors.values()}) > 1:
            # The cached vectors are of another model that had the same name.
            older = {key: text for key, text in texts.items() if key not in fresh}
            vectors |= await self._ask(older, timeout, usages)
        return vectors

    async def _ask(
        self,
        texts: Mapping[str, str],
        timeout: float,  # noqa: ASYNC109  (as above)
        usages: list[Usage],
    ) -> dict[str, Vector]:
        """The vectors of texts by key, asked for in parts. Each part is cached as it comes."""
        vectors: dict[str, Vector] = {}
        rows = list(texts.items())
        for start in range(0, len(rows), TEXTS_AT_ONCE):
            part = dict(rows[start : start + TEXTS_AT_ONCE])
            try:
                answer = await self.embedder.embed(list(part.values()), timeout)
            except ModelError as error:
                if error.usage or len(usages) > 1:
                    last_usage = error.usage or Usage(model=self.name, cost_usd="0")
                    last_usage = last_usage.model_copy(update={"attempts": error.attempts})
                    error.usage = reduce(add_usage, [*usages, last_usage])
                raise
            usages.append(answer.usage)
            part_vectors = dict(zip(part, answer.vectors, strict=True))
            await self.cache.keep_vectors(part_vectors)
            vectors |= part_vectors
        return vectors


def add_usage(first: Usage, second: Usage) -> Usage:
    """The usage of two requests together. The cost is unknown if that of one is."""
    has_costs = first.cost_usd and second.cost_usd
    return second.model_copy(
        update={
            "input_tokens": first.input_tokens + second.input_tokens,
            "cost_usd": f"{Decimal(first.cost_usd) + Decimal(second.cost_usd):f}" if has_costs else "",
            "milliseconds": first.milliseconds + second.milliseconds,
            "attempts": first.attempts + second.attempts,
        }
    )


def build_embeddings(model: str, vectors: Sequence[Sequence[float]], count: int, usage: Usage) -> Embeddings:
    """Check the vectors. Raises ModelError unless there are `count` of one length, none of them zero or infinite."""
    rows = tuple(tuple(map(float, vector)) for vector in vectors)
    is_whole = len(rows) == count and len({len(vector) for vector in rows}) == 1
    if not is_whole or not all(map(has_direction, rows)):
        problem = f"{model}: its answer is not one vector for each text."
        raise ModelError("unreadable", problem, attempts=usage.attempts, usage=usage)
    return Embeddings(rows, usage)


def has_direction(vector: Vector) -> bool:
    return 0 < math.hypot(*vector) < math.inf
