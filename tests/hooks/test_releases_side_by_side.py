"""An older and a newer release on one database, and back: the newer one has another kind of event and a table more."""

import json
import os
import shutil
import sys
from pathlib import Path

import anyio
import pytest

from server.debate.commands.interventions.request import InterventionRequest
from server.engine.database.errors import NewerRecordError
from server.engine.debates import DebateManager
from server.engine.transfer import export_debate
from tests.support.engines import run_debate, start_debate
from tests.support.hook_debates import ENVIRON, hook, open_hooks, webhook, write_hooks_file
from tests.support.paths import ROOT, find_folder
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.processes.webhook_receiver import open_receiver
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "M3", "N8"), pytest.mark.full]

ADD_TABLE = """
CLAPS = Migration(MIGRATIONS[-1].release + 1, "claps", ("create table clap (number bigint)",))
MIGRATIONS = (*MIGRATIONS, CLAPS)
"""

PROGRAM = """
import json, os, sys
import anyio
from server.compose import open_manager
from server.debate.commands.interventions.request import InterventionRequest
from server.settings import Settings

async def main(database, hooks, command, debate_id):
    settings = Settings(db=database, models=("scripted",), hooks=hooks)
    async with open_manager(settings) as manager:
        if command == "tag":
            await manager.intervene(debate_id, "tag", InterventionRequest(text="x"), actor="newer")
        else:
            manager.run_to_end(await manager.load(debate_id))
        snapshot = await manager.follow(debate_id, wait=20)
        print(json.dumps([snapshot.status, [entry.event.kind for entry in snapshot.entries]]))

anyio.run(main, *sys.argv[1:])
"""


def build_newer_release(folder: Path) -> Path:
    """A copy of this one that records tags as another kind of event, and has a table more in both databases."""
    for package in ("counterpoint", "server", "storage"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    facts = folder / "server/debate/facts/interventions.py"
    text, old = facts.read_text("utf-8"), 'kind: Literal["tagged"] = "tagged"'
    assert old in text
    facts.write_text(text.replace(old, 'kind: Literal["labelled"] = "labelled"'), "utf-8")
    for database in ("sqlite", "postgres"):
        with (folder / "storage" / database / "migrations.py").open("a", encoding="utf-8") as file:
            file.write(ADD_TABLE)
    return folder


async def run_newer(
    release: Path, database: str, hooks: Path | str, command: str, debate_id: str
) -> tuple[str, list[str]]:
    """Run the program in the newer release. Returns the status of the debate and the kinds of its events."""
    environ = {**os.environ, **ENVIRON, "PYTHONPATH": str(release)}
    arguments = [sys.executable, "-c", PROGRAM, database, str(hooks), command, debate_id]
    done = await anyio.run_process(arguments, cwd=release, env=environ, check=False)
    assert done.returncode == 0, done.stderr.decode()
    status, kinds = json.loads(done.stdout)
    return status, kinds


async def wait_for_unread(database: str, debate_id: str) -> None:
    sql = "select count(*) from outbox where queue = -1 and stream = ?"
    with anyio.fail_after(PATIENCE):
        while str(run_raw(database, sql, debate_id)[0][0]) == "0":
            await wait_before_next_poll()


async def expect_left_alone(manager: DebateManager, debate_id: str) -> None:
    with pytest.raises(NewerRecordError, match=r"this one cannot read \(labelled\)"):
        await manager.intervene(debate_id, "tag", InterventionRequest(text="y"), actor="older")
    exported = await export_debate(manager, debate_id)
    assert [entry["body"]["kind"] for entry in exported["entries"]].count("labelled") == 1


async def test_both_use_one_database_and_the_older_one_goes_on_alone(database: str, tmp_path: Path) -> None:
    release = build_newer_release(tmp_path / "newer")
    async with open_receiver() as receiver:
        ops = hook("ops", "*", webhook(receiver.url))
        async with open_hooks(database, ops) as older:
            debate = await start_debate(older)
            await older.step(debate.id, wait=5)
            await run_newer(release, database, "", "tag", debate.id)
            await expect_left_alone(older, debate.id)
            await wait_for_unread(database, debate.id)
            assert (await run_debate(older)).status == "concluded"
        run_raw(database, "update outbox set due = due - 60")
        path = write_hooks_file(find_folder(database), ops)
        status, kinds = await run_newer(release, database, path, "run", debate.id)
        with anyio.fail_after(PATIENCE):
            while len(
                delivered := [p for p in receiver.requests if p.json["debate"]["id"] == debate.id]
            ) < len(kinds):
                await wait_before_next_poll()

        async with open_hooks(database, ops) as older:
            await expect_left_alone(older, debate.id)
            assert (await older.load(debate.id)).status == "concluded"
            again = await run_debate(older)
        await run_newer(release, database, "", "tag", again.id)

    assert status == "concluded"
    assert kinds.count("labelled") == 1
    seqs = [posted.json["event"]["seq"] for posted in delivered]
    assert {*seqs} == {*range(1, len(kinds) + 1)}
    assert len({posted.id for posted in receiver.requests}) == len(receiver.requests)
    assert run_raw(database, "select count(*) from clap")
