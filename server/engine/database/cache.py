"""What is kept in the database to spare work: vectors of texts, and answers of models.

Whatever goes wrong with it costs no more than the work that it spares.
"""

import json
import logging
from array import array
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from server.debate.facts.answers import Answer
from server.debate.facts.events import Recorded
from storage.cache import Cache, CachedBody
from storage.errors import StorageError

EMBEDDING, ANSWER = "embedding", "answer"

logger = logging.getLogger(__name__)


@dataclass
class DatabaseCache:
    """`max_bytes`: of all that is kept; 0 for nothing."""

    store: Cache
    max_bytes: int

    async def find_vectors(self, keys: Collection[str]) -> dict[str, tuple[float, ...]]:
        """Those that are kept, by key, exactly as they were."""
        bodies = await self._find(keys)
        vectors = {key: row.body for key, row in bodies.items() if len(row.body) % array("d").itemsize == 0}
        return {key: tuple(array("d", body)) for key, body in vectors.items()}

    async def keep_vectors(self, vectors: Mapping[str, tuple[float, ...]]) -> None:
        bodies = [CachedBody(key, array("d", vector).tobytes()) for key, vector in vectors.items()]
        await self._keep(EMBEDDING, bodies)

    async def find_answer(self, key: str) -> "KeptAnswer | None":
        """None where nothing is kept, or what is kept cannot be read."""
        body = (await self._find([key])).get(key)
        with suppress(ValidationError):
            return READ_ANSWER.validate_json(body.body) if body else None
        return None

    async def keep_answers(self, stream: str, answers: Mapping[str, "KeptAnswer"]) -> None:
        """Keep answers of a debate, as long as it is not deleted."""
        rows = [CachedBody(key, json.dumps(answer).encode(), stream) for key, answer in answers.items()]
        await self._keep(ANSWER, rows)

    async def _find(self, keys: Collection[str]) -> Mapping[str, CachedBody]:
        if not self.max_bytes:
            return {}
        try:
            return await self.store.find(keys)
        except StorageError as error:
            logger.info("Nothing was found in the cache: %s", error)
            return {}

    async def _keep(self, kind: str, bodies: list[CachedBody]) -> None:
        if not self.max_bytes:
            return
        try:
            await self.store.keep(kind, bodies, max_bytes=self.max_bytes)
        except StorageError as error:
            logger.info("Nothing was kept in the cache: %s", error)


class KeptAnswer(NamedTuple):
    """`tokens`: read and written. `source`: the debate and the entry that it is from, "k3x9w2m4p7qr#17"."""

    text: str
    model: str
    informative: bool
    tokens: int
    source: str = ""


READ_ANSWER = TypeAdapter(KeptAnswer)


@dataclass
class AnswerReuse:
    """The answers that a debate takes from others, and those that it leaves for others. Only its owner's count."""

    cache: DatabaseCache
    debate_id: str
    owner: str
    new: dict[tuple[str, int, int, str], tuple[str, KeptAnswer]] = field(default_factory=dict)
    """By seat, round, slot and hash of the request: what is kept once it is recorded."""

    async def find(self, key: str) -> KeptAnswer | None:
        """An answer of another debate."""
        answer = await self.cache.find_answer(key)
        return answer if answer and not answer.source.startswith(f"{self.debate_id}#") else None

    async def keep(self, entries: Iterable[Recorded]) -> None:
        """Keep the answers among these entries that may be used again: whole ones."""
        answers: dict[str, KeptAnswer] = {}
        for entry in entries:
            event = entry.event
            if isinstance(event, Answer) and not getattr(event, "cut", False):
                slot = (event.seat, event.round, event.slot_index, event.usage.prompt_sha256)
                if answer := self.new.pop(slot, None):
                    answers[answer[0]] = answer[1]._replace(source=f"{self.debate_id}#{entry.seq}")
        if answers:
            await self.cache.keep_answers(self.debate_id, answers)
