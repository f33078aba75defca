"""What is kept in PostgreSQL to spare work holds up nobody."""

import asyncio

import pytest

from storage.cache import CachedBody
from storage.postgres.connections.pool import LOCKS, MAX_CONNECTIONS
from tests.contract.journal_helpers import append_entries, hold_statement, open_postgres_storage
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D22", "N14")]

A_MOMENT = 2  # seconds, on a busy machine; whoever hangs is cut after 5
MUCH = 1_000_000


async def test_who_hangs_while_writing_there_holds_up_nobody(postgres_database: str) -> None:
    async with (
        open_postgres_storage(postgres_database) as storage,
        open_postgres_storage(postgres_database) as other,
    ):
        await append_entries(storage, "s", 0, {})
        many = [[CachedBody(f"{number}", b"x", "s")] for number in range(3 * MAX_CONNECTIONS)]
        async with hold_statement(other, LOCKS["cache"]), asyncio.timeout(A_MOMENT):
            keeping = asyncio.gather(*(storage.cache.keep("answer", one, max_bytes=MUCH) for one in many))
            await append_entries(storage, "s", 1, {})
            await keeping
        assert await storage.cache.measure() == []
        await storage.cache.keep("answer", many[0], max_bytes=MUCH)
        assert set(await storage.cache.find(["0"])) == {"0"}


async def test_what_is_of_a_stream_that_is_being_deleted_is_not_kept_and_waits_for_nothing(
    postgres_database: str,
) -> None:
    async with (
        open_postgres_storage(postgres_database) as storage,
        open_postgres_storage(postgres_database) as other,
    ):
        for stream in ("s", "t"):
            await append_entries(storage, stream, 0, {})
        given = [CachedBody(stream, b"x", stream) for stream in ("s", "t")]
        async with (
            hold_statement(other, "select 1 from stream where name = 's' for update"),
            asyncio.timeout(A_MOMENT),
        ):
            await storage.cache.keep("answer", given, max_bytes=MUCH)
        assert set(await storage.cache.find(["s", "t"])) == {"t"}


async def test_two_who_write_there_at_once_both_do(postgres_database: str) -> None:
    async with (
        open_postgres_storage(postgres_database) as storage,
        open_postgres_storage(postgres_database) as other,
        asyncio.timeout(PATIENCE),
    ):
        for number in range(10):
            await asyncio.gather(
                storage.cache.keep("answer", [CachedBody(f"a{number}", b"x")], max_bytes=MUCH),
                other.cache.keep("answer", [CachedBody(f"b{number}", b"x")], max_bytes=MUCH),
            )
        assert [one.number for one in await storage.cache.measure()] == [20]
