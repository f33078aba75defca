"""What a process hears of the writes of others through PostgreSQL."""

import asyncio

import pytest

from storage.postgres import PostgresJournal
from tests.contract.journal_helpers import (
    append_entries,
    open_postgres_journal,
)
from tests.contract.journal_restore import SUMMARY, build_entries
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.postgres import Server

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]


async def test_what_another_process_writes_is_heard_at_once_and_what_this_one_writes_is_not(
    postgres_database: str,
) -> None:
    heard: list[str] = []
    async with (
        open_postgres_journal(postgres_database) as one,
        open_postgres_journal(postgres_database) as two,
    ):
        with one.watch_changes(heard.extend), two.watch_changes(lambda _: None):
            await write_until_heard(two, heard)
            await append_entries(one, "mine", 0, {})
            await append_entries(two, "begun", 0, {})
            await two.restore("restored", build_entries({"n": 1}, stream="restored"), SUMMARY)
            await wait_for(heard, "begun", "restored")
        assert "mine" not in heard


async def test_who_watches_one_stream_hears_nothing_of_others(postgres_database: str) -> None:
    every, own = list[str](), list[str]()
    async with (
        open_postgres_journal(postgres_database) as one,
        open_postgres_journal(postgres_database) as two,
    ):
        with one.watch_changes(every.extend), one.watch_changes(own.extend, "own"):
            await write_until_heard(two, every)
            assert own == []
            await append_entries(two, "own", 0, {})
            await wait_for(own, "own")


async def test_it_is_heard_again_after_the_way_was_cut(
    postgres_database: str, postgres_server: Server
) -> None:
    heard: list[str] = []
    async with (
        open_postgres_journal(postgres_database) as one,
        open_postgres_journal(postgres_database) as two,
    ):
        with one.watch_changes(heard.extend):
            await write_until_heard(two, heard)
            postgres_server.cut_connections(postgres_database)
            heard.clear()
            await write_until_heard(two, heard)


async def test_many_names_are_told_without_them(postgres_database: str) -> None:
    calls: list[list[str]] = []
    async with (
        open_postgres_journal(postgres_database) as one,
        open_postgres_journal(postgres_database) as two,
    ):
        with one.watch_changes(lambda names: calls.append(list(names))):
            heard: list[str] = []
            with one.watch_changes(heard.extend):
                await write_until_heard(two, heard)
            calls.clear()
            names = [f"{number}{'x' * 500}" for number in range(20)]
            await asyncio.gather(*(append_entries(two, name, 0, {}) for name in names))
            async with asyncio.timeout(PATIENCE):
                while [] not in calls:
                    await wait_before_next_poll()


async def write_until_heard(journal: PostgresJournal, heard: list[str]) -> None:
    """Until the other one listens: it begins to in the background."""
    async with asyncio.timeout(2 * PATIENCE):
        while "news" not in heard:
            seq, *_ = await journal.head("news")
            await append_entries(journal, "news", seq, {})
            await wait_before_next_poll()


async def wait_for(heard: list[str], *names: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while not {*names} <= {*heard}:
            await wait_before_next_poll()
