"""What every journal must do with a stream that was written elsewhere."""

from dataclasses import replace
from typing import Any

import pytest

from storage.canonical import encode_canonical, genesis_hash, link_hash
from storage.errors import DamagedStreamError, DivergenceError
from storage.storage import Storage
from storage.streams import Entry, StreamSummary
from tests.contract.journal_helpers import AT, LATER, append_entries, find_streams, get_listing

SUMMARY = StreamSummary("of old", "paused", {"n": 1}, "brought from afar")


def build_entries(*bodies: dict[str, Any], stream: str = "s") -> list[Entry]:
    """Entries as another journal has them: by several actors, at several times."""
    digest, entries = genesis_hash(stream), []
    for seq, body in enumerate(bodies, start=1):
        at, actor = (AT, "alice") if seq == 1 else (LATER, f"bob {seq}")
        digest = link_hash(digest, encode_canonical(seq, at, actor, body))
        entries.append(Entry(seq, at, actor, body, digest.hex()))
    return entries


@pytest.mark.requirement("D8")
@pytest.mark.asyncio
class RestoreContract:
    async def test_a_stream_comes_back_as_it_was_and_can_be_gone_on_with(self, storage: Storage) -> None:
        past = build_entries({"n": 1}, {"n": 2.5, "ü": ["é", None]}, {"n": 3})

        assert await storage.journal.restore("s", past, SUMMARY) == 3

        assert await storage.journal.read("s") == past
        assert all(entry.restored for entry in await storage.journal.read("s"))
        listed = await get_listing(storage, "s")
        assert listed is not None
        assert (listed.title, listed.status, listed.details) == ("of old", "paused", {"n": 1})
        assert (listed.opened_at, listed.changed_at) == (AT, LATER)
        assert await find_streams(storage, "afar") == ["s"]
        await append_entries(storage, "s", 3, {"n": 4})
        assert (await storage.journal.head("s"))[0] == len(await storage.journal.read("s")) == 4
        assert [entry.restored for entry in await storage.journal.read("s")] == [True, True, True, False]

    async def test_a_beginning_that_is_there_is_completed(self, storage: Storage) -> None:
        past = build_entries({"n": 1}, {"n": 2}, {"n": 3})
        await append_entries(storage, "s", 0, {"n": 1}, summary=StreamSummary("mine", "running", {}, "mine"))
        position, _ = await storage.journal.find_changes(-1)

        assert await storage.journal.restore("s", past, SUMMARY) == 2

        assert await storage.journal.read("s") == past
        assert [entry.restored for entry in await storage.journal.read("s")] == [False, True, True]
        assert [listed.title for listed in await storage.lists.find("afar")] == ["of old"]
        assert await find_streams(storage, "mine") == ["s"]
        assert (await storage.journal.find_changes(position))[1] == ["s"]

    @pytest.mark.parametrize("count", [1, 3])
    async def test_what_is_all_there_is_left_as_it_is(self, storage: Storage, count: int) -> None:
        past = build_entries({"n": 1}, {"n": 2}, {"n": 3})
        await storage.journal.restore("s", past, SUMMARY)
        position, _ = await storage.journal.find_changes(-1)

        assert (
            await storage.journal.restore("s", past[:count], StreamSummary("another", "", {}, "another")) == 0
        )

        assert await storage.journal.read("s") == past
        assert await find_streams(storage, "another") == []
        assert await storage.journal.find_changes(position) == (position, [])

    @pytest.mark.parametrize("more", [0, 1])
    async def test_another_stream_of_that_name_is_kept_and_named(self, storage: Storage, more: int) -> None:
        await storage.journal.restore("s", build_entries({"n": 1}, {"n": 2}, {"n": 3}), SUMMARY)
        before = await storage.journal.read("s")
        others = build_entries({"n": 1}, {"n": "two"}, *[{"n": n} for n in range(3, 4 + more)])

        with pytest.raises(DivergenceError, match="entry 2 of s") as caught:
            await storage.journal.restore("s", others, StreamSummary("lost", "", {}, "lost"))

        assert (caught.value.stream, caught.value.seq) == ("s", 2)
        assert await storage.journal.read("s") == before
        assert await find_streams(storage, "lost") == []

    async def test_what_is_no_chain_is_refused_at_its_first_wrong_entry(self, storage: Storage) -> None:
        changes: list[dict[str, Any]] = [
            *({"hash": ""}, {"at": AT}, {"actor": "mallory"}, {"body": {"n": "two"}}, {"seq": 3})
        ]
        for index, change in ((0, {"hash": "0" * 64}), *((1, each) for each in changes), (2, {"seq": 0})):
            past = build_entries({"n": 1}, {"n": 2}, {"n": 3})
            past[index] = replace(past[index], **change)
            with pytest.raises(DamagedStreamError) as caught:
                await storage.journal.restore("s", past, SUMMARY)
            assert (caught.value.stream, caught.value.seq) == ("s", index + 1)

        assert await storage.journal.read("s") == []
        assert await get_listing(storage, "s") is None

    async def test_a_copy_keeps_its_seal_and_what_counts_as_restored(self, storage: Storage) -> None:
        first, second, third = build_entries({"n": 1}, {"n": 2}, {"n": 3})
        past = [replace(first, restored=True), second, third]

        assert await storage.journal.restore("s", past, SUMMARY, seal="the seal") == 3
        assert await storage.journal.restore("s", past, SUMMARY, seal="another") == 0

        entries, seal = await storage.journal.read_sealed("s")
        assert ([entry.restored for entry in entries], seal) == ([True, False, False], "the seal")

    async def test_another_streams_entries_are_no_chain_of_this_one(self, storage: Storage) -> None:
        with pytest.raises(DamagedStreamError) as caught:
            await storage.journal.restore("s", build_entries({"n": 1}, stream="t"), SUMMARY)
        assert caught.value.seq == 1

    async def test_what_cannot_be_written_is_refused_and_leaves_nothing(self, storage: Storage) -> None:
        for entries, heading in (
            ([], SUMMARY),
            (build_entries({}), StreamSummary("", "\ud800", {})),
            (build_entries({}), StreamSummary("", "", {"x": float("nan")})),
            ([Entry(1, AT, "alice", {"n": float("inf")}, "")], SUMMARY),
        ):
            with pytest.raises(ValueError, match=r"."):
                await storage.journal.restore("s", entries, heading)
            assert await get_listing(storage, "s") is None
