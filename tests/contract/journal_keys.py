"""What every journal must do with the keys under which streams are opened."""

import asyncio

import pytest

from storage.errors import ConflictError, KeyTakenError
from storage.storage import Storage
from storage.streams import OpeningKey
from tests.contract.journal_helpers import AT, LATER, append_entries, find_streams
from tests.support.patience import PATIENCE

KEY = OpeningKey("k", since=AT, now=100)


async def open_stream(storage: Storage, stream: str, key: OpeningKey = KEY, at: str = AT) -> str:
    """The stream that has the key after an attempt to open one with it."""
    try:
        await storage.journal.append(stream, after=0, at=at, actor="alice", bodies=[{}, {}], key=key)
    except KeyTakenError as error:
        return error.stream
    return stream


@pytest.mark.requirement("N18")
@pytest.mark.asyncio
class KeyContract:
    async def test_a_key_opens_one_stream(self, storage: Storage) -> None:
        assert await open_stream(storage, "first") == "first"
        assert await open_stream(storage, "second") == "first"
        assert await open_stream(storage, "third", OpeningKey("another", AT, 100)) == "third"
        assert await find_streams(storage) == ["third", "first"]
        assert (await storage.journal.head("second"))[0] == 0

    async def test_of_many_who_open_under_one_key_at_once_one_does(self, storage: Storage) -> None:
        async with asyncio.timeout(PATIENCE):
            opened = await asyncio.gather(
                *(open_stream(storage, f"s{n}") for n in range(20)),
                *(append_entries(storage, f"other{n}", 0, {}) for n in range(5)),
                *(open_stream(storage, f"t{n}", OpeningKey("t", AT, 100)) for n in range(20)),
            )

        [first], [second] = {*map(str, opened[:20])}, {*map(str, opened[25:])}
        streams = await find_streams(storage, limit=100)
        assert sorted(streams) == sorted([first, second, *(f"other{n}" for n in range(5))])

    @pytest.mark.parametrize(
        ("since", "now", "owner"),
        [
            (AT, 200, "first"),  # opened at that very time
            (LATER, 109, "first"),  # opened before it, and leased
            (LATER, 110, "second"),  # the lease has run out
        ],
    )
    async def test_a_key_is_free_when_its_stream_is_old_and_nobody_works_on_it(
        self, storage: Storage, since: str, now: float, owner: str
    ) -> None:
        await open_stream(storage, "first")
        await storage.leases.acquire("first", "me", now=100, seconds=10)

        assert await open_stream(storage, "second", OpeningKey("k", since, now), at=LATER) == owner
        assert await open_stream(storage, "third", OpeningKey("k", since, now), at=LATER) == owner

    async def test_keys_of_another_database_open_no_second_stream(self, storage: Storage) -> None:
        await append_entries(storage, "first", 0, {})
        keys = [("k", "first", AT), ("l", "nowhere", AT), ("m", "first", LATER)]

        await storage.keys.restore(keys)
        await storage.keys.restore([("k", "nowhere", LATER)])

        assert await storage.keys.read() == [keys[0], keys[2]]
        assert await open_stream(storage, "second") == "first"
        assert await open_stream(storage, "third", OpeningKey("l", AT, 100)) == "third"

    async def test_an_append_that_fails_takes_no_key(self, storage: Storage) -> None:
        await append_entries(storage, "begun", 0, {})
        with pytest.raises(ConflictError):
            await open_stream(storage, "begun")
        with pytest.raises(ValueError, match="nothing to append"):
            await storage.journal.append("empty", after=0, at=AT, actor="alice", bodies=[], key=KEY)
        with pytest.raises(ValueError, match="first entries"):
            await storage.journal.append("begun", after=1, at=AT, actor="alice", bodies=[{}], key=KEY)

        assert await open_stream(storage, "s") == "s"
