"""The schema of the SQLite file."""

from collections.abc import Sequence

from storage.migrations import Migration, find_missing
from storage.sqlite.cache import CREATE_CACHE
from storage.sqlite.connections.connection import Connection
from storage.sqlite.deletion import REFUSE_RETURN
from storage.sqlite.ledger import CREATE_LEDGER
from storage.sqlite.tokens import CREATE_TOKENS

MIGRATIONS: Sequence[Migration] = (
    Migration(
        1,
        "initial",
        (
            # One row a stream, updated by each append. `seq` and `head` reveal a removed last entry.
            """
        create table stream (
            number integer primary key autoincrement,
            name text not null unique,
            seq integer not null,
            head blob not null,
            status text not null,
            title text not null,
            opened_at text not null,
            changed_at text not null,
            details text not null,
            seal text not null default '',
            owner text not null default 'local',
            family text not null default '',
            parent text not null default ''
        ) strict
        """,
            "create index stream_by_status on stream (status, number)",
            "create index stream_by_owner on stream (owner, number)",
            "create index stream_by_owner_and_status on stream (owner, status, number)",
            "create index stream_by_owner_and_name on stream (owner, name)",
            "create index stream_by_family on stream (family, owner, number) where family <> ''",
            # `entry` holds the bytes that were hashed. `restored`: it was written by `Journal.restore`.
            """
        create table journal (
            position integer primary key autoincrement,
            stream text not null,
            seq integer not null,
            entry text not null,
            hash blob not null,
            restored integer not null,
            unique (stream, seq)
        ) strict
        """,
            # The streams that are being removed, for the transaction that removes them.
            "create table removal (stream text primary key) strict",
            """
        create trigger journal_no_update before update on journal
        begin select raise(abort, 'entries are written once'); end
        """,
            """
        create trigger journal_no_delete before delete on journal
        when not exists (select 1 from removal where stream = old.stream)
        begin select raise(abort, 'entries are written once'); end
        """,
            # The words of each stream, without their texts. The rowid is the stream's number, and inserting it again
            # adds words: with `detail = none` the index is a set of (word, rowid). The prefix indexes make
            # search-as-you-type fast.
            """
        create virtual table words using fts5 (
            text, content = '', columnsize = 0, detail = none,
            tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'", prefix = '1 2 3'
        )
        """,
            # What each stream spent on a day (UTC), what all did, and what those of each owner did; costs are decimals.
            # Streams are removed, and what they spent is not.
            """
        create table spending (
            day text not null,
            stream text not null,
            calls integer not null,
            cost text not null,
            owner text not null default 'local',
            primary key (stream, day)
        ) strict, without rowid
        """,
            """
        create table daily_spending (
            day text primary key,
            calls integer not null,
            cost text not null
        ) strict, without rowid
        """,
            """
        create table owner_spending (
            day text not null,
            owner text not null,
            calls integer not null,
            cost text not null,
            primary key (day, owner)
        ) strict, without rowid
        """,
            # `requests`, `cost`: what the holder may still spend on requests that are on their way.
            """
        create table lease (
            stream text primary key,
            holder text not null,
            until real not null,
            requests integer not null default 0,
            cost text not null default '0'
        ) strict
        """,
            "create table opening (key text primary key, stream text not null, at text not null) strict",
            "create index opening_by_time on opening (at)",
            """
        create table reader (
            name text primary key,
            since integer not null,
            position integer not null
        ) strict
        """,
            """
        create table outbox (
            number integer primary key autoincrement,
            id text not null unique,
            reader text not null,
            queue integer not null,
            stream text not null,
            seq integer not null,
            position integer not null,
            event text not null,
            due real not null,
            attempts integer not null
        ) strict
        """,
            "create index outbox_by_queue on outbox (reader, queue, number)",
            # `name`: what the text is: the receipt of a debate, the end of a wait for it.
            """
        create table kept_text (
            stream text not null,
            name text not null,
            text text not null,
            primary key (stream, name)
        ) strict, without rowid
        """,
            *REFUSE_RETURN,
            *CREATE_LEDGER,
            *CREATE_CACHE,
            *CREATE_TOKENS,
        ),
    ),
)


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

SELECT_APPLIED = "select release, oldest_release from migration"


async def migrate(
    db: Connection, migrations: Sequence[Migration], name: str, *, every: bool = False
) -> list[str]:
    """Apply the missing migrations, in one transaction. `every`: those too that stop older releases.

    Returns their names. Raises StorageError.
    """
    await db.fetch_all(CREATE_MIGRATION_TABLE)
    if not find_missing(dict(await db.fetch_all(SELECT_APPLIED)), migrations, name, every=every):
        return []
    async with db.transaction() as transaction:
        # Another process may have applied them while this one waited for the lock.
        applied = map(tuple, await transaction.execute_fetchall(SELECT_APPLIED))
        missing = find_missing(dict(applied), migrations, name, every=every)
        for migration in missing:
            for statement in migration.statements:
                await transaction.execute_fetchall(statement)
            record = "insert into migration (release, name, oldest_release) values (?, ?, ?)"
            values = [migration.release, migration.name, migration.oldest_release]
            await transaction.execute_fetchall(record, values)
    return [migration.name for migration in missing]
