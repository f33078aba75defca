"""Embeddings for tests and dry runs: the words of a text, counted.

As with real ones, a text and its negation are alike, since they share all words but one.
"""

import re
from collections.abc import Sequence
from hashlib import sha256

from server.models import Usage
from server.models.embeddings import Embeddings, Vector

DIMENSIONS = 512


class ScriptedEmbedder:
    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ARG002, ASYNC109  (the interface)
        words = sum(len(text.split()) for text in texts)
        usage = Usage(model="scripted", input_tokens=words, cost_usd="0")
        return Embeddings(tuple(map(count_words, texts)), usage)


def count_words(text: str) -> Vector:
    """Word counts, each at an index from the word's hash. The last number is never zero, so that a vector is not."""
    counts = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.casefold()):
        counts[int.from_bytes(sha256(word.encode()).digest()[:4]) % DIMENSIONS] += 1.0
    return (*counts, 0.01)
