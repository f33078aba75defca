"""What every journal must do with a stream that is deleted."""

from dataclasses import replace
from decimal import Decimal

import pytest

from storage.contract.deletion import Tombstone
from storage.contract.errors import ConflictError, DeletedStreamError
from storage.contract.journal import Journal
from storage.contract.ledger import LedgerRow
from storage.contract.streams import Amount, StreamHead, StreamSummary
from tests.contract.journal_helpers import AT, LATER, append_entries, find_streams, get_listing
from tests.contract.journal_restore import build_entries

SUMMARY = StreamSummary(
    "Tea?", "concluded", {}, "tea kinder", {"2026-11-01": Amount(3, Decimal("0.5"))}, is_final=True
)


@pytest.mark.requirement("N28")
@pytest.mark.asyncio
class DeletionContract:
    async def test_what_is_left_is_a_tombstone(self, journal: Journal) -> None:
        head = (await append_entries(journal, "s", 0, {"n": 1}, {"n": 2}, summary=SUMMARY))[-1].hash

        buried = await journal.delete("s", at=LATER, actor="bob", summary=SUMMARY)

        assert buried == Tombstone("s", 2, head, LATER, "bob")
        assert await journal.find_tombstone("s") == buried
        assert await journal.delete("s", at=AT, actor="eve") == buried
        with pytest.raises(DeletedStreamError) as raised:
            await journal.read("s")
        assert raised.value.tombstone == buried
        assert await journal.head("s") == StreamHead()

    async def test_a_stream_that_is_unknown_has_none(self, journal: Journal) -> None:
        assert await journal.delete("never", at=AT, actor="bob") is None
        assert await journal.find_tombstone("never") is None
        assert await journal.read("never") == []

    async def test_lists_searches_and_upkeep_do_not_have_it(self, journal: Journal) -> None:
        for stream in ("s", "t"):
            await append_entries(journal, stream, 0, {}, summary=SUMMARY)
        words = journal.split_words(SUMMARY)

        await journal.delete("s", at=LATER, actor="bob", summary=SUMMARY)

        assert await get_listing(journal, "s") is None
        assert await find_streams(journal) == ["t"]
        assert await find_streams(journal, "kinder") == ["t"]
        assert await find_streams(journal, status="concluded", is_final=True) == ["t"]
        assert await journal.find_by_prefix("s") == []
        assert await journal.find_all_streams() == ["t"]
        assert not await journal.has_words("s", words)
        assert {
            word: count for word, count in (await journal.count_words()).items() if count
        } == dict.fromkeys(words, 1)
        assert await journal.find_file_problems() == []

    async def test_what_it_spent_stays_spent(self, journal: Journal) -> None:
        await append_entries(journal, "s", 0, {}, summary=SUMMARY)

        await journal.delete("s", at=LATER, actor="bob", summary=SUMMARY)

        assert (await journal.find_spending("2026-11-01", now=0))[0] == Amount(3, Decimal("0.5"))
        assert await journal.find_wrong_days() == []

    async def test_nothing_follows_a_tombstone(self, journal: Journal) -> None:
        entries = await append_entries(journal, "s", 0, {"n": 1}, summary=SUMMARY)
        await journal.delete("s", at=LATER, actor="bob")

        for after in (0, 1):
            with pytest.raises(ConflictError):
                await append_entries(journal, "s", after, {"n": 2})
        with pytest.raises(DeletedStreamError):
            await journal.restore("s", entries, SUMMARY)
        with pytest.raises(DeletedStreamError):
            await journal.restore("s", build_entries({"n": 5}), SUMMARY)
        assert not await journal.set_seal("s", 1, "seal")
        assert await journal.keep_text("s", "receipt", "text") == ""
        await append_entries(journal, "t", 0, {"n": 1})

    async def test_it_keeps_nobody_from_those_that_are_read_with_it(self, journal: Journal) -> None:
        for stream in ("s", "t", "other"):
            await append_entries(journal, stream, 0, {"n": 1}, {"n": 2}, summary=SUMMARY)
        await journal.set_seal("t", 2, "seal")
        await journal.delete("s", at=LATER, actor="bob")

        found = await journal.read_many(["s", "t", "never"])
        assert found.keys() == {"s", "t"}
        assert isinstance(found["s"], DeletedStreamError)
        assert found["t"] == (await journal.read("t"), "seal") == await journal.read_sealed("t")
        assert await journal.heads(["s", "t", "never"]) == {"t": await journal.head("t")}
        assert not await journal.read_many([])
        assert not await journal.heads([])

    async def test_it_is_a_change_that_others_notice(self, journal: Journal) -> None:
        await append_entries(journal, "s", 0, {})
        await append_entries(journal, "t", 0, {})
        position, _ = await journal.find_changes(-1)

        await journal.delete("t", at=LATER, actor="bob")
        later, changed = await journal.find_changes(position)

        assert (later > position, changed) == (True, ["t"])
        await append_entries(journal, "u", 0, {})
        assert (await journal.find_changes(later))[1] == ["u"]
        assert await journal.find_changes(-1) == await journal.find_changes(
            (await journal.find_changes(-1))[0]
        )

    async def test_its_lease_its_texts_and_its_judgments_are_gone(self, journal: Journal) -> None:
        judged = LedgerRow("item", "judge", {})
        summary = StreamSummary("Tea?", "concluded", {}, judgments=[judged], is_final=True)
        await append_entries(journal, "s", 0, {}, summary=summary)
        await journal.keep_text("s", "receipt", "text")
        await journal.acquire_lease("s", "me", now=0, seconds=60)

        await journal.delete("s", at=LATER, actor="bob", summary=summary)

        assert await journal.find_text("s", "receipt") == ""
        assert await journal.renew_leases("me", ["s"], now=1, seconds=60) == set()
        assert (await journal.read_summary("s")).judgments is None

    async def test_texts_and_judgments_stay_where_that_is_asked_for(self, journal: Journal) -> None:
        judged = LedgerRow("item", "judge", {"n": 1}, asked=1)
        summary = StreamSummary("Tea?", "concluded", {}, "tea", judgments=[judged])
        await append_entries(journal, "s", 0, {}, summary=summary)
        await journal.keep_text("s", "receipt", "signed")
        await journal.keep_text("s", "other", "words")

        buried = await journal.delete("s", at=LATER, actor="bob", keep=["receipt"], keep_judgments=True)

        assert buried == await journal.find_tombstone("s")
        assert buried
        assert buried.texts == {"receipt": "signed"}
        assert await journal.read_texts("s") == {}
        assert await journal.read_judgments() == [replace(judged, stream="s")]

    async def test_a_stream_is_deleted_only_at_the_version_that_is_meant(self, journal: Journal) -> None:
        await append_entries(journal, "s", 0, {}, {})

        assert await journal.delete("s", at=LATER, actor="bob", version=1) is None
        assert (await journal.head("s"))[0] == 2
        assert await journal.find_deleted_streams() == []
        buried = await journal.delete("s", at=LATER, actor="bob", version=2)
        assert await journal.delete("s", at=LATER, actor="bob", version=9) == buried

    async def test_words_that_were_taken_out_are_merged_away(self, journal: Journal) -> None:
        for stream in ("s", "t"):
            await append_entries(journal, stream, 0, {}, summary=SUMMARY)
        await journal.delete("s", at=LATER, actor="bob", summary=SUMMARY)

        await journal.merge_words()

        assert await journal.count_words() == dict.fromkeys(journal.split_words(SUMMARY), 1)
        assert await find_streams(journal, "kinder") == ["t"]

    async def test_a_tombstone_of_another_database_is_written_once(self, journal: Journal) -> None:
        tombstone = Tombstone("s", 2, "ab" * 32, LATER, "bob", {"receipt": "signed"})
        judged = LedgerRow("item", "judge", {"n": 1}, asked=1)
        summary = replace(SUMMARY, judgments=[judged])
        await append_entries(journal, "t", 0, {}, summary=SUMMARY)
        position, _ = await journal.find_changes(-1)

        assert await journal.restore_tombstone(tombstone, summary)
        assert not await journal.restore_tombstone(replace(tombstone, at=AT), SUMMARY)
        assert not await journal.restore_tombstone(replace(tombstone, stream="t"), SUMMARY)

        assert await journal.find_tombstone("s") == tombstone
        assert await journal.find_deleted_streams() == ["s"]
        assert (await journal.find_changes(position))[1] == ["s"]
        assert (await journal.find_spending("2026-11-01", now=0))[0] == Amount(6, Decimal("1.0"))
        assert await journal.find_wrong_days() == []
        assert await journal.read_judgments() == [replace(judged, stream="s")]
        with pytest.raises(ConflictError):
            await append_entries(journal, "s", 0, {})

    async def test_tombstones_are_listed_in_the_order_of_the_deletions(self, journal: Journal) -> None:
        for stream in ("s", "t", "u"):
            await append_entries(journal, stream, 0, {})
        for stream in ("u", "s"):
            await journal.delete(stream, at=LATER, actor="bob")

        assert await journal.find_deleted_streams() == ["u", "s"]
