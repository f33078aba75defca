"""All that is in a database."""

from typing import Any

from storage.errors import StorageError
from tests.contract.journal_helpers import open_any_storage


async def read_all(database: str) -> dict[str, Any]:
    async with open_any_storage(database) as storage:
        streams, deleted = await storage.journal.list_streams(), await storage.tombstones.list_streams()
        days = {day for one in (*streams, *deleted) for day in (await storage.summaries.read(one)).spending}
        return {
            "entries": {
                stream: record
                for stream, record in (await storage.journal.read_many(streams)).items()
                if not isinstance(record, StorageError)
            },
            "summaries": {one: await storage.summaries.read(one) for one in (*streams, *deleted)},
            "tombstones": {one: await storage.tombstones.find(one) for one in (*streams, *deleted)},
            "texts": {stream: await storage.texts.read(stream) for stream in streams},
            "words": {word: count for word, count in (await storage.index.count()).items() if count},
            "judgments": await storage.ledger.read(),
            "keys": await storage.keys.read(),
            "tokens": await storage.tokens.read(),
            "days": [(await storage.spending.find(day, now=0))[0] for day in sorted(days)],
        }
