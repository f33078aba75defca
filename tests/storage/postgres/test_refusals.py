"""PostgreSQL databases that cannot be used, or only be read, and what is said about them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from storage.cache import CachedBody
from storage.errors import StorageError
from storage.postgres import PostgresStorage
from storage.postgres.connections.errors import ReadOnlyError, translate_error
from storage.postgres.migrations import require_server
from tests.contract.journal_helpers import (
    append_entries,
    create_stream,
    find_streams,
    open_postgres_storage,
)
from tests.support.patience import PATIENCE
from tests.support.postgres import Server, find_name

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]


@pytest.fixture
def guarded(postgres_server: Server) -> Iterator[str]:
    """A database that asks for a password."""
    rules = postgres_server.directory / "data/pg_hba.conf"
    before = rules.read_text()
    postgres_server.sql("create role guard login superuser password 'right'", "create database guarded")
    rules.write_text(f"local guarded guard scram-sha-256\n{before}")
    postgres_server.sql("select pg_reload_conf()")
    yield postgres_server.address("guarded", "guard")
    rules.write_text(before)
    postgres_server.sql("select pg_reload_conf()", "drop database guarded with (force)", "drop role guard")


async def test_a_wrong_password_is_told_without_it(guarded: str, tmp_path: Path) -> None:
    async with open_postgres_storage(guarded.replace("guard@", "guard:right@")) as storage:
        await create_stream(storage, "s", "words")
    with pytest.raises(StorageError, match="does not accept this user or password") as caught:
        async with open_postgres_storage(guarded.replace("guard@", "guard:wr0ng@")):
            pass
    assert "wr0ng" not in f"{caught.value!r} {caught.value.__cause__!r}"
    secret = tmp_path / "password"
    secret.write_text("right")
    storage = await PostgresStorage.open(guarded, password=secret.read_text, patience=PATIENCE)
    await storage.close()


async def test_a_database_that_is_not_there_is_named(postgres_server: Server) -> None:
    with pytest.raises(StorageError, match=r"/nowhere does not exist on that server: create it first"):
        await PostgresStorage.open(postgres_server.address("nowhere"), patience=1)


async def test_a_schema_of_another_program_is_left_alone(postgres_server: Server) -> None:
    address = postgres_server.create_database()
    name = find_name(address)
    postgres_server.sql(
        "create schema counterpoint", "create table counterpoint.stream (n int)", database=name
    )
    with pytest.raises(StorageError, match="belongs to another program"):
        await PostgresStorage.open(address)
    assert postgres_server.sql("select count(*) from counterpoint.stream", database=name) == "0"
    postgres_server.drop_later(address)


async def test_tables_of_others_beside_ours_do_not_matter(postgres_server: Server) -> None:
    address = postgres_server.create_database()
    for table in ("stream", "journal", "migration"):
        postgres_server.sql(f"create table {table} (n int)", database=find_name(address))
    async with open_postgres_storage(address) as storage:
        await create_stream(storage, "s", "words")
    postgres_server.drop_later(address)


async def test_a_database_in_another_encoding_is_refused(postgres_server: Server) -> None:
    name = "latin"
    postgres_server.sql(f"create database {name} template template0 encoding 'SQL_ASCII' locale 'C'")
    with pytest.raises(StorageError, match="stores texts in SQL_ASCII: UTF8 is needed"):
        await PostgresStorage.open(postgres_server.address(name))
    postgres_server.drop_later(postgres_server.address(name))


async def test_what_is_read_only_can_be_read_and_says_so(
    postgres_database: str, postgres_server: Server
) -> None:
    async with open_postgres_storage(postgres_database) as storage:
        await create_stream(storage, "s", "words")
    name = find_name(postgres_database)
    postgres_server.sql(f"alter database {name} set default_transaction_read_only = on")
    async with open_postgres_storage(postgres_database) as storage:
        assert storage.is_read_only
        await storage.cache.keep("vector", [CachedBody("k", b"1")], max_bytes=10)
        assert await storage.cache.find(["k"]) == {}
        assert await find_streams(storage, "words") == ["s"]
        with pytest.raises(ReadOnlyError, match="is read-only: its debates can be read"):
            await append_entries(storage, "s", 1, {})


async def test_a_read_only_database_without_our_tables_is_refused(postgres_server: Server) -> None:
    address = postgres_server.create_database()
    postgres_server.sql(f"alter database {find_name(address)} set default_transaction_read_only = on")
    with pytest.raises(StorageError, match="has not the tables of this release"):
        await PostgresStorage.open(address)
    postgres_server.drop_later(address)


async def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(StorageError, match="cannot be used"):
        await PostgresStorage.open("postgresql://host:notaport/x", patience=0.1)


async def test_after_closing_it_says_so(postgres_database: str) -> None:
    storage = await PostgresStorage.open(postgres_database)
    leasing = asyncio.create_task(storage.leases.acquire("s", "me", seconds=9))
    await checkpoint()
    await storage.close()
    assert await leasing == "me"
    await storage.close()
    with pytest.raises(StorageError, match="was closed"):
        await storage.journal.read("s")


async def test_entries_are_not_changed_by_others_either(
    postgres_database: str, postgres_server: Server
) -> None:
    async with open_postgres_storage(postgres_database) as storage:
        entries = await append_entries(storage, "s", 0, {})
        for change in (
            "update counterpoint.journal set entry = ''",
            "delete from counterpoint.journal",
            "truncate counterpoint.journal",
        ):
            with pytest.raises(AssertionError, match="entries are written once"):
                postgres_server.sql(change, database=find_name(postgres_database))
        assert await storage.journal.read("s") == entries


def test_a_server_that_is_too_old_is_named() -> None:
    require_server("db", 150_000, "15.0", "UTF8")
    with pytest.raises(StorageError, match=r"db is PostgreSQL 14\.9: 15 or newer is needed"):
        require_server("db", 140_009, "14.9", "UTF8")


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("57014", "did not answer in time"),
        ("XX002", "is damaged, restore it from a backup"),
        ("99999", "cannot be used"),
    ],
)
def test_a_state_of_the_server_is_told_in_words(state: str, told: str) -> None:
    class DriverError(Exception):
        sqlstate = state

    assert str(translate_error(DriverError("?"), "db")).startswith(f"the database db {told}")


def test_an_error_that_nobody_knows_is_a_lost_connection() -> None:
    assert str(translate_error(RuntimeError("?"), "db")) == "the connection to the database db was lost"
