"""Embeddings of texts: the interface. A vector is kept under `build_embedding_key` of its source and its whole text.

`ModelRegistry.get_embedder` has those of providers (`providers.embeddings`) and the one for tests and dry runs
(`fakes.embeddings`). A negation is embedded close to what it denies, and so is another number in a sentence: vectors
say what a text is about, and not what it holds of it.
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

TEXTS_AT_ONCE = 96
"""In one request."""

Vector = tuple[float, ...]


class Embeddings(NamedTuple):
    vectors: tuple[Vector, ...]  # one for each text, in their order, of one length
    usage: Usage


class Embedder(Protocol):
    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ASYNC109  (of the whole, retries included)
        """The vectors of texts. Raises ModelError where there are none within `timeout` seconds.

        Behind the limits of a provider it may wait as long again before it asks.
        """


class VectorCache(Protocol):
    """Keeps vectors by `build_embedding_key`."""

    async def find_vectors(self, keys: Collection[str]) -> Mapping[str, Vector]: ...

    async def keep_vectors(self, vectors: Mapping[str, Vector]) -> None: ...


@dataclass
class CachedEmbedder:
    """Asks for the vectors that are not kept, each text once, and keeps them.

    `address`: where the model is asked. Another model may have its name elsewhere. `owner`: for whom. That a text is
    kept would tell another owner that somebody asked about it.
    """

    name: str
    embedder: Embedder
    cache: VectorCache
    address: str = ""
    owner: str = ""

    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ASYNC109  (the interface)
        source = json.dumps([self.name, self.address, self.owner])
        keys = [build_embedding_key(source, text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        taken = [Usage(model=self.name, cost_usd="0", attempts=0)]
        try:
            with anyio.fail_after(timeout):
                known = await self._find(wanted, timeout, taken)
            vectors, usage = [known[key] for key in keys], reduce(add_usage, taken)
            # In another thread: hundreds of vectors take tens of milliseconds.
            return await to_thread.run_sync(build_embeddings, self.name, vectors, len(texts), usage)
        except TimeoutError:
            told = f"{self.name} gave no vectors in {timeout:g} seconds."
            raise ModelError("timeout", told, usage=reduce(add_usage, taken)) from None

    async def _find(
        self,
        wanted: Mapping[str, str],
        timeout: float,  # noqa: ASYNC109  (as above)
        taken: list[Usage],
    ) -> dict[str, Vector]:
        """The vectors of texts by key, all of one model. `taken`: added to with each answer."""
        rows = await self.cache.find_vectors(wanted.keys())
        kept = {key: vector for key, vector in rows.items() if has_direction(vector)}
        missing = {key: text for key, text in wanted.items() if key not in kept}
        found = await self._ask(missing, timeout, taken)
        known = {**kept, **found}
        if len({len(vector) for vector in known.values()}) > 1:
            # Another model answers to the name by now.
            older = {key: text for key, text in wanted.items() if key not in found}
            known |= await self._ask(older, timeout, taken)
        return known

    async def _ask(
        self,
        texts: Mapping[str, str],
        timeout: float,  # noqa: ASYNC109  (as above)
        taken: list[Usage],
    ) -> dict[str, Vector]:
        """The vectors of texts by key, a part after the other, each kept as it comes."""
        found: dict[str, Vector] = {}
        rows = list(texts.items())
        for start in range(0, len(rows), TEXTS_AT_ONCE):
            part = dict(rows[start : start + TEXTS_AT_ONCE])
            try:
                answer = await self.embedder.embed(list(part.values()), timeout)
            except ModelError as error:
                last = error.usage or Usage(model=self.name, cost_usd="0")
                usage = reduce(add_usage, [*taken, last.model_copy(update={"attempts": error.attempts})])
                error.usage = usage if error.usage or len(taken) > 1 else None
                raise
            taken.append(answer.usage)
            vectors = dict(zip(part, answer.vectors, strict=True))
            await self.cache.keep_vectors(vectors)
            found |= vectors
        return found


def add_usage(one: Usage, other: Usage) -> Usage:
    """What two requests took together. The cost is unknown where that of one is."""
    known = one.cost_usd and other.cost_usd
    return other.model_copy(
        update={
            "input_tokens": one.input_tokens + other.input_tokens,
            "cost_usd": f"{Decimal(one.cost_usd) + Decimal(other.cost_usd):f}" if known else "",
            "milliseconds": one.milliseconds + other.milliseconds,
            "attempts": one.attempts + other.attempts,
        }
    )


def build_embeddings(model: str, vectors: Sequence[Sequence[float]], count: int, usage: Usage) -> Embeddings:
    """The vectors as they are. Raises ModelError unless there are so many, of one length, each with a direction."""
    found = tuple(tuple(map(float, vector)) for vector in vectors)
    is_whole = len(found) == count and len({len(vector) for vector in found}) == 1
    if not is_whole or not all(map(has_direction, found)):
        told = f"{model}: its answer is not one vector for each text."
        raise ModelError("unreadable", told, attempts=usage.attempts, usage=usage)
    return Embeddings(found, usage)


def has_direction(vector: Vector) -> bool:
    return 0 < math.hypot(*vector) < math.inf
