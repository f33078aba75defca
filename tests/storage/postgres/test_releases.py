"""Older and newer releases that share a PostgreSQL database."""

import asyncio

import pytest

from storage.errors import StorageError
from storage.migrations import Migration
from storage.postgres import PostgresStorage, upgrade
from storage.postgres.migrations import MIGRATIONS
from tests.contract.journal_helpers import append_entries, open_postgres_storage
from tests.support.patience import PATIENCE
from tests.support.postgres import Server
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]


OWN = MIGRATIONS[-1].release
ADDING = Migration(OWN + 1, "adding", ("create table added (n bigint)",))
ENDING = Migration(OWN + 2, "ending", ("drop table added",), oldest_release=OWN + 2)


async def test_old_and_new_use_one_database_until_it_is_upgraded(postgres_database: str) -> None:
    newer = [*MIGRATIONS, ADDING, ENDING]
    async with open_postgres_storage(postgres_database) as old:
        new = await PostgresStorage.open(postgres_database, migrations=newer)
        await append_entries(old, "s", 0, {})
        await append_entries(new, "s", 1, {})
        await new.close()
    # It starts again beside what it does not know.
    async with open_postgres_storage(postgres_database) as old:
        await append_entries(old, "s", 2, {})
        assert run_raw(postgres_database, "select count(*) from added") == [("0",)]
        await old.probe(PATIENCE)

        assert await upgrade(postgres_database, migrations=newer) == ["ending"]
        with pytest.raises(StorageError, match=f"its schema {OWN + 2} is the oldest that may run"):
            await old.probe(PATIENCE)
    assert await upgrade(postgres_database, migrations=newer) == []
    with pytest.raises(
        StorageError, match=rf"its schema {OWN + 2} is the oldest that may run, this is {OWN}: update"
    ):
        await PostgresStorage.open(postgres_database)
    new = await PostgresStorage.open(postgres_database, migrations=newer)
    assert len(await new.journal.read("s")) == 3
    await new.close()


async def test_a_new_database_gets_all_of_them_at_once(postgres_server: Server) -> None:
    address = postgres_server.create_database()
    newer = [*MIGRATIONS, ADDING, ENDING]
    storages = await asyncio.gather(*(PostgresStorage.open(address, migrations=newer) for _ in range(3)))
    for storage in storages:
        await storage.close()
    assert run_raw(address, "select release from migration order by release") == [
        (str(one.release),) for one in newer
    ]
    postgres_server.drop_later(address)
