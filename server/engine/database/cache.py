"""What is kept in the database to spare work: vectors of texts.

Whatever goes wrong with it costs no more than the work that it spares.
"""

import logging
from array import array
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from storage.cache import CachedBody
from storage.journal import Journal, StorageError

EMBEDDING = "embedding"

logger = logging.getLogger(__name__)


@dataclass
class DatabaseCache:
    """`max_bytes`: of all that is kept; 0 for nothing."""

    journal: Journal
    max_bytes: int

    async def find_vectors(self, keys: Collection[str]) -> dict[str, tuple[float, ...]]:
        """Those that are kept, by key, exactly as they were."""
        found = await self._find(keys)
        return {key: tuple(array("d", one.body)) for key, one in found.items()}

    async def keep_vectors(self, vectors: Mapping[str, tuple[float, ...]]) -> None:
        bodies = [CachedBody(key, array("d", vector).tobytes()) for key, vector in vectors.items()]
        await self._keep(EMBEDDING, bodies)

    async def _find(self, keys: Collection[str]) -> Mapping[str, CachedBody]:
        if not self.max_bytes:
            return {}
        try:
            return await self.journal.find_cached(keys)
        except StorageError as error:
            logger.info("Nothing was found in the cache: %s", error)
            return {}

    async def _keep(self, kind: str, bodies: list[CachedBody]) -> None:
        if not self.max_bytes or self.journal.is_read_only:
            return
        try:
            await self.journal.keep_cached(kind, bodies, max_bytes=self.max_bytes)
        except StorageError as error:
            logger.info("Nothing was kept in the cache: %s", error)
