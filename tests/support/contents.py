"""All that is in a database."""

from typing import Any

from tests.contract.journal_helpers import open_any_journal


async def read_all(database: str) -> dict[str, Any]:
    async with open_any_journal(database) as journal:
        streams, deleted = await journal.find_all_streams(), await journal.find_deleted_streams()
        days = {day for one in (*streams, *deleted) for day in (await journal.read_summary(one)).spending}
        return {
            "entries": {stream: await journal.read_sealed(stream) for stream in streams},
            "summaries": {one: await journal.read_summary(one) for one in (*streams, *deleted)},
            "tombstones": {stream: await journal.find_tombstone(stream) for stream in deleted},
            "texts": {stream: await journal.read_texts(stream) for stream in streams},
            "words": {word: count for word, count in (await journal.count_words()).items() if count},
            "judgments": await journal.read_judgments(),
            "keys": await journal.read_keys(),
            "tokens": await journal.read_tokens(),
            "days": [(await journal.find_spending(day, now=0))[0] for day in sorted(days)],
        }
