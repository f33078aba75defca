"""A database that cannot be written: locked by another program, on a full disk, on read-only media."""

import logging
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import anyio
import pytest
from mcp import Client

from tests.support.client_calls import call, expect_tool_error
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.servers import Cli, OpenClient, connect_client

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N27", "N8")]

LOCK_TIMEOUT = 1.5
ASKED = {
    "question": "Ship it?",
    "format": "verdict",
    "run": True,
    "models": ["mine"],
    "options": {"judges": {"models": ["scripted"]}},
    "wait_seconds": 0,
}


def run_mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 2 MB."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    if os.name != "posix" or not run_mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mounted)):
        pytest.skip("nothing can be mounted here")
    yield mounted
    subprocess.run(["umount", "-l", str(mounted)], check=True)


@contextmanager
def fill(disk: Path) -> Iterator[None]:
    filler = disk / "filler"
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        with suppress(OSError):
            while os.write(descriptor, b"x" * 4096):
                pass
        yield
    finally:
        os.close(descriptor)
        filler.unlink()


@contextmanager
def lock(database: str) -> Iterator[None]:
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("begin immediate")
        yield


async def start_debate(client: Client, gate: Gate) -> str:
    """A debate with a call on its way."""
    started = await call(client, "start_debate", **ASKED)
    await gate.wait_for_call()
    return str(started["debate_id"])


async def expect_verdict_once_paid(client: Client, gate: Gate, debate_id: str) -> None:
    """The debate goes on, and what was on its way meanwhile was not asked for again."""
    with anyio.fail_after(PATIENCE):
        while True:
            result = await client.call_tool("get_verdict", {"debate_id": debate_id, "wait_seconds": 3})
            found = result.structured_content or {}
            if found.get("status") == "concluded":
                break
            await wait_before_next_poll()
    assert len({request.seed for request in gate.model.requests}) == len(gate.model.requests)


async def test_waits_for_a_lock_do_not_add_up_and_are_one_warning(
    open_modern: OpenClient,
    database: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate = Gate()
    errors: list[str] = []
    async with open_modern({"mine": gate.model}, database_patience=LOCK_TIMEOUT) as client:
        debate_id = await start_debate(client, gate)

        async def write(number: int) -> None:
            arguments = {"question": f"Why {number}?", "models": ["scripted"], "options": {"framing": False}}
            errors.append(await expect_tool_error(client, "start_debate", **arguments))

        with lock(database):
            gate.release.set()
            began = anyio.current_time()
            async with anyio.create_task_group() as tasks:
                for number in range(10):
                    tasks.start_soon(write, number)
            taken = anyio.current_time() - began
            told = await expect_tool_error(client, "get_verdict", debate_id=debate_id, wait_seconds=1)
            read = await call(client, "read_debate", debate_id=debate_id)
            assert len(gate.model.requests) == 1
        await expect_verdict_once_paid(client, gate, debate_id)
        with lock(database):  # again within the minute
            await write(10)

    assert all("is locked by another program" in error for error in (*errors, told))
    assert taken < 8 * LOCK_TIMEOUT  # a few are opened at a time, so that ten take three or four waits
    assert read["debate_id"] == debate_id
    warnings = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert ["is locked by another program" in text for text in warnings] == [True]


async def test_a_full_disk_says_so_and_costs_nothing_that_was_recorded_or_paid(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    async with connect_client(str(small_disk / "debates.db"), "auto", {"mine": gate.model}) as client:
        debate_id = await start_debate(client, gate)
        large = [{"title": "large", "text": "x" * 150_000}]
        with fill(small_disk):
            gate.release.set()
            errors = [
                await expect_tool_error(client, "get_verdict", debate_id=debate_id, wait_seconds=1),
                await expect_tool_error(client, "start_debate", **ASKED, documents=large, again=True),
            ]
            assert [row["debate_id"] for row in (await call(client, "find_debates"))["debates"]] == [
                debate_id
            ]
            assert len(gate.model.requests) == 1
        await expect_verdict_once_paid(client, gate, debate_id)

    assert all("does not fit on the disk, which is full" in error for error in errors)
    warnings = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert ["which is full" in text for text in warnings] == [True]


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    if os.geteuid():
        directory.chmod(0o500)
        yield
        directory.chmod(0o700)
    else:  # root may write everywhere but here
        assert run_mount("-o", "remount,ro", str(directory))
        yield
        assert run_mount("-o", "remount,rw", str(directory))


@pytest.fixture
def media(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path if os.geteuid() else Path(request.getfixturevalue("small_disk"))


def measure(path: str) -> bytes:
    return Path(path).read_bytes()


async def test_debates_on_read_only_media_can_be_read_and_nothing_else(
    database_on_media: str, media: Path
) -> None:
    async with connect_client(database_on_media, "auto") as client:
        finished = {**ASKED, "models": ["scripted"], "wait_seconds": 5}
        debate_id = (await call(client, "start_debate", **finished))["debate_id"]
        begun = (await call(client, "start_debate", question="Begun?", models=["scripted"]))["debate_id"]

    drop_receipts(database_on_media)
    before = measure(database_on_media)
    with read_only(media):
        gate = Gate()
        async with connect_client(database_on_media, "auto", {"mine": gate.model}) as client:
            assert len((await call(client, "find_debates"))["debates"]) == 2
            assert (await call(client, "get_verdict", debate_id=debate_id))["status"] == "concluded"
            assert (await call(client, "get_verdict", debate_id=begun))["status"] == "ready"
            assert (await call(client, "read_debate", debate_id=debate_id))["debate_id"] == debate_id
            receipt = await call(client, "read_debate", debate_id=debate_id, view="receipt")
            errors = [
                await expect_tool_error(client, "start_debate", **ASKED),
                await expect_tool_error(client, "step_round", debate_id=begun),
                await expect_tool_error(client, "intervene", debate_id=begun, action="inject", text="x"),
            ]
        assert gate.model.requests == []
    assert all("is read-only: its debates can be read, and new ones need another" in one for one in errors)
    assert measure(database_on_media) == before
    assert "The database is read-only, and no receipt was made before." in str(receipt["data"])


def drop_receipts(path: str) -> None:
    """As after a process that died between the end of a debate and its signature."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("delete from kept_text")
        connection.commit()
        connection.execute("pragma wal_checkpoint(truncate)")


@pytest.fixture
def database_on_media(media: Path) -> str:
    return str(media / "debates.db")


def test_entries_that_are_only_in_a_log_on_read_only_media_are_not_left_out_unsaid(
    cli: Cli, database_on_media: str, media: Path
) -> None:
    place = ("--db", database_on_media)
    assert cli(*place, "debate", "Tea?", "--model", "scripted", "--no-framing").exit_code == 0
    Path(f"{database_on_media}-wal").write_bytes(b"the newest entries")
    with read_only(media):
        refused = cli(*place, "list")
    assert refused.exit_code == 1
    assert "its newest entries are in" in refused.stderr
    assert "copy both into a directory that can be written" in refused.stderr


def test_a_database_that_cannot_be_opened_on_a_full_disk_says_that_it_is_full(
    cli: Cli, small_disk: Path
) -> None:
    place = ("--db", str(small_disk / "debates.db"))
    assert cli(*place, "debate", "Tea?", "--model", "scripted", "--no-framing").exit_code == 0
    with fill(small_disk):
        refused = cli(*place, "list")
    assert refused.exit_code == 1
    assert "does not fit on the disk, which is full" in refused.stderr
    assert "Tea?" in cli(*place, "list").stdout
