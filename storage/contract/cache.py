"""The part of the storage contract that is about what is kept to spare work: it may be gone at any time.

It is no part of any stream, and neither copied nor exported.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol


class CachedBody(NamedTuple):
    """What is kept under a key. `stream`: with whose deletion it goes; "" for none."""

    key: str
    body: bytes
    stream: str = ""


class CacheSum(NamedTuple):
    """How much is kept of a kind."""

    kind: str
    number: int
    bytes: int


class Cache(Protocol):
    async def find_cached(self, keys: Collection[str]) -> Mapping[str, CachedBody]:
        """What is kept under these keys, which counts as used now."""

    async def keep_cached(self, kind: str, bodies: Sequence[CachedBody], *, max_bytes: int) -> None:
        """Keep these, whole or not at all, and drop what was not used for longest until no more bytes are kept.

        What is kept under a key already is replaced. What belongs to a stream that is gone is not kept, and nothing
        where others are writing here for longer than a moment.
        """

    async def measure_cache(self) -> list[CacheSum]:
        """By kind."""

    async def clear_cache(self) -> None: ...
