"""Embeddings of texts: the interface. A vector is kept under `build_embedding_key` of its model and its whole text.

`ModelRegistry.get_embedder` has those of providers (`providers.embeddings`) and the one for tests and dry runs
(`fakes.embeddings`). A negation is embedded close to what it denies, and so is another number in a sentence: vectors
say what a text is about, and not what it holds of it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from server.models import ModelError, Usage

Vector = tuple[float, ...]


class Embeddings(NamedTuple):
    vectors: tuple[Vector, ...]  # one for each text, in their order, of one length
    usage: Usage


class Embedder(Protocol):
    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ASYNC109  (of the whole, retries included)
        """The vectors of texts. Raises ModelError where there are none within `timeout` seconds.

        Behind the limits of a provider it may wait as long again before it asks.
        """


def check_vectors(model: str, vectors: Sequence[Sequence[float]], count: int) -> tuple[Vector, ...]:
    """The vectors as they are. Raises ModelError unless there are so many, of one length, each with a direction."""
    found = tuple(tuple(map(float, vector)) for vector in vectors)
    is_whole = len(found) == count and len({len(vector) for vector in found}) == 1
    if not is_whole or not all(0 < math.hypot(*vector) < math.inf for vector in found):
        raise ModelError("unreadable", f"{model}: its answer is not one vector for each text.")
    return found
