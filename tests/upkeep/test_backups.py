"""Copies of the database: plain ones after a debate has ended, and backups while servers write."""

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from server.debate.facts.errors import InvalidRequestError
from server.engine.database.errors import StorageUnavailableError
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.backup import back_up
from tests.contract.journal_helpers import append_entries, open_storage
from tests.support.engines import open_engine, run_debate, start_debate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.servers import Cli

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N27")]


def count_entries(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        return int(db.execute("select count(*) from journal").fetchone()[0])


def list_names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_when_a_debate_has_ended_a_plain_copy_of_the_file_is_whole(tmp_path: Path) -> None:
    database, copy = tmp_path / "debates.db", tmp_path / "copy" / "debates.db"
    copy.parent.mkdir()
    async with open_engine(database, ScriptedModel()) as manager, open_engine(database) as other:
        unfinished = await start_debate(manager, question="Still open?")
        ended = await run_debate(manager)
        with anyio.fail_after(PATIENCE):  # it is copied in the background
            while True:
                shutil.copy(database, copy)
                with suppress(StorageUnavailableError):  # in the middle of that
                    async with open_engine(copy) as copied:
                        if [row.stream for row in await copied.store.find()] == [ended.id, unfinished.id]:
                            found = await copied.load(ended.id)
                            break
                shutil.rmtree(copy.parent)
                copy.parent.mkdir()
                await wait_before_next_poll()
        assert found.entries == ended.entries
        assert (await other.load(ended.id)).status == "concluded"


async def test_a_backup_under_a_server_that_writes_is_whole_and_private(tmp_path: Path) -> None:
    database, target = tmp_path / "debates.db", tmp_path / "backup.db"
    stop = anyio.Event()

    async def write() -> None:
        for number in range(2000):
            await append_entries(storage, f"s{number % 7}", number // 7, {"text": "x" * 500})
            if stop.is_set():
                return

    async with open_storage(database) as storage, anyio.create_task_group() as tasks:
        await append_entries(storage, "first", 0, {"text": "not in the file yet"})
        tasks.start_soon(write)
        for number in range(5):
            await to_thread.run_sync(lambda: back_up(str(database), target, overwrite=bool(number)))  # noqa: B023
            assert count_entries(target) >= 1
        stop.set()

    assert target.stat().st_mode & 0o777 == 0o600
    assert list_names(tmp_path) == ["backup.db", "debates.db"]
    async with open_storage(target) as storage:
        assert sum([len(await storage.journal.read(f"s{number}")) for number in range(7)]) > 0
        assert len(await storage.journal.read("first")) == 1


@pytest.mark.sqlite
async def test_a_backup_takes_the_place_of_no_part_of_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, older = tmp_path / "debates.db", tmp_path / "older.db"
    alias, hard, loose = tmp_path / "alias.db", tmp_path / "hard", tmp_path / "loose"
    monkeypatch.chdir(tmp_path)
    async with open_storage(database) as storage:
        await append_entries(storage, "s", 0, {"n": 1})
        alias.symlink_to(database)
        hard.hardlink_to(tmp_path / "debates.db-wal")
        loose.symlink_to("debates.db-shm")
        (tmp_path / "older.db-wal").write_text("of a database that was there")
        for source in (database, alias):
            names = ("debates.db", "debates.db-wal", "debates.db-shm", "debates.db-journal", "DEBATES.DB-WAL")
            paths = [
                *map(Path, names),
                *(tmp_path / name for name in names),
                hard,
                loose,
                Path("./x/../alias.db"),
            ]
            for target in paths:
                with pytest.raises(InvalidRequestError, match=r"is the (database|log|index|rollback)"):
                    back_up(str(source), target, overwrite=True)
        with pytest.raises(
            InvalidRequestError, match=r"older\.db-wal is there, the log of an older older\.db"
        ):
            back_up(str(database), older, overwrite=True)
        assert len(await storage.journal.read("s")) == 1
        back_up(str(alias), tmp_path / "new.db")
    assert count_entries(tmp_path / "new.db") == 1


async def test_a_backup_that_cannot_be_made_leaves_everything_as_it_was(tmp_path: Path) -> None:
    database, taken = tmp_path / "debates.db", tmp_path / "taken.db"
    with pytest.raises(StorageUnavailableError, match=r"debates\.db cannot be opened, name another"):
        back_up(str(database), tmp_path / "new.db")
    async with open_storage(database) as storage:
        await append_entries(storage, "s", 0, {})
    taken.write_text("mine")
    link = tmp_path / "link.db"
    link.symlink_to(database)
    before = database.read_bytes()

    with pytest.raises(InvalidRequestError, match=r"exists already\. Name another file"):
        back_up(str(database), taken)
    for same in (database, link):
        with pytest.raises(InvalidRequestError, match="is the database itself"):
            back_up(str(database), same, overwrite=True)
    with pytest.raises(StorageUnavailableError, match="No such file or directory"):
        back_up(str(database), tmp_path / "nowhere" / "new.db")
    with pytest.raises(StorageUnavailableError, match="is not an SQLite database"):
        back_up(str(taken), tmp_path / "new.db")

    assert (taken.read_text(), database.read_bytes()) == ("mine", before)
    assert list_names(tmp_path) == ["debates.db", "link.db", "taken.db"]


@pytest.mark.sqlite
def test_the_command_makes_a_backup_and_asks_before_it_overwrites(
    cli: Cli, database: str, tmp_path: Path
) -> None:
    assert cli("debate", "Tea?", "--model", "scripted").exit_code == 0
    target = tmp_path / "backup.db"

    made = cli("backup", str(target))
    assert (made.exit_code, made.stderr) == (0, "")
    assert made.stdout.startswith(f"{database} was copied to {target} (")
    assert "Tea?" in cli("--db", str(target), "list").stdout
    refused = cli("backup", str(target))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.strip().endswith("exists already. Name another file, or add --overwrite.")
    assert cli("backup", str(target), "--overwrite").exit_code == 0
