"""What every journal must do with words that are taken out of the search."""

import asyncio
from dataclasses import replace

import pytest

from storage.storage import Storage
from storage.streams import StreamSummary
from tests.contract.journal_helpers import LATER, append_entries, create_stream, find_streams
from tests.contract.journal_restore import build_entries


@pytest.mark.requirement("M3")
@pytest.mark.asyncio
class WordContract:
    async def test_words_are_taken_out_before_others_are_added(self, storage: Storage) -> None:
        await create_stream(storage, "other", "billing")
        await create_stream(storage, "s", "the bill of crème")
        await append_entries(storage, "s", 1, {}, summary=StreamSummary("", "", {}, "billing urgent urgent"))
        await append_entries(storage, "s", 2, {}, summary=StreamSummary("", "", {}, "urgent"))
        taken = StreamSummary("", "", {}, "", removed_text="Urgent, billing, never")
        await append_entries(storage, "s", 3, {}, summary=taken)
        for query, found in {"urgent": [], "urg": [], "billing": ["other"], "creme": ["s"]}.items():
            assert await find_streams(storage, query) == found, query
        assert await find_streams(storage, "bill") == ["s", "other"]

        for number in range(4, 9):
            changed = replace(taken, search_text="urgent") if number % 2 else taken
            await append_entries(storage, "s", number, {}, summary=changed)
            assert await find_streams(storage, "urgent") == (["s"] if number % 2 else [])
        assert (await storage.index.count())["billing"] == 1
        assert await storage.find_problems() == []

    async def test_words_of_one_batch_are_taken_out_in_order(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {})
        texts = [("billing", ""), ("", "billing"), ("billing late", ""), ("late", "billing late")]
        async with asyncio.TaskGroup() as group:
            for number, (text, removed) in enumerate(texts, start=1):
                summary = StreamSummary("", "", {}, text, removed_text=removed)
                group.create_task(append_entries(storage, "s", number, {}, summary=summary))
        assert await find_streams(storage, "billing") == []
        assert await find_streams(storage, "late") == ["s"]

    async def test_what_is_restored_has_no_words_that_were_taken_out(self, storage: Storage) -> None:
        summary = StreamSummary("", "", {}, "urgent", removed_text="billing")
        await storage.journal.restore("new", build_entries({}, {}, stream="new"), summary)
        await create_stream(storage, "s", "billing")
        await storage.tombstones.delete(
            "s", at=LATER, actor="bob", summary=StreamSummary("", "", {}, "billing")
        )
        begun = build_entries({}, {}, {}, stream="begun")
        await storage.journal.restore("begun", begun[:2], StreamSummary("", "", {}, "billing urgent"))
        await storage.journal.restore("begun", begun, summary)
        assert await find_streams(storage, "urgent") == ["begun", "new"]
        assert await find_streams(storage, "billing") == []
        assert await storage.find_problems() == []
