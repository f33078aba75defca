"""The database is taken away from a running server: what it says, what it pays, and what it goes on with."""

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from mcp import Client

from server.engine.database.presence import WATCH_INTERVAL
from tests.support.client_calls import call, expect_tool_error
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.servers import OpenClient

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N27", "N8")]


def delete(path: Path, *suffixes: str) -> None:
    for suffix in suffixes or ("",):
        Path(f"{path}{suffix}").unlink()


def rename(path: Path, target: Path) -> None:
    path.replace(target)


def cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def measure(path: Path) -> int:
    return path.stat().st_size


def has_leases(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as db:
        return bool(db.execute("select count(*) from lease").fetchone()[0])


LOSSES: dict[str, tuple[Callable[[Path], None], str]] = {
    "deleted": (delete, "was deleted or moved away while it was open"),
    "replaced": (
        lambda path: rename(path.with_name("other.db"), path),
        "was replaced by another file while it was open",
    ),
    "emptied": (lambda path: cut(path, 0), "to 0 bytes, while it was open"),
}
ASKED = {
    "question": "Ship it?",
    "format": "verdict",
    "run": True,
    "models": ["mine"],
    "options": {"judges": {"models": ["scripted"]}},
    "wait_seconds": 0,
}


async def start_debate(client: Client, gate: Gate) -> str:
    """A debate with a call on its way."""
    started = await call(client, "start_debate", **ASKED)
    await gate.wait_for_call()
    return str(started["debate_id"])


async def run_finished_debate(client: Client) -> str:
    finished = {**ASKED, "question": "Done?", "models": ["scripted"], "wait_seconds": 5}
    return str((await call(client, "start_debate", **finished))["debate_id"])


async def list_questions(client: Client) -> list[str]:
    return [row["question"] for row in (await call(client, "find_debates"))["debates"]]


@pytest.fixture
async def other_database(open_modern: OpenClient, tmp_path: Path) -> Path:
    """`other.db`, with one debate."""
    path = tmp_path / "other.db"
    async with open_modern() as client:
        await call(client, "start_debate", question="Another one?", models=["scripted"])
    rename(tmp_path / "debates.db", path)
    return path


@pytest.mark.parametrize(("lose", "message"), LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.usefixtures("other_database")
async def test_a_loss_is_told_at_once_and_what_is_there_then_is_used_alone(
    open_modern: OpenClient,
    database: str,
    caplog: pytest.LogCaptureFixture,
    lose: Callable[[Path], None],
    message: str,
) -> None:
    gate, path = Gate(), Path(database)
    errors: list[str] = []
    async with open_modern({"mine": gate.model}) as client:
        await run_finished_debate(client)
        held = await start_debate(client, gate)

        async def wait_for_verdict() -> None:
            errors.append(await expect_tool_error(client, "get_verdict", debate_id=held, wait_seconds=30))

        with anyio.fail_after(1 + WATCH_INTERVAL):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait_for_verdict)
                await anyio.wait_all_tasks_blocked()
                lose(path)
        gate.release.set()
        questions = await list_questions(client)
        await run_finished_debate(client)

        assert questions == (["Another one?"] if "replaced" in message else [])
        assert len(gate.model.requests) == 1
        missing = await expect_tool_error(client, "get_verdict", debate_id=held)
    assert missing.startswith("Error: There is no debate")
    assert f"{database} " in errors[0]
    assert message in errors[0]
    assert "no model is asked. Put the right file in its place, then call again" in errors[0]
    lost = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [message in record.getMessage() for record in lost] == [True]


async def test_a_file_that_is_put_back_goes_on_without_paying_again(
    open_modern: OpenClient, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    gate, path = Gate(), Path(database)
    async with open_modern({"mine": gate.model}) as client:
        debate_id = await start_debate(client, gate)
        rename(path, path.with_name("away.db"))
        error = await expect_tool_error(client, "get_verdict", debate_id=debate_id, wait_seconds=30)
        gate.release.set()  # the answer arrives while there is no database
        await wait_for_log(caplog, "was deleted or moved away")
        rename(path.with_name("away.db"), path)
        found = await call(client, "get_verdict", debate_id=debate_id, wait_seconds=5)

    assert "deleted or moved away" in error
    assert found["status"] == "concluded"
    assert len({request.seed for request in gate.model.requests}) == len(gate.model.requests)


async def test_a_file_that_was_cut_short_is_refused_until_a_whole_one_is_there(
    open_modern: OpenClient, database: str, tmp_path: Path
) -> None:
    path, copy = Path(database), tmp_path / "copy.db"
    async with open_modern() as client:
        await run_finished_debate(client)
        with anyio.fail_after(PATIENCE):
            while has_leases(path) or measure(Path(f"{path}-wal")):  # until the last checkpoint
                await wait_before_next_poll()
        shutil.copy(path, copy)
        assert await list_questions(client) == ["Done?"]
        cut(path, 0.5)
        told = await expect_tool_error(client, "find_debates")
        refused = [await expect_tool_error(client, "find_debates") for _ in range(2)]
        rename(copy, path)
        questions = await list_questions(client)

    assert "was cut short, from " in told
    assert all("is damaged, restore it from a backup" in error for error in refused)
    assert questions == ["Done?"]


async def test_an_idle_server_says_it_within_a_second(
    open_modern: OpenClient, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_modern() as client:
        assert await list_questions(client) == []
        delete(Path(database))
        with anyio.fail_after(1):
            await wait_for_log(caplog, "was deleted or moved away while it was open")
        with pytest.raises(Exception, match="was deleted or moved away"):
            await client.read_resource("debate://index")
        await client.read_resource("debate://index")
        assert await list_questions(client) == []


async def wait_for_log(caplog: pytest.LogCaptureFixture, text: str) -> None:
    while text not in caplog.text:
        await wait_before_next_poll()
