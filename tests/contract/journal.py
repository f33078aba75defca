"""What every journal must do. A backend's tests inherit `JournalContract` and give it a `journal`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from storage.canonical import encode_canonical, genesis_hash, link_hash
from storage.errors import ConflictError
from storage.journal import MAX_CACHED_HEADS
from storage.leases import Leases
from storage.storage import Storage
from storage.streams import Entry, StreamSummary
from tests.contract.journal_cache import CacheContract
from tests.contract.journal_deletion import DeletionContract
from tests.contract.journal_families import FamilyContract
from tests.contract.journal_helpers import AT, LATER, append_entries, find_streams, get_listing
from tests.contract.journal_keys import KeyContract
from tests.contract.journal_lists import ChangesContract, ListContract, SearchContract
from tests.contract.journal_owners import OwnerContract
from tests.contract.journal_restore import SUMMARY, RestoreContract, build_entries
from tests.contract.journal_seals import SealContract
from tests.contract.journal_similarity import SimilarityContract
from tests.contract.journal_spending import SpendingContract, UpkeepContract
from tests.contract.journal_words import WordContract
from tests.support.patience import PATIENCE

DIFFICULT_JSON = {
    "unicode": "Zażółć gęślą jaźń, 日本語, \U0001f9ea, e\u0301, \u202eright to left",
    "controls": "".join(map(chr, range(32))) + '\x7f\u2028\ufeff"\\/',
    "numbers": [0, -1, 2**53 - 1, 0.1, 1e-9, 1e22, True, False, None],
    "": {"z": {"ä": []}, "a": {}},
    "big": "word " * 200_000,
}


@pytest.mark.asyncio
class AppendContract:
    async def test_what_was_appended_is_read_back(self, storage: Storage) -> None:
        first = await append_entries(storage, "s", 0, {"n": 1}, {"n": 2})
        second = await storage.journal.append("s", after=2, at=LATER, actor="bob", bodies=[{"n": 3}])

        assert await storage.journal.read("s") == first + second
        assert [(e.seq, e.at, e.actor, e.body) for e in first + second] == [
            (1, AT, "alice", {"n": 1}),
            (2, AT, "alice", {"n": 2}),
            (3, LATER, "bob", {"n": 3}),
        ]

    async def test_a_stream_that_was_never_begun_is_empty(self, storage: Storage) -> None:
        for stream in ("never", "", "\0", "half a pair \ud800"):
            assert await storage.journal.read(stream) == []
            assert (await storage.journal.head(stream))[0] == 0
            assert await get_listing(storage, stream) is None
            assert await storage.lists.find_by_prefix(stream + "x") == []

    async def test_any_json_comes_back_as_it_was(self, storage: Storage) -> None:
        appended = await append_entries(storage, "s", 0, DIFFICULT_JSON)

        assert appended[0].body == DIFFICULT_JSON
        assert await storage.journal.read("s") == appended

    async def test_each_hash_is_a_link_to_all_before_it(self, storage: Storage) -> None:
        entries = await append_entries(storage, "s", 0, {"b": 1, "a": 2.0}, {"text": "ü"})

        first = link_hash(
            genesis_hash("s"), b'{"actor":"alice","at":"' + AT.encode() + b'","body":{"a":2,"b":1},"seq":1}'
        )
        second = link_hash(first, encode_canonical(2, AT, "alice", {"text": "ü"}))
        assert [e.hash for e in entries] == [first.hex(), second.hex()]

    async def test_what_is_no_json_or_text_is_refused_and_leaves_nothing(self, storage: Storage) -> None:
        bodies: list[list[Any]] = [
            [{"n": 2**60}],
            [{"n": float("nan")}],
            [{"s": "\ud800"}],
            [{"x": object()}],
        ]
        headings = (
            StreamSummary("\ud800", "", {}),
            StreamSummary("", "\ud800", {}),
            StreamSummary("", "", {"": "\ud800"}),
            StreamSummary("", "", {}, "\ud800"),
        )
        for written in (*bodies, [{}, {1: 2}], []):
            with pytest.raises(ValueError, match=r"."):
                await append_entries(storage, "s", 0, *written)
        for heading in headings:
            with pytest.raises(ValueError, match=r"."):
                await append_entries(storage, "s", 0, {}, summary=heading)
        assert await storage.journal.read("s") == []


async def append_three(storage: Storage, stream: str) -> None:
    await append_entries(storage, stream, 0, {}, {}, {})


async def restore_three(storage: Storage, stream: str) -> None:
    await storage.journal.restore(stream, build_entries({"n": 1}, {"n": 2}, {"n": 3}, stream=stream), SUMMARY)


@pytest.mark.requirement("N8")
@pytest.mark.asyncio
class ConflictContract:
    async def test_an_append_that_does_not_follow_is_a_conflict(self, storage: Storage) -> None:
        before = await append_entries(
            storage, "s", 0, {}, {}, summary=StreamSummary("kept", "running", {}, "kept")
        )
        position, _ = await storage.journal.find_changes(-1)

        lost = StreamSummary("lost", "", {}, "lost")
        for after in (0, 1, 3, -1):
            with pytest.raises(ConflictError, match="s is at entry 2, not"):
                await append_entries(storage, "s", after, {"lost": 1}, {"lost": 2}, summary=lost)

        assert await storage.journal.read("s") == before
        assert await find_streams(storage, "kept") == ["s"]
        assert await find_streams(storage, "lost") == []
        assert await storage.journal.find_changes(position) == (position, [])

    async def test_the_first_entry_needs_no_stream_and_the_second_does(self, storage: Storage) -> None:
        with pytest.raises(ConflictError):
            await append_entries(storage, "s", 1, {})
        assert await get_listing(storage, "s") is None

    async def test_of_many_who_write_the_same_entry_one_wins(self, storage: Storage) -> None:
        async with asyncio.timeout(PATIENCE):
            outcomes = await asyncio.gather(
                *(append_entries(storage, "s", 0, {"of": n}, {"of": n}) for n in range(20)),
                return_exceptions=True,
            )

        winners = [outcome for outcome in outcomes if isinstance(outcome, list)]
        assert len(winners) == 1
        assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == 19
        assert await storage.journal.read("s") == winners[0]

    @pytest.mark.full
    async def test_appends_to_more_streams_at_once_than_are_remembered_all_land(
        self, storage: Storage
    ) -> None:
        async def debate(stream: str) -> list[Entry]:
            return [(await append_entries(storage, stream, n, {"n": n}))[0] for n in range(2)]

        names = [f"s{n}" for n in range(MAX_CACHED_HEADS + 1)]
        async with asyncio.timeout(PATIENCE):
            written = await asyncio.gather(*map(debate, names))

        for stream, entries in zip(names, written, strict=True):
            assert await storage.journal.read(stream) == entries

    async def test_a_conflict_does_not_fail_those_who_write_at_the_same_time(self, storage: Storage) -> None:
        await append_entries(storage, "taken", 0, {})

        async with asyncio.timeout(PATIENCE):
            outcomes = await asyncio.gather(
                append_entries(storage, "a", 0, {}),
                append_entries(storage, "taken", 0, {}),
                append_entries(storage, "b", 0, {}, summary=StreamSummary("first", "", {}, "first")),
                append_entries(storage, "b", 1, {}, summary=StreamSummary("second", "", {})),
                append_entries(storage, "taken", 1, {}),
                return_exceptions=True,
            )

        assert [type(outcome) for outcome in outcomes] == [list, ConflictError, list, list, list]
        assert [(await storage.journal.head(stream))[0] for stream in ("a", "b", "taken")] == [1, 2, 2]
        assert [(b.title, b.opened_at) for b in await storage.lists.find("first")] == [("second", AT)]

    @pytest.mark.parametrize("write", [append_three, restore_three])
    async def test_a_cancelled_write_is_whole_or_absent_and_hurts_nobody(
        self, storage: Storage, write: Callable[[Storage, str], Coroutine[Any, Any, object]]
    ) -> None:
        async with asyncio.timeout(PATIENCE):
            for steps in range(20):
                mine = asyncio.create_task(write(storage, f"mine{steps}"))
                others = asyncio.create_task(append_entries(storage, f"others{steps}", 0, {}, {}))
                for _ in range(steps):
                    await checkpoint()
                mine.cancel()
                await others
                await asyncio.wait([mine])

        for steps in range(20):
            assert (await storage.journal.head(f"mine{steps}"))[0] in {0, 3}
            assert (await storage.journal.head(f"mine{steps}"))[0] == len(
                await storage.journal.read(f"mine{steps}")
            )
            assert len(await storage.journal.read(f"others{steps}")) == 2

    @pytest.mark.parametrize("steps", range(0, 16, 2))
    async def test_when_all_is_cancelled_nothing_is_left_by_halves(
        self, storage: Storage, steps: int
    ) -> None:
        appends = [asyncio.create_task(append_entries(storage, f"s{n}", 0, {}, {})) for n in range(5)]
        for _ in range(steps):
            await checkpoint()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait(appends, timeout=PATIENCE)

        async with asyncio.timeout(PATIENCE):
            await append_entries(storage, "afterwards", 0, {})
        assert {len(await storage.journal.read(f"s{n}")) for n in range(5)} <= {0, 2}


@pytest.mark.requirement("N8")
@pytest.mark.asyncio
class LeaseContract:
    async def test_the_leases_in_force_are_told_with_their_holders(self, storage: Storage) -> None:
        await storage.leases.acquire("s", "me", now=100, seconds=10)
        await storage.leases.acquire("other", "you", now=105, seconds=10)
        assert await storage.leases.find_holders(now=109) == {"s": "me", "other": "you"}
        assert await storage.leases.find_holders(now=110) == {"other": "you"}

    async def test_a_stream_has_one_holder_until_its_lease_runs_out(self, storage: Storage) -> None:
        asked = [
            ("s", "me", 100),
            ("s", "you", 109),
            ("other", "you", 109),
            ("s", "me", 109),
            ("s", "you", 118),
        ]
        asked += [("s", "you", 119), ("s", "me", 120)]
        holders = [
            await storage.leases.acquire(stream, holder, now=now, seconds=10) for stream, holder, now in asked
        ]
        assert holders == ["me", "me", "you", "me", "me", "you", "you"]

    async def test_a_holder_renews_all_of_its_leases_and_no_others(self, storage: Storage) -> None:
        for stream, holder in (("a", "me"), ("b", "me"), ("c", "you")):
            await storage.leases.acquire(stream, holder, now=100, seconds=10)
        kept = await storage.leases.renew("me", ["a", "b", "c", "d"], now=109, seconds=10)
        assert kept == {"a", "b"}
        assert await storage.leases.renew("me", [], now=109, seconds=10) == set()

        taken = [
            await storage.leases.acquire(stream, "third", now=115, seconds=1) for stream in ("a", "b", "c")
        ]
        assert taken == ["me", "me", "third"]

    async def test_a_lease_given_by_a_clock_that_was_far_ahead_is_free(self, storage: Storage) -> None:
        await storage.leases.acquire("s", "me", now=1_000_000, seconds=10)
        assert await storage.leases.acquire("s", "you", now=100, seconds=10) == "you"

    async def test_a_released_stream_is_free_and_only_its_holder_releases_it(self, storage: Storage) -> None:
        await storage.leases.acquire("s", "me", now=100, seconds=10)
        await storage.leases.release("s", "you")
        assert await storage.leases.acquire("s", "you", now=101, seconds=10) == "me"

        await storage.leases.release("s", "me")
        assert await storage.leases.acquire("s", "you", now=101, seconds=10) == "you"
        await storage.leases.release("never leased", "me")

    async def test_a_lease_that_is_released_while_another_asks_for_it_is_taken(
        self, storage: Storage
    ) -> None:
        class Late:
            """Before it reads who has the lease, that one releases it."""

            def __getattr__(self, name: str) -> Any:
                return getattr(storage.database, name)

            async def read(self, *statement: Any) -> Any:
                await storage.leases.release("s", "me")
                return await storage.database.read(*statement)

        late: Any = Late()
        await storage.leases.acquire("s", "me", now=100, seconds=10)
        assert await Leases(late).acquire("s", "you", now=100, seconds=10) == "you"

    async def test_leases_asked_for_during_appends_do_not_disturb_them(self, storage: Storage) -> None:
        async with asyncio.timeout(PATIENCE):
            *_, mine, yours = await asyncio.gather(
                *(append_entries(storage, f"s{n}", 0, {}) for n in range(20)),
                storage.leases.acquire("s", "me", now=100, seconds=10),
                storage.leases.acquire("s", "you", now=100, seconds=10),
            )
        assert mine == yours  # whoever came first
        assert len(await storage.lists.find(limit=100)) == 20


@pytest.mark.requirement("N27")
@pytest.mark.asyncio
class PresenceContract:
    async def test_a_journal_that_is_there_is_not_opened_anew(self, storage: Storage) -> None:
        async def stop() -> None:
            raise AssertionError("nothing was lost")

        entries = await append_entries(storage, "s", 0, {})
        storage.check_presence()
        await storage.probe(PATIENCE)
        assert not await storage.reopen(stop)
        assert await storage.journal.read("s") == entries

    async def test_checkpoints_asked_for_during_appends_disturb_nothing(self, storage: Storage) -> None:
        assert not storage.is_read_only
        for number in range(20):
            await append_entries(storage, "s", number, {"n": number})
            storage.checkpoint_soon()
        assert len(await storage.journal.read("s")) == 20


@pytest.mark.requirement("M3")
class JournalContract(
    AppendContract,
    ConflictContract,
    RestoreContract,
    SealContract,
    ListContract,
    SearchContract,
    SimilarityContract,
    ChangesContract,
    LeaseContract,
    KeyContract,
    SpendingContract,
    PresenceContract,
    UpkeepContract,
    DeletionContract,
    OwnerContract,
    CacheContract,
    FamilyContract,
    WordContract,
):
    pass
