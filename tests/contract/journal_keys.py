"""What every journal must do with the keys under which streams are opened."""

import asyncio

import pytest

from storage.contract.errors import ConflictError, KeyTakenError
from storage.contract.journal import Journal
from storage.contract.streams import OpeningKey
from tests.contract.journal_helpers import AT, LATER, append_entries, find_streams
from tests.support.patience import PATIENCE

KEY = OpeningKey("k", since=AT, now=100)


async def open_stream(journal: Journal, stream: str, key: OpeningKey = KEY, at: str = AT) -> str:
    """The stream that has the key after an attempt to open one with it."""
    try:
        await journal.append(stream, after=0, at=at, actor="alice", bodies=[{}, {}], key=key)
    except KeyTakenError as error:
        return error.stream
    return stream


@pytest.mark.requirement("N18")
@pytest.mark.asyncio
class KeyContract:
    async def test_a_key_opens_one_stream(self, journal: Journal) -> None:
        assert await open_stream(journal, "first") == "first"
        assert await open_stream(journal, "second") == "first"
        assert await open_stream(journal, "third", OpeningKey("another", AT, 100)) == "third"
        assert await find_streams(journal) == ["third", "first"]
        assert (await journal.head("second"))[0] == 0

    async def test_of_many_who_open_under_one_key_at_once_one_does(self, journal: Journal) -> None:
        async with asyncio.timeout(PATIENCE):
            opened = await asyncio.gather(
                *(open_stream(journal, f"s{n}") for n in range(20)),
                *(append_entries(journal, f"other{n}", 0, {}) for n in range(5)),
                *(open_stream(journal, f"t{n}", OpeningKey("t", AT, 100)) for n in range(20)),
            )

        [first], [second] = {*map(str, opened[:20])}, {*map(str, opened[25:])}
        streams = await find_streams(journal, limit=100)
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
        self, journal: Journal, since: str, now: float, owner: str
    ) -> None:
        await open_stream(journal, "first")
        await journal.acquire_lease("first", "me", now=100, seconds=10)

        assert await open_stream(journal, "second", OpeningKey("k", since, now), at=LATER) == owner
        assert await open_stream(journal, "third", OpeningKey("k", since, now), at=LATER) == owner

    async def test_keys_of_another_database_open_no_second_stream(self, journal: Journal) -> None:
        await append_entries(journal, "first", 0, {})
        keys = [("k", "first", AT), ("l", "nowhere", AT), ("m", "first", LATER)]

        await journal.restore_keys(keys)
        await journal.restore_keys([("k", "nowhere", LATER)])

        assert await journal.read_keys() == [keys[0], keys[2]]
        assert await open_stream(journal, "second") == "first"
        assert await open_stream(journal, "third", OpeningKey("l", AT, 100)) == "third"

    async def test_an_append_that_fails_takes_no_key(self, journal: Journal) -> None:
        await append_entries(journal, "begun", 0, {})
        with pytest.raises(ConflictError):
            await open_stream(journal, "begun")
        with pytest.raises(ValueError, match="nothing to append"):
            await journal.append("empty", after=0, at=AT, actor="alice", bodies=[], key=KEY)
        with pytest.raises(ValueError, match="first entries"):
            await journal.append("begun", after=1, at=AT, actor="alice", bodies=[{}], key=KEY)

        assert await open_stream(journal, "s") == "s"
