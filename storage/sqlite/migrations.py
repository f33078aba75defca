"""The schema of the SQLite file."""

from collections.abc import Sequence

from storage.migrations import SELECT_APPLIED, Migration, apply_missing, find_missing
from storage.schema import create_tables
from storage.sqlite.connections.connection import Connection
from storage.sqlite.connections.database import SqliteSession
from storage.sqlite.ledger import LEDGER_TRIGGERS
from storage.sqlite.search import CREATE_WORDS

WORDS = {
    "number": "integer primary key autoincrement",
    "counter": "integer primary key autoincrement",
    "text": "text",
    "bytes": "blob",
    "integer": "integer",
    "flag": "integer",
    "real": "real",
    "cost": "text",  # a decimal
    "small": "strict, without rowid",
    "busy": "strict",
    "keyed": "strict, without rowid",
    "large": "strict",
}

JOURNAL_TRIGGERS = (
    """
    create trigger journal_no_update before update on journal
    begin select raise(abort, 'entries are written once'); end
    """,
    """
    create trigger journal_no_delete before delete on journal
    when not exists (select 1 from removal where stream = old.stream)
    begin select raise(abort, 'entries are written once'); end
    """,
    # Nothing comes after a tombstone.
    """
    create trigger journal_no_return before insert on journal
    when new.seq = 1 and exists (select 1 from journal where stream = new.stream and seq = 0)
    begin select raise(abort, 'the stream was deleted'); end
    """,
)

INITIAL = (*create_tables(WORDS), CREATE_WORDS, *JOURNAL_TRIGGERS, *LEDGER_TRIGGERS)

MIGRATIONS: Sequence[Migration] = (Migration(1, "initial", INITIAL),)


def list_programs(migrations: Sequence[Migration]) -> list[str]:
    """The triggers that migrations create, as SQL; there are no views."""
    statements = (statement for migration in migrations for statement in migration.statements)
    return [sql for sql in statements if sql.split()[:2] == ["create", "trigger"]]


CREATE_MIGRATION_TABLE = """
create table if not exists migration (
    release integer primary key,
    name text not null,
    oldest_release integer not null,
    at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) strict
"""


async def migrate(
    writer: Connection, migrations: Sequence[Migration], name: str, *, every: bool = False
) -> list[str]:
    """Apply the missing migrations, in one transaction. `every`: those too that stop older releases.

    Returns their names. Raises StorageError.
    """
    await writer.fetch_all(CREATE_MIGRATION_TABLE)
    if not find_missing(dict(await writer.fetch_all(SELECT_APPLIED)), migrations, name, every=every):
        return []
    async with writer.transaction() as connection:
        # Another process may have applied them while this one waited for the lock.
        return await apply_missing(SqliteSession(connection), migrations, name, every=every)
