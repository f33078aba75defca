"""What is said where the user of a database may do too little."""

import pytest

from storage.errors import StorageError
from storage.postgres import PostgresStorage
from tests.support.postgres import Server

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("N14")]


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
