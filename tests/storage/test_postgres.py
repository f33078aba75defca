"""What PostgreSQL alone can do to a journal: cut ways, outages, other programs, other releases."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from anyio.lowlevel import checkpoint

from storage.journal import ConflictError, KeyTakenError, OpeningKey, StorageError, StreamSummary
from storage.postgres import PostgresJournal, upgrade
from storage.postgres.errors import LostError, ReadOnlyError
from storage.postgres.migrations import MIGRATIONS, Migration, require_server
from storage.postgres.pool import Session
from tests.contract.journal_helpers import AT, TIMEOUT, append_entries, create_stream, find_streams
from tests.contract.journal_restore import SUMMARY, build_entries
from tests.support.cutting_proxy import open_proxy
from tests.support.polling import wait_before_next_poll
from tests.support.postgres import Server
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]


@asynccontextmanager
async def opened(address: str, patience: float = TIMEOUT) -> AsyncIterator[PostgresJournal]:
    journal = await PostgresJournal.open(address, patience=patience)
    try:
        yield journal
    finally:
        await journal.close()


CUT = "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{}'"


def find_database(address: str) -> str:
    return urlsplit(address).path[1:]


class TestCut:
    @pytest.mark.parametrize("judgments", [None, ()])
    async def test_an_append_whose_answer_was_lost_is_written_once(
        self, postgres_database: str, tmp_path: Path, judgments: tuple[()] | None
    ) -> None:
        heading = StreamSummary("t", "running", {}, "words", judgments=judgments)
        async with (
            open_proxy(postgres_database, tmp_path) as (address, proxy),
            opened(address) as journal,
            opened(postgres_database) as other,
        ):
            await append_entries(journal, "s", 0, {"n": 1})
            proxy.cut_at = b"COMMIT" if judgments is not None else b"counter-example"
            appended = await append_entries(journal, "s", 1, {"n": "counter-example"}, summary=heading)
            await proxy.wait_for_cut()
            assert (await other.read("s"))[1:] == appended
            assert await find_streams(other, "words") == ["s"]
            await append_entries(journal, "s", 2, {"n": 3})
            assert (await other.find_changes(-1))[0] == 3

    async def test_an_opening_whose_answer_was_lost_is_made_once(
        self, postgres_database: str, tmp_path: Path
    ) -> None:
        key = OpeningKey("k", since=AT)
        async with open_proxy(postgres_database, tmp_path) as (address, proxy), opened(address) as journal:
            proxy.cut_at = b"COMMIT"
            await journal.append("s", after=0, at=AT, actor="alice", bodies=[{}], key=key)
            await proxy.wait_for_cut()
            with pytest.raises(KeyTakenError):
                await journal.append("t", after=0, at=AT, actor="alice", bodies=[{}], key=key)
            assert (await journal.find_changes(-1))[0] == 1

    async def test_a_conflict_whose_answer_was_lost_is_a_conflict(
        self, postgres_database: str, tmp_path: Path
    ) -> None:
        async with open_proxy(postgres_database, tmp_path) as (address, proxy), opened(address) as journal:
            await append_entries(journal, "s", 0, {})
            proxy.cut_at = b"COMMIT"
            with pytest.raises(ConflictError, match="s is at entry 1, not 5"):
                await append_entries(journal, "s", 5, {})
            await proxy.wait_for_cut()

    async def test_without_a_way_every_call_ends_and_the_log_has_one_line(
        self, postgres_database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        key = OpeningKey("k", since=AT)
        async with (
            open_proxy(postgres_database, tmp_path) as (address, proxy),
            opened(address, patience=0.3) as journal,
        ):
            await append_entries(journal, "s", 0, {})
            proxy.close()
            for _ in range(2):
                for attempt in (
                    append_entries(journal, "s", 1, {}),
                    journal.append("t", after=0, at=AT, actor="alice", bodies=[{}], key=key),
                    journal.read("s"),
                ):
                    with pytest.raises(LostError):
                        await attempt
            with pytest.raises(LostError):
                async with journal._db.connect():
                    pass
        assert len([record for record in caplog.records if record.name.startswith("storage")]) == 1
        async with opened(postgres_database) as journal:
            assert await journal.find_all_streams() == ["s"]

    async def test_a_statement_that_takes_too_long_is_given_up(self, postgres_database: str) -> None:
        async with opened(postgres_database) as journal:
            with pytest.raises(LostError, match="did not answer in time"):
                await journal._db.write_once("select pg_sleep(60)", wait=0.1)
            await append_entries(journal, "s", 0, {})

    async def test_an_append_that_did_not_arrive_is_repeated(
        self, postgres_database: str, postgres_server: Server
    ) -> None:
        async with opened(postgres_database) as journal:
            await append_entries(journal, "s", 0, {})
            for number in range(1, 6):
                postgres_server.sql(CUT.format(find_database(postgres_database)))
                await append_entries(journal, "s", number, {"n": number})
                postgres_server.sql(CUT.format(find_database(postgres_database)))
                assert len(await journal.read("s")) == number + 1

    async def test_a_server_that_is_stopped_for_a_while_is_waited_for(
        self, postgres_database: str, postgres_server: Server
    ) -> None:
        async with opened(postgres_database) as journal:
            await append_entries(journal, "s", 0, {})
            postgres_server.signal(signal.SIGSTOP)
            try:
                working = asyncio.gather(
                    append_entries(journal, "s", 1, {}), journal.acquire_lease("s", "me", seconds=9)
                )
                done, _ = await asyncio.wait([working], timeout=0.5)
                assert not done
            finally:
                postgres_server.signal(signal.SIGCONT)
            await working
            assert len(await journal.read("s")) == 2

    async def test_nobody_waits_longer_than_the_patience(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with pytest.raises(LostError, match="postgresql://me@/db cannot be reached"):
            async with opened(f"postgresql://me:secret@/db?host={tmp_path}", patience=0.1):
                pass
        assert "secret" not in caplog.text

    async def test_a_suspended_process_in_a_transaction_holds_up_others_for_seconds_only(
        self, postgres_database: str
    ) -> None:
        async with opened(postgres_database) as journal:
            [(setting,)] = await journal._db.fetch("show idle_in_transaction_session_timeout")
        assert setting == "5s"


class TestOthers:
    async def test_of_two_processes_that_begin_the_same_stream_one_does(self, postgres_database: str) -> None:
        async with opened(postgres_database) as one, opened(postgres_database) as two:
            for number in range(20):
                outcomes = await asyncio.gather(
                    *(
                        append_entries(journal, f"s{number}", 0, {"by": index})
                        for index, journal in enumerate((one, two))
                    ),
                    return_exceptions=True,
                )
                assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ConflictError", "list"]
            assert (await one.find_changes(-1))[0] == 20

    @pytest.mark.parametrize(
        "statement",
        [
            "insert into stream values (7, 's', 1, '', '', '', '', '', '{}', '')",
            "insert into lease values ('s', 'other', 9e9)",
        ],
    )
    async def test_what_another_is_just_writing_is_waited_for(
        self, postgres_database: str, statement: str
    ) -> None:
        written, may_commit = asyncio.Event(), asyncio.Event()
        key = OpeningKey("k", since=AT)
        async with opened(postgres_database) as one, opened(postgres_database) as two:

            async def hold(session: Session) -> None:
                await session.fetch(statement)
                written.set()
                await may_commit.wait()

            holding = asyncio.create_task(one._db.transact(hold))
            await written.wait()
            working = asyncio.gather(
                two.append("s", after=0, at=AT, actor="me", bodies=[{}], key=key)
                if "stream" in statement
                else two.acquire_lease("s", "me", seconds=10**9),
                return_exceptions=True,
            )
            waits = "select count(*) from pg_locks where not granted"
            async with asyncio.timeout(TIMEOUT):
                while (await one._db.fetch(waits))[0] == (0,):
                    await wait_before_next_poll()
            may_commit.set()
            await holding
            [outcome] = await working
        assert outcome == "other" or isinstance(outcome, ConflictError)

    async def test_batches_that_overlap_in_another_order_all_end(self, postgres_database: str) -> None:
        async with opened(postgres_database) as one, opened(postgres_database) as two:
            names = [f"s{number}" for number in range(8)]
            await asyncio.gather(*(append_entries(one, name, 0, {}) for name in names))

            async def write(journal: PostgresJournal, name: str) -> None:
                for _ in range(3):
                    while True:
                        seq, _ = await journal.head(name)
                        try:
                            await append_entries(journal, name, seq, {})
                            break
                        except ConflictError:
                            continue

            async with asyncio.timeout(4 * TIMEOUT):
                await asyncio.gather(
                    *(write(one, name) for name in names), *(write(two, name) for name in reversed(names))
                )
            assert [(await two.head(name))[0] for name in names] == [7] * 8
            assert (await one.find_changes(-1))[0] == 7 * 8

    async def test_a_clock_that_is_wrong_takes_no_lease(self, postgres_database: str) -> None:
        async with opened(postgres_database) as one, opened(postgres_database) as two:
            assert await one.acquire_lease("s", "one", seconds=3) == "one"
            assert await two.acquire_lease("s", "two", seconds=3) == "one"
            assert await two.active_leases() == {"s": "one"}
            run_raw(postgres_database, "update lease set until = 0")
            assert await two.active_leases() == {}
            assert await two.acquire_lease("s", "two", seconds=3) == "two"
            assert await one.renew_leases("one", ["s"], seconds=3) == set()


class TestFeed:
    async def test_what_another_process_writes_is_heard_at_once_and_what_this_one_writes_is_not(
        self, postgres_database: str
    ) -> None:
        heard: list[str] = []
        async with opened(postgres_database) as one, opened(postgres_database) as two:
            with one.watch_changes(heard.extend), two.watch_changes(lambda _: None):
                await self.write_until_heard(two, heard)
                await append_entries(one, "mine", 0, {})
                await append_entries(two, "begun", 0, {})
                await two.restore("restored", build_entries({"n": 1}, stream="restored"), SUMMARY)
                await self.wait_for(heard, "begun", "restored")
            assert "mine" not in heard

    async def test_who_watches_one_stream_hears_nothing_of_others(self, postgres_database: str) -> None:
        every, own = list[str](), list[str]()
        async with opened(postgres_database) as one, opened(postgres_database) as two:
            with one.watch_changes(every.extend), one.watch_changes(own.extend, "own"):
                await self.write_until_heard(two, every)
                assert own == []
                await append_entries(two, "own", 0, {})
                await self.wait_for(own, "own")

    async def test_it_is_heard_again_after_the_way_was_cut(
        self, postgres_database: str, postgres_server: Server
    ) -> None:
        heard: list[str] = []
        async with opened(postgres_database) as one, opened(postgres_database) as two:
            with one.watch_changes(heard.extend):
                await self.write_until_heard(two, heard)
                postgres_server.sql(CUT.format(find_database(postgres_database)))
                heard.clear()
                await self.write_until_heard(two, heard)

    async def test_many_names_are_told_without_them(self, postgres_database: str) -> None:
        calls: list[list[str]] = []
        async with opened(postgres_database) as one, opened(postgres_database) as two:
            with one.watch_changes(lambda names: calls.append(list(names))):
                heard: list[str] = []
                with one.watch_changes(heard.extend):
                    await self.write_until_heard(two, heard)
                calls.clear()
                names = [f"{number}{'x' * 500}" for number in range(20)]
                await asyncio.gather(*(append_entries(two, name, 0, {}) for name in names))
                async with asyncio.timeout(TIMEOUT):
                    while [] not in calls:
                        await wait_before_next_poll()

    @staticmethod
    async def write_until_heard(journal: PostgresJournal, heard: list[str]) -> None:
        """Until the other one listens: it begins to in the background."""
        async with asyncio.timeout(2 * TIMEOUT):
            while "news" not in heard:
                seq, _ = await journal.head("news")
                await append_entries(journal, "news", seq, {})
                await wait_before_next_poll()

    @staticmethod
    async def wait_for(heard: list[str], *names: str) -> None:
        async with asyncio.timeout(TIMEOUT):
            while not {*names} <= {*heard}:
                await wait_before_next_poll()


class TestTexts:
    async def test_texts_that_postgresql_cannot_hold_come_back(self, postgres_database: str) -> None:
        title = "a\0b\ue001c\ue0010"
        heading = StreamSummary(title, "sta\0tus", {"\0": "\0\ue001"}, "nul\0words")
        async with opened(postgres_database) as journal:
            entries = await append_entries(journal, "s\0", 0, {"text": f"{title}\0"}, summary=heading)
            assert await journal.read("s\0") == entries
            [row] = await journal.find("words")
            assert (row.stream, row.title, row.status, row.details) == (
                "s\0",
                title,
                "sta\0tus",
                {"\0": "\0\ue001"},
            )
            assert await journal.keep_text("s\0", "re\0ceipt", "\0") == "\0"
            assert await journal.read_texts("s\0") == {"re\0ceipt": "\0"}
            assert await journal.find("\ud800 \0") == []

    async def test_an_entry_of_megabytes_and_words_without_end_are_stored(
        self, postgres_database: str
    ) -> None:
        long = "x" * 20_000
        words = " ".join(f"w{number}" for number in range(20_000))
        async with opened(postgres_database, patience=30) as journal:
            body = {"text": "\ue001long " * 3_000_000}
            entries = await append_entries(
                journal, "s", 0, body, summary=StreamSummary("t", "r", {}, f"{words} {long}")
            )
            assert await journal.read("s") == entries
            for query in ("w19999 w7", long, long[:700], "xxx"):
                assert await find_streams(journal, query) == ["s"]


class TestRefusing:
    async def test_a_wrong_password_is_told_without_it(self, guarded: str, tmp_path: Path) -> None:
        async with opened(guarded.replace("guard@", "guard:right@")) as journal:
            await create_stream(journal, "s", "words")
        with pytest.raises(StorageError, match="does not accept this user or password") as caught:
            async with opened(guarded.replace("guard@", "guard:wr0ng@")):
                pass
        assert "wr0ng" not in f"{caught.value!r} {caught.value.__cause__!r}"
        secret = tmp_path / "password"
        secret.write_text("right")
        journal = await PostgresJournal.open(guarded, password=secret.read_text, patience=TIMEOUT)
        await journal.close()

    async def test_a_database_that_is_not_there_is_named(self, postgres_server: Server) -> None:
        with pytest.raises(StorageError, match=r"/nowhere does not exist on that server: create it first"):
            await PostgresJournal.open(postgres_server.address("nowhere"), patience=1)

    async def test_a_schema_of_another_program_is_left_alone(self, postgres_server: Server) -> None:
        address = postgres_server.create_database()
        name = find_database(address)
        postgres_server.sql(
            "create schema counterpoint", "create table counterpoint.stream (n int)", database=name
        )
        with pytest.raises(StorageError, match="belongs to another program"):
            await PostgresJournal.open(address)
        assert postgres_server.sql("select count(*) from counterpoint.stream", database=name) == "0"
        postgres_server.drop_later(address)

    async def test_tables_of_others_beside_ours_do_not_matter(self, postgres_server: Server) -> None:
        address = postgres_server.create_database()
        for table in ("stream", "journal", "migration"):
            postgres_server.sql(f"create table {table} (n int)", database=find_database(address))
        async with opened(address) as journal:
            await create_stream(journal, "s", "words")
        postgres_server.drop_later(address)

    async def test_a_database_in_another_encoding_is_refused(self, postgres_server: Server) -> None:
        name = "latin"
        postgres_server.sql(f"create database {name} template template0 encoding 'SQL_ASCII' locale 'C'")
        with pytest.raises(StorageError, match="stores texts in SQL_ASCII: UTF8 is needed"):
            await PostgresJournal.open(postgres_server.address(name))
        postgres_server.drop_later(postgres_server.address(name))

    async def test_what_is_read_only_can_be_read_and_says_so(
        self, postgres_database: str, postgres_server: Server
    ) -> None:
        async with opened(postgres_database) as journal:
            await create_stream(journal, "s", "words")
        name = find_database(postgres_database)
        postgres_server.sql(f"alter database {name} set default_transaction_read_only = on")
        async with opened(postgres_database) as journal:
            assert journal.is_read_only
            assert await find_streams(journal, "words") == ["s"]
            with pytest.raises(ReadOnlyError, match="is read-only: its debates can be read"):
                await append_entries(journal, "s", 1, {})

    async def test_a_read_only_database_without_our_tables_is_refused(self, postgres_server: Server) -> None:
        address = postgres_server.create_database()
        postgres_server.sql(f"alter database {find_database(address)} set default_transaction_read_only = on")
        with pytest.raises(StorageError, match="has not the tables of this release"):
            await PostgresJournal.open(address)
        postgres_server.drop_later(address)

    async def test_an_address_that_is_none_is_told(self) -> None:
        with pytest.raises(StorageError, match="cannot be used"):
            await PostgresJournal.open("postgresql://host:notaport/x", patience=0.1)

    async def test_after_closing_it_says_so(self, postgres_database: str) -> None:
        journal = await PostgresJournal.open(postgres_database)
        leasing = asyncio.create_task(journal.acquire_lease("s", "me", seconds=9))
        await checkpoint()
        await journal.close()
        assert await leasing == "me"
        await journal.close()
        with pytest.raises(StorageError, match="was closed"):
            await journal.read("s")

    async def test_entries_are_not_changed_by_others_either(
        self, postgres_database: str, postgres_server: Server
    ) -> None:
        async with opened(postgres_database) as journal:
            entries = await append_entries(journal, "s", 0, {})
            for change in (
                "update counterpoint.journal set entry = ''",
                "delete from counterpoint.journal",
                "truncate counterpoint.journal",
            ):
                with pytest.raises(AssertionError, match="entries are written once"):
                    postgres_server.sql(change, database=find_database(postgres_database))
            assert await journal.read("s") == entries


def test_a_server_that_is_too_old_is_named() -> None:
    require_server("db", 150_000, "15.0", "UTF8")
    with pytest.raises(StorageError, match=r"db is PostgreSQL 14\.9: 15 or newer is needed"):
        require_server("db", 140_009, "14.9", "UTF8")


ADDING = Migration(2, "adding", "create table added (n bigint)")
ENDING = Migration(3, "ending", "drop table added", oldest_release=3)


class TestReleases:
    async def test_old_and_new_use_one_database_until_it_is_upgraded(self, postgres_database: str) -> None:
        newer = [*MIGRATIONS, ADDING, ENDING]
        async with opened(postgres_database) as old:
            new = await PostgresJournal.open(postgres_database, migrations=newer)
            await append_entries(old, "s", 0, {})
            await append_entries(new, "s", 1, {})
            await new.close()
        async with opened(postgres_database) as old:  # it starts again beside what it does not know
            await append_entries(old, "s", 2, {})
        assert run_raw(postgres_database, "select count(*) from added") == [("0",)]

        assert await upgrade(postgres_database, migrations=newer) == ["ending"]
        assert await upgrade(postgres_database, migrations=newer) == []
        with pytest.raises(StorageError, match=r"its schema 3 is the oldest that may run, this is 1: update"):
            await PostgresJournal.open(postgres_database)
        new = await PostgresJournal.open(postgres_database, migrations=newer)
        assert len(await new.read("s")) == 3
        await new.close()

    async def test_a_new_database_gets_all_of_them_at_once(self, postgres_server: Server) -> None:
        address = postgres_server.create_database()
        newer = [*MIGRATIONS, ADDING, ENDING]
        journals = await asyncio.gather(*(PostgresJournal.open(address, migrations=newer) for _ in range(3)))
        for journal in journals:
            await journal.close()
        assert run_raw(address, "select release from migration order by release") == [("1",), ("2",), ("3",)]
        postgres_server.drop_later(address)

    async def test_an_account_that_may_not_change_tables_is_told_who_may(
        self, postgres_server: Server
    ) -> None:
        address = postgres_server.create_database()
        postgres_server.sql("create role guest login")
        with pytest.raises(StorageError, match="run `counterpoint db upgrade` as the owner"):
            await PostgresJournal.open(address.replace("tests@", "guest@"))
        postgres_server.drop_later(address)


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


@pytest.mark.slow
async def test_what_was_committed_outlives_a_crash_and_what_waits_is_written_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    try:
        server.start()
        with caplog.at_level(logging.INFO, "storage"):
            async with opened(server.create_database(), patience=30) as journal:
                before = await append_entries(journal, "s", 0, {"n": 1})
                server.kill()
                waiting = asyncio.create_task(append_entries(journal, "s", 1, {"n": 2}))
                with pytest.raises(LostError):
                    await journal._db.fetch("select 1", wait=0.2)
                server.start()
                async with asyncio.timeout(30):
                    after = await waiting
                assert await journal.read("s") == before + after
        assert "cannot be" in caplog.text
        assert "can be used again" in caplog.text
    finally:
        server.stop()
