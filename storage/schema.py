"""The tables, for both kinds of database. What is in braces is said by each in its own words.

`number`: a position that grows; `counter`: likewise, and the database counts. At the end of a table, `small`: few rows
change often; `busy`: many do; `keyed`: rows are found by their key alone; `large`: none of these.
"""

from collections.abc import Mapping

from storage.cache import CACHE_TABLES
from storage.ledger import LEDGER_TABLES
from storage.outbox import OUTBOX_TABLES
from storage.rates import RATE_TABLES
from storage.tokens import TOKEN_TABLES

STREAM_TABLES = (
    # One row a stream, updated by each append. `seq` and `head` reveal a removed last entry.
    """
    create table stream (
        number {counter},
        name {text} not null unique,
        seq {integer} not null,
        head {bytes} not null,
        status {text} not null,
        title {text} not null,
        opened_at {text} not null,
        changed_at {text} not null,
        details {text} not null,
        seal {text} not null default '',
        owner {text} not null default 'local',
        family {text} not null default '',
        parent {text} not null default ''
    ) {busy}
    """,
    "create index stream_by_status on stream (status, number)",
    "create index stream_by_owner on stream (owner, number)",
    "create index stream_by_owner_and_status on stream (owner, status, number)",
    "create index stream_by_owner_and_name on stream (owner, name)",
    "create index stream_by_family on stream (family, owner, number) where family <> ''",
    # `entry` holds the bytes that were hashed. `restored`: it was written by `Journal.restore`.
    """
    create table journal (
        position {number},
        stream {text} not null,
        seq {integer} not null,
        entry {text} not null,
        hash {bytes} not null,
        restored {flag} not null,
        unique (stream, seq)
    ) {large}
    """,
    # The streams that are being removed, for the transaction that removes them.
    "create table removal (stream {text} primary key) {large}",
    # What each stream spent on a day (UTC), what all did, and what those of each owner did. Streams are removed, and
    # what they spent is not.
    """
    create table spending (
        day {text} not null,
        stream {text} not null,
        calls {integer} not null,
        cost {cost} not null,
        owner {text} not null default 'local',
        primary key (stream, day)
    ) {keyed}
    """,
    "create table daily_spending (day {text} primary key, calls {integer} not null, cost {cost} not null) {small}",
    """
    create table owner_spending (
        day {text} not null,
        owner {text} not null,
        calls {integer} not null,
        cost {cost} not null,
        primary key (day, owner)
    ) {small}
    """,
    # `requests`, `cost`: what the holder may still spend on requests that are on their way.
    """
    create table lease (
        stream {text} primary key,
        holder {text} not null,
        until {real} not null,
        requests {integer} not null default 0,
        cost {cost} not null default '0'
    ) {small}
    """,
    "create table opening (key {text} primary key, stream {text} not null, at {text} not null) {large}",
    "create index opening_by_time on opening (at)",
    """
    create table kept_text (
        stream {text} not null,
        name {text} not null,
        text {text} not null,
        primary key (stream, name)
    ) {keyed}
    """,
)

TABLES = (*STREAM_TABLES, *OUTBOX_TABLES, *LEDGER_TABLES, *CACHE_TABLES, *TOKEN_TABLES, *RATE_TABLES)


def create_tables(words: Mapping[str, str]) -> list[str]:
    """The statements for a new database. `words`: what stands for each word in braces."""
    return [sql.format(**words) for sql in TABLES]
