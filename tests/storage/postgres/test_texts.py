"""Texts that PostgreSQL cannot hold as they are, and very long ones."""

import pytest

from storage.streams import StreamSummary
from tests.contract.journal_helpers import append_entries, find_streams, open_postgres_storage

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]


async def test_texts_that_postgresql_cannot_hold_come_back(postgres_database: str) -> None:
    title = "a\0b\ue001c\ue0010"
    heading = StreamSummary(title, "sta\0tus", {"\0": "\0\ue001"}, "nul\0words")
    async with open_postgres_storage(postgres_database) as storage:
        entries = await append_entries(storage, "s\0", 0, {"text": f"{title}\0"}, summary=heading)
        assert await storage.journal.read("s\0") == entries
        [row] = await storage.lists.find("words")
        assert (row.stream, row.title, row.status, row.details) == (
            "s\0",
            title,
            "sta\0tus",
            {"\0": "\0\ue001"},
        )
        assert await storage.texts.keep("s\0", "re\0ceipt", "\0") == "\0"
        assert await storage.texts.read("s\0") == {"re\0ceipt": "\0"}
        assert await storage.lists.find("\ud800 \0") == []


async def test_an_entry_of_megabytes_and_words_without_end_are_stored(postgres_database: str) -> None:
    long = "x" * 20_000
    words = " ".join(f"w{number}" for number in range(20_000))
    async with open_postgres_storage(postgres_database, patience=30) as storage:
        body = {"text": "\ue001long " * 3_000_000}
        entries = await append_entries(
            storage, "s", 0, body, summary=StreamSummary("t", "r", {}, f"{words} {long}")
        )
        assert await storage.journal.read("s") == entries
        for query in ("w19999 w7", long, long[:700], "xxx"):
            assert await find_streams(storage, query) == ["s"]
