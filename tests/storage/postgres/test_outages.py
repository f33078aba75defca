"""A connection to PostgreSQL that is cut, and a server that is slow, stopped, away or killed."""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from storage.errors import BusyError, ConflictError, KeyTakenError, OutageError
from storage.postgres import PostgresStorage
from storage.postgres.connections.errors import LostError
from storage.postgres.connections.pool import MAX_CONNECTIONS
from storage.streams import OpeningKey, StreamSummary
from tests.contract.journal_helpers import (
    AT,
    append_entries,
    find_streams,
    keep_busy,
    open_postgres_storage,
)
from tests.support.cutting_proxy import open_proxy
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.postgres import Server

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]


@pytest.mark.parametrize("judgments", [None, ()])
async def test_an_append_whose_answer_was_lost_is_written_once(
    postgres_database: str, tmp_path: Path, judgments: tuple[()] | None
) -> None:
    heading = StreamSummary("t", "running", {}, "words", judgments=judgments)
    async with (
        open_proxy(postgres_database, tmp_path) as (address, proxy),
        open_postgres_storage(address) as storage,
        open_postgres_storage(postgres_database) as other,
    ):
        await append_entries(storage, "s", 0, {"n": 1})
        proxy.cut_at = b"COMMIT" if judgments is not None else b"counter-example"
        appended = await append_entries(storage, "s", 1, {"n": "counter-example"}, summary=heading)
        await proxy.wait_for_cut()
        assert (await other.journal.read("s"))[1:] == appended
        assert await find_streams(other, "words") == ["s"]
        await append_entries(storage, "s", 2, {"n": 3})
        assert (await other.journal.find_changes(-1))[0] == 3


async def test_an_opening_whose_answer_was_lost_is_made_once(postgres_database: str, tmp_path: Path) -> None:
    key = OpeningKey("k", since=AT)
    async with (
        open_proxy(postgres_database, tmp_path) as (address, proxy),
        open_postgres_storage(address) as storage,
    ):
        proxy.cut_at = b"COMMIT"
        await storage.journal.append("s", after=0, at=AT, actor="alice", bodies=[{}], key=key)
        await proxy.wait_for_cut()
        with pytest.raises(KeyTakenError):
            await storage.journal.append("t", after=0, at=AT, actor="alice", bodies=[{}], key=key)
        assert (await storage.journal.find_changes(-1))[0] == 1


async def test_a_conflict_whose_answer_was_lost_is_a_conflict(postgres_database: str, tmp_path: Path) -> None:
    async with (
        open_proxy(postgres_database, tmp_path) as (address, proxy),
        open_postgres_storage(address) as storage,
    ):
        await append_entries(storage, "s", 0, {})
        proxy.cut_at = b"COMMIT"
        with pytest.raises(ConflictError, match="s is at entry 1, not 5"):
            await append_entries(storage, "s", 5, {})
        await proxy.wait_for_cut()


async def test_after_an_outage_who_had_a_lease_keeps_it_for_a_moment(
    postgres_database: str, tmp_path: Path
) -> None:
    async with (
        open_proxy(postgres_database, tmp_path) as (address, proxy),
        open_postgres_storage(address) as storage,
        open_postgres_storage(postgres_database) as other,
    ):
        assert await storage.leases.acquire("d", "own", seconds=0.01) == "own"
        while await other.leases.find_holders():
            await wait_before_next_poll()
        proxy.cut_at = b"lease"
        assert await storage.leases.find_holders() == {"d": "own"}
        await proxy.wait_for_cut()
        assert await storage.leases.acquire("d", "late", seconds=1) == "own"
        assert await other.leases.renew("own", ["d"], seconds=60) == {"d"}
        assert await other.leases.find_holders() == {"d": "own"}


async def ask_until_refused(ask: Callable[[], Awaitable[object]]) -> None:
    """A connection that is just free may be had at once."""
    async with asyncio.timeout(4 * PATIENCE):
        while True:
            await ask()


async def test_a_server_that_is_busy_is_not_taken_for_one_that_is_away(
    postgres_database: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_postgres_storage(postgres_database, patience=1) as storage:
        await storage.leases.acquire("d", "gone", seconds=0.01)
        while await storage.leases.find_holders():
            await wait_before_next_poll()
        async with keep_busy(storage):
            for ask in (
                storage.leases.find_holders,
                lambda: storage.probe(1),
                lambda: storage.leases.release("e", "me"),
            ):
                with pytest.raises(BusyError, match="is busy: it answers, but not to all in time"):
                    await ask_until_refused(ask)
        assert await storage.leases.find_holders() == {}
        assert await storage.leases.acquire("d", "next", seconds=9) == "next"
    assert len([record for record in caplog.records if record.name.startswith("storage")]) == 1


async def test_a_statement_that_takes_long_does_not_mean_that_the_server_is_away(
    postgres_database: str,
) -> None:
    async with open_postgres_storage(postgres_database) as storage:
        await storage.leases.acquire("d", "gone", seconds=0.01)
        reading, writing = (
            asyncio.create_task(run("select pg_sleep(50)", wait=1))
            for run in (storage.database.fetch, storage.database.write_once)
        )
        while not (reading.done() and writing.done()):
            await storage.leases.find_holders()
            await wait_before_next_poll()
        with pytest.raises(BusyError):
            await reading
        with pytest.raises(LostError, match="did not answer in time"):
            await writing
        assert await storage.leases.find_holders() == {}


async def test_without_a_way_every_call_ends_and_the_log_has_one_line(
    postgres_database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = OpeningKey("k", since=AT)
    async with (
        open_proxy(postgres_database, tmp_path) as (address, proxy),
        open_postgres_storage(address, patience=0.3) as storage,
    ):
        await append_entries(storage, "s", 0, {})
        proxy.close()
        for _ in range(2):
            for attempt in (
                append_entries(storage, "s", 1, {}),
                storage.journal.append("t", after=0, at=AT, actor="alice", bodies=[{}], key=key),
                storage.journal.read("s"),
            ):
                with pytest.raises(LostError):
                    await attempt
    assert len([record for record in caplog.records if record.name.startswith("storage")]) == 1
    async with open_postgres_storage(postgres_database) as storage:
        assert await storage.journal.list_streams() == ["s"]


async def test_a_statement_that_takes_too_long_is_given_up(postgres_database: str) -> None:
    async with open_postgres_storage(postgres_database) as storage:
        with pytest.raises(LostError, match="did not answer in time"):
            await storage.database.write_once("select pg_sleep(50)", wait=0.1)
        await append_entries(storage, "s", 0, {})


async def test_an_append_that_did_not_arrive_is_repeated(
    postgres_database: str, postgres_server: Server
) -> None:
    async with open_postgres_storage(postgres_database) as storage:
        await append_entries(storage, "s", 0, {})
        for number in range(1, 6):
            postgres_server.cut_connections(postgres_database)
            await append_entries(storage, "s", number, {"n": number})
            postgres_server.cut_connections(postgres_database)
            assert len(await storage.journal.read("s")) == number + 1


async def test_a_server_that_is_stopped_for_a_while_is_waited_for(
    postgres_database: str, postgres_server: Server
) -> None:
    async with open_postgres_storage(postgres_database) as storage:
        await append_entries(storage, "s", 0, {})
        postgres_server.signal(signal.SIGSTOP)
        try:
            working = asyncio.gather(
                append_entries(storage, "s", 1, {}), storage.leases.acquire("s", "me", seconds=9)
            )
            done, _ = await asyncio.wait([working], timeout=0.5)
            assert not done
        finally:
            postgres_server.signal(signal.SIGCONT)
        await working
        assert len(await storage.journal.read("s")) == 2


async def test_who_is_cancelled_waits_for_no_answer_and_leaves_no_connection_behind(
    postgres_database: str, postgres_server: Server
) -> None:
    async with open_postgres_storage(postgres_database, patience=60) as storage:
        await asyncio.gather(*(storage.journal.head("s") for _ in range(MAX_CONNECTIONS)))
        postgres_server.signal(signal.SIGSTOP)
        try:
            reading = [asyncio.create_task(storage.journal.head("s")) for _ in range(MAX_CONNECTIONS + 1)]
            await asyncio.wait(reading, timeout=0.1)
            for one in reading:
                one.cancel()
            done, waiting = await asyncio.wait(reading, timeout=PATIENCE)
            assert (len(done), len(waiting)) == (MAX_CONNECTIONS + 1, 0)
            with pytest.raises(OutageError):
                await storage.probe(0.1)
        finally:
            postgres_server.signal(signal.SIGCONT)
        await storage.probe(PATIENCE)


SLEEP = "select set_config('client_connection_check_interval', '0', false), pg_sleep(600)"
"""The server does not find out by itself that nobody waits for it any more."""


async def find_sleeping(storage: PostgresStorage) -> list[str]:
    """The statements that are being executed: an `active` one may be parsed still, and is not cancelled then."""
    sleeping = "select query from pg_stat_activity where wait_event = 'PgSleep' and query like $1"
    return [query for (query,) in await storage.database.fetch(sleeping, f"{SLEEP}%")]


async def test_what_nobody_waits_for_ends_on_the_server_and_takes_no_further_connections(
    postgres_database: str,
) -> None:
    async with (
        open_postgres_storage(postgres_database) as storage,
        open_postgres_storage(postgres_database) as other,
    ):
        async with asyncio.timeout(PATIENCE):
            for number in range(2 * MAX_CONNECTIONS):
                reading = asyncio.create_task(storage.database.fetch(f"{SLEEP}, {number}"))
                while f"{SLEEP}, {number}" not in (running := await find_sleeping(other)):
                    await wait_before_next_poll()
                assert len(running) <= MAX_CONNECTIONS
                reading.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await reading
            while await find_sleeping(other):
                await wait_before_next_poll()
        await append_entries(storage, "s", 0, {})


async def test_nobody_waits_longer_than_the_patience(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(LostError, match="postgresql://me@/db cannot be reached"):
        async with open_postgres_storage(f"postgresql://me:secret@/db?host={tmp_path}", patience=0.1):
            pass
    assert "secret" not in caplog.text


async def test_a_suspended_process_in_a_transaction_holds_up_others_for_seconds_only(
    postgres_database: str,
) -> None:
    async with open_postgres_storage(postgres_database) as storage:
        [(setting,)] = await storage.database.fetch("show idle_in_transaction_session_timeout")
    assert setting == "5s"


@pytest.mark.full
async def test_what_was_committed_outlives_a_crash_and_what_waits_is_written_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    try:
        server.start()
        with caplog.at_level(logging.INFO, "storage"):
            async with open_postgres_storage(server.create_database(), patience=30) as storage:
                before = await append_entries(storage, "s", 0, {"n": 1})
                server.kill()
                waiting = asyncio.create_task(append_entries(storage, "s", 1, {"n": 2}))
                with pytest.raises(LostError):
                    await storage.database.fetch("select 1", wait=0.2)
                server.start()
                async with asyncio.timeout(30):
                    after = await waiting
                assert await storage.journal.read("s") == before + after
        assert "cannot be" in caplog.text
        assert "can be used again" in caplog.text
    finally:
        server.stop()
