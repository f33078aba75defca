"""What every journal must do with a stream that is deleted."""

from dataclasses import replace
from decimal import Decimal

import pytest

from storage.errors import ConflictError, DeletedStreamError, DivergenceError
from storage.ledger import LedgerRow
from storage.storage import Storage
from storage.streams import Amount, Archive, StreamHead, StreamSummary, Tombstone
from tests.contract.journal_helpers import AT, LATER, append_entries, find_streams, get_listing
from tests.contract.journal_restore import build_entries

SUMMARY = StreamSummary(
    "Tea?", "concluded", {}, "tea kinder", {"2026-11-01": Amount(3, Decimal("0.5"))}, is_final=True
)


@pytest.mark.requirement("N28")
@pytest.mark.asyncio
class DeletionContract:
    async def test_what_is_left_is_a_tombstone(self, storage: Storage) -> None:
        head = (await append_entries(storage, "s", 0, {"n": 1}, {"n": 2}, summary=SUMMARY))[-1].hash

        buried = await storage.tombstones.delete("s", at=LATER, actor="bob", summary=SUMMARY)

        assert buried == Tombstone("s", 2, head, LATER, "bob")
        assert await storage.tombstones.find("s") == buried
        assert await storage.tombstones.delete("s", at=AT, actor="eve") == buried
        with pytest.raises(DeletedStreamError) as raised:
            await storage.journal.read("s")
        assert raised.value.tombstone == buried
        assert await storage.journal.head("s") == StreamHead()

    async def test_a_stream_that_is_unknown_has_none(self, storage: Storage) -> None:
        assert await storage.tombstones.delete("never", at=AT, actor="bob") is None
        assert await storage.tombstones.find("never") is None
        assert await storage.journal.read("never") == []

    async def test_lists_searches_and_upkeep_do_not_have_it(self, storage: Storage) -> None:
        for stream in ("s", "t"):
            await append_entries(storage, stream, 0, {}, summary=SUMMARY)
        words = storage.index.split(SUMMARY)

        await storage.tombstones.delete("s", at=LATER, actor="bob", summary=SUMMARY)

        assert await get_listing(storage, "s") is None
        assert await find_streams(storage) == ["t"]
        assert await find_streams(storage, "kinder") == ["t"]
        assert await find_streams(storage, status="concluded", is_final=True) == ["t"]
        assert await storage.lists.find_by_prefix("s") == []
        assert await storage.journal.list_streams() == ["t"]
        assert not await storage.index.has("s", words)
        assert {
            word: count for word, count in (await storage.index.count()).items() if count
        } == dict.fromkeys(words, 1)
        assert await storage.find_problems() == []

    async def test_what_it_spent_stays_spent(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {}, summary=SUMMARY)

        await storage.tombstones.delete("s", at=LATER, actor="bob", summary=SUMMARY)

        assert (await storage.spending.find("2026-11-01", now=0))[0] == Amount(3, Decimal("0.5"))
        assert await storage.spending.find_wrong_days() == []

    async def test_nothing_follows_a_tombstone(self, storage: Storage) -> None:
        entries = await append_entries(storage, "s", 0, {"n": 1}, summary=SUMMARY)
        await storage.tombstones.delete("s", at=LATER, actor="bob")

        for after in (0, 1):
            with pytest.raises(ConflictError):
                await append_entries(storage, "s", after, {"n": 2})
        with pytest.raises(DeletedStreamError):
            await storage.journal.restore("s", entries, SUMMARY)
        with pytest.raises(DeletedStreamError):
            await storage.journal.restore("s", build_entries({"n": 5}), SUMMARY)
        assert not await storage.journal.seal("s", 1, "seal")
        assert await storage.texts.keep("s", "receipt", "text") == ""
        await append_entries(storage, "t", 0, {"n": 1})

    async def test_it_keeps_nobody_from_those_that_are_read_with_it(self, storage: Storage) -> None:
        for stream in ("s", "t", "other"):
            await append_entries(storage, stream, 0, {"n": 1}, {"n": 2}, summary=SUMMARY)
        await storage.journal.seal("t", 2, "seal")
        await storage.tombstones.delete("s", at=LATER, actor="bob")

        found = await storage.journal.read_many(["s", "t", "never"])
        assert found.keys() == {"s", "t"}
        assert isinstance(found["s"], DeletedStreamError)
        assert (
            found["t"] == (await storage.journal.read("t"), "seal") == await storage.journal.read_sealed("t")
        )
        assert await storage.journal.heads(["s", "t", "never"]) == {"t": await storage.journal.head("t")}
        assert not await storage.journal.read_many([])
        assert not await storage.journal.heads([])

    async def test_it_is_a_change_that_others_notice(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {})
        await append_entries(storage, "t", 0, {})
        position, _ = await storage.journal.find_changes(-1)

        await storage.tombstones.delete("t", at=LATER, actor="bob")
        later, changed = await storage.journal.find_changes(position)

        assert (later > position, changed) == (True, ["t"])
        await append_entries(storage, "u", 0, {})
        assert (await storage.journal.find_changes(later))[1] == ["u"]
        assert await storage.journal.find_changes(-1) == await storage.journal.find_changes(
            (await storage.journal.find_changes(-1))[0]
        )

    async def test_its_lease_its_texts_and_its_judgments_are_gone(self, storage: Storage) -> None:
        judged = LedgerRow("item", "judge", "judge", {})
        summary = StreamSummary("Tea?", "concluded", {}, judgments=[judged], is_final=True)
        await append_entries(storage, "s", 0, {}, summary=summary)
        await storage.texts.keep("s", "receipt", "text")
        await storage.leases.acquire("s", "me", now=0, seconds=60)

        await storage.tombstones.delete("s", at=LATER, actor="bob", summary=summary)

        assert await storage.texts.find("s", "receipt") == ""
        assert await storage.leases.renew("me", ["s"], now=1, seconds=60) == set()
        assert (await storage.summaries.read("s")).judgments is None

    async def test_texts_and_judgments_stay_where_that_is_asked_for(self, storage: Storage) -> None:
        judged = LedgerRow("item", "judge", "judge", {"n": 1}, asked=1)
        summary = StreamSummary("Tea?", "concluded", {}, "tea", judgments=[judged])
        await append_entries(storage, "s", 0, {}, summary=summary)
        await storage.texts.keep("s", "receipt", "signed")
        await storage.texts.keep("s", "other", "words")

        buried = await storage.tombstones.delete(
            "s", at=LATER, actor="bob", keep=["receipt"], keep_judgments=True
        )

        assert buried == await storage.tombstones.find("s")
        assert buried
        assert buried.texts == {"receipt": "signed"}
        assert await storage.texts.read("s") == {}
        assert await storage.ledger.read() == [replace(judged, stream="s")]

    async def test_a_stream_is_deleted_only_at_the_version_that_is_meant(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {}, {})

        assert await storage.tombstones.delete("s", at=LATER, actor="bob", version=1) is None
        assert (await storage.journal.head("s"))[0] == 2
        assert await storage.tombstones.list_streams() == []
        buried = await storage.tombstones.delete("s", at=LATER, actor="bob", version=2)
        assert await storage.tombstones.delete("s", at=LATER, actor="bob", version=9) == buried

    async def test_words_that_were_taken_out_are_merged_away(self, storage: Storage) -> None:
        for stream in ("s", "t"):
            await append_entries(storage, stream, 0, {}, summary=SUMMARY)
        await storage.tombstones.delete("s", at=LATER, actor="bob", summary=SUMMARY)

        await storage.index.merge()

        assert await storage.index.count() == dict.fromkeys(storage.index.split(SUMMARY), 1)
        assert await find_streams(storage, "kinder") == ["t"]

    async def test_a_tombstone_of_another_database_is_written_once(self, storage: Storage) -> None:
        tombstone = Tombstone("s", 2, "ab" * 32, LATER, "bob", {"receipt": "signed"})
        judged = LedgerRow("item", "judge", "judge", {"n": 1}, asked=1)
        summary = replace(SUMMARY, judgments=[judged])
        await append_entries(storage, "t", 0, {}, summary=SUMMARY)
        position, _ = await storage.journal.find_changes(-1)

        assert await storage.tombstones.restore(tombstone, summary)
        assert not await storage.tombstones.restore(replace(tombstone, at=AT), SUMMARY)
        assert not await storage.tombstones.restore(replace(tombstone, stream="t"), SUMMARY)

        assert await storage.tombstones.find("s") == tombstone
        assert await storage.tombstones.list_streams() == ["s"]
        assert (await storage.journal.find_changes(position))[1] == ["s"]
        assert (await storage.spending.find("2026-11-01", now=0))[0] == Amount(6, Decimal("1.0"))
        assert await storage.spending.find_wrong_days() == []
        assert await storage.ledger.read() == [replace(judged, stream="s")]
        with pytest.raises(ConflictError):
            await append_entries(storage, "s", 0, {})

    async def test_tombstones_are_listed_in_the_order_of_the_deletions(self, storage: Storage) -> None:
        for stream in ("s", "t", "u"):
            await append_entries(storage, stream, 0, {})
        for stream in ("u", "s"):
            await storage.tombstones.delete(stream, at=LATER, actor="bob")

        assert await storage.tombstones.list_streams() == ["u", "s"]

    async def test_what_is_archived_stays_in_lists_until_its_entries_come_back(
        self, storage: Storage
    ) -> None:
        entries = await append_entries(storage, "s", 0, {"n": 1}, {"n": 2}, summary=SUMMARY)
        await append_entries(storage, "t", 0, {"n": 1})
        await storage.journal.seal("s", 2, "seal")
        listing, words = await get_listing(storage, "s"), await storage.index.count()
        archive = Archive("s.json", "Tea.", "tea", AT, AT)

        tombstone = await storage.tombstones.delete(
            "s", at=LATER, actor="bob", summary=SUMMARY, keep_judgments=True, archive=archive
        )

        assert tombstone == await storage.tombstones.find("s")
        assert tombstone
        assert tombstone.archive == replace(archive, seal="seal")
        with pytest.raises(DeletedStreamError):
            await storage.journal.read("s")
        assert listing
        assert await get_listing(storage, "s") == replace(listing, is_archived=True)
        assert await find_streams(storage, "tea", status="concluded", is_final=True) == ["s"]
        assert await find_streams(storage, "kinder") == []
        assert await storage.tombstones.list_streams() == []
        stored = await storage.summaries.read("s")
        assert (stored.search_text, stored.is_final) == ("tea", True)
        for after in (0, 2):
            with pytest.raises(ConflictError):
                await append_entries(storage, "s", after, {"n": 3})
        with pytest.raises(DivergenceError):
            await storage.journal.restore("s", build_entries({"n": 5}), SUMMARY)

        assert await storage.journal.restore("s", entries, SUMMARY, seal="seal") == 2
        assert await storage.journal.read_sealed("s") == (entries, "seal")
        assert await get_listing(storage, "s") == listing
        assert await storage.index.count() == words
        assert await storage.tombstones.find("s") is None
        await append_entries(storage, "s", 2, {"n": 3})

    async def test_one_that_is_archived_is_deleted_with_its_words(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {"n": 1}, summary=SUMMARY)
        await storage.texts.keep("s", "receipt", "signed")
        archive = Archive("s.json", "Tea.", "tea", AT, AT)
        await storage.tombstones.delete(
            "s", at=AT, actor="bob", summary=SUMMARY, keep=["receipt"], archive=archive
        )

        deleted = await storage.tombstones.delete(
            "s", at=LATER, actor="eve", summary=SUMMARY, keep=["receipt"]
        )

        assert deleted == await storage.tombstones.find("s")
        assert deleted
        assert (deleted.seq, deleted.archive, deleted.texts) == (1, None, {"receipt": "signed"})
        assert await get_listing(storage, "s") is None
        assert not any((await storage.index.count()).values())
        assert await storage.find_problems() == []
