"""Several processes that write to one PostgreSQL database."""

import asyncio

import pytest

from storage.errors import ConflictError
from storage.postgres import PostgresStorage
from storage.streams import OpeningKey
from tests.contract.journal_helpers import (
    AT,
    append_entries,
    hold_statement,
    open_postgres_storage,
    wait_for_locks,
)
from tests.support.patience import PATIENCE
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]


async def test_of_two_processes_that_begin_the_same_stream_one_does(postgres_database: str) -> None:
    async with (
        open_postgres_storage(postgres_database) as one,
        open_postgres_storage(postgres_database) as two,
    ):
        for number in range(20):
            outcomes = await asyncio.gather(
                *(
                    append_entries(storage, f"s{number}", 0, {"by": index})
                    for index, storage in enumerate((one, two))
                ),
                return_exceptions=True,
            )
            assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ConflictError", "list"]
        assert (await one.journal.find_changes(-1))[0] == 20


@pytest.mark.parametrize(
    "statement",
    [
        "insert into stream values (7, 's', 1, '', '', '', '', '', '{}', '')",
        "insert into lease values ('s', 'other', 9e9)",
    ],
)
async def test_what_another_is_just_writing_is_waited_for(postgres_database: str, statement: str) -> None:
    key = OpeningKey("k", since=AT)
    async with (
        open_postgres_storage(postgres_database) as one,
        open_postgres_storage(postgres_database) as two,
    ):
        async with hold_statement(one, statement):
            working = asyncio.gather(
                two.journal.append("s", after=0, at=AT, actor="me", bodies=[{}], key=key)
                if "stream" in statement
                else two.leases.acquire("s", "me", seconds=10**9),
                return_exceptions=True,
            )
            await wait_for_locks(one, 1)
        [outcome] = await working
    assert outcome == "other" or isinstance(outcome, ConflictError)


async def test_batches_that_overlap_in_another_order_all_end(postgres_database: str) -> None:
    async with (
        open_postgres_storage(postgres_database) as one,
        open_postgres_storage(postgres_database) as two,
    ):
        names = [f"s{number}" for number in range(8)]
        await asyncio.gather(*(append_entries(one, name, 0, {}) for name in names))

        async def write(storage: PostgresStorage, name: str) -> None:
            for _ in range(3):
                while True:
                    seq, *_ = await storage.journal.head(name)
                    try:
                        await append_entries(storage, name, seq, {})
                        break
                    except ConflictError:
                        continue

        async with asyncio.timeout(4 * PATIENCE):
            await asyncio.gather(
                *(write(one, name) for name in names), *(write(two, name) for name in reversed(names))
            )
        assert [(await two.journal.head(name))[0] for name in names] == [7] * 8
        assert (await one.journal.find_changes(-1))[0] == 7 * 8


async def test_a_clock_that_is_wrong_takes_no_lease(postgres_database: str) -> None:
    async with (
        open_postgres_storage(postgres_database) as one,
        open_postgres_storage(postgres_database) as two,
    ):
        assert await one.leases.acquire("s", "one", seconds=3) == "one"
        assert await two.leases.acquire("s", "two", seconds=3) == "one"
        assert await two.leases.find_holders() == {"s": "one"}
        run_raw(postgres_database, "update lease set until = 0")
        assert await two.leases.find_holders() == {}
        assert await two.leases.acquire("s", "two", seconds=3) == "two"
        assert await one.leases.renew("one", ["s"], seconds=3) == set()
