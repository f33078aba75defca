"""A process that appends to a journal and prints the number of each entry once it is durable.

Usage: python -m tests.support.processes.journal_writer PATH STREAM COUNT NAME. With COUNT 0 it runs until
killed.
"""

import asyncio
import itertools
import sys

from storage.errors import ConflictError
from storage.sqlite import SqliteStorage


async def write(path: str, stream: str, count: int, name: str) -> None:
    storage = await SqliteStorage.open(path)
    try:
        for n in range(count) if count else itertools.count():
            print(await append(storage, stream, {"by": name, "n": n}), flush=True)  # noqa: T201  (its output)
    finally:
        await storage.close()


async def append(storage: SqliteStorage, stream: str, body: dict[str, object]) -> int:
    while True:
        after = (await storage.journal.head(stream))[0]
        try:
            entries = await storage.journal.append(
                stream, after=after, at="2026-03-01T10:00:00.000Z", actor="writer", bodies=[body]
            )
        except ConflictError:
            continue
        return entries[-1].seq


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
