"""Setting up a database as docs/postgresql.md says, and what is said where its user may do too little."""

import re

import pytest

from storage.errors import StorageError
from storage.postgres import PostgresStorage
from tests.support.paths import ROOT
from tests.support.postgres import Server

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("N14")]

BLOCK = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


async def test_the_block_of_the_page_makes_what_a_server_needs(postgres_server: Server) -> None:
    [block] = BLOCK.findall((ROOT / "docs/postgresql.md").read_text("utf-8"))
    statements = [one.strip() for one in block.split(";") if one.strip()]
    postgres_server.sql(*statements)
    try:
        storage = await PostgresStorage.open(postgres_server.address("counterpoint", "counterpoint"))
        await storage.probe(5)
        await storage.close()
    finally:
        postgres_server.sql("drop database counterpoint with (force)", "drop role counterpoint")


async def test_a_user_who_may_not_make_the_tables_is_told_what_is_missing(postgres_server: Server) -> None:
    address = postgres_server.create_database()
    name = address.partition("?")[0].rpartition("/")[2]
    postgres_server.sql("create role poor login")
    try:
        with pytest.raises(StorageError, match=r"is empty.*alter database … owner to …"):
            await PostgresStorage.open(postgres_server.address(name, "poor"))
        await (await PostgresStorage.open(address)).close()
        postgres_server.sql(
            "grant usage on schema counterpoint to poor",
            "grant select on counterpoint.migration to poor",
            "delete from counterpoint.migration",
            database=name,
        )
        with pytest.raises(StorageError, match="does not allow this to its user"):
            await PostgresStorage.open(postgres_server.address(name, "poor"))
    finally:
        postgres_server.sql(f"drop database {name} with (force)", "drop role poor")
