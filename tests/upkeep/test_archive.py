"""`counterpoint db archive`: records of old debates go to files, and the debates stay in lists."""

import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.action import InterventionRequest
from server.debate.views.catalog import VIEWS
from server.engine.database.errors import DebateArchivedError, DebateNotFoundError
from server.engine.database.memory import recall
from server.engine.debates import DebateManager
from server.engine.queries import load_view_source
from server.engine.transfer import export_debate, parse_export, restore_debate
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.check import check_database
from server.upkeep.prune import PruneResult, prune_debates
from tests.support.contents import read_all
from tests.support.engines import alter_entries, open_engine, run_debate
from tests.support.paths import ROOT
from tests.support.raw_sql import run_raw
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N14", "N35")

THEN = datetime.now(UTC) - timedelta(days=100)
QUESTION = "Should a team of six move its zebra stables?"


def open_then(database: str) -> Any:
    """An installation a hundred days ago."""
    return open_engine(database, ScriptedModel(), clock=lambda: THEN)


async def make_old(database: str, *questions: str, owner: str = "local") -> list[str]:
    async with open_then(database) as manager:
        return [(await run_debate(manager.of(owner), question=each)).id for each in questions or [QUESTION]]


async def archive(manager: DebateManager, folder: Path, **choice: Any) -> PruneResult:
    return await prune_debates(manager, 90, actor="test", folder=folder, **choice)


async def archive_all(database: str, folder: Path) -> list[str]:
    async with open_engine(database) as manager:
        result = await archive(manager, folder)
        assert not result.problems
        assert not (await check_database(manager)).problems
        return result.debate_ids


async def read_file(path: Path) -> Any:
    return parse_export(await anyio.Path(path).read_bytes())


def find_file(folder: Path, debate_id: str) -> Path:
    return folder / THEN.isoformat()[:7] / f"{debate_id}.json.gz"


def leave_out_keys(contents: Mapping[str, Any]) -> dict[str, Any]:
    """Without what repeated requests are told by, which archived debates lose."""
    return {name: value for name, value in contents.items() if name != "keys"}


def test_an_old_debate_goes_to_a_file_and_is_found_all_the_same(
    cli: Cli, database: str, tmp_path: Path
) -> None:
    [old] = anyio.run(make_old, database)
    folder, day = tmp_path / "archive", f"{THEN + timedelta(days=1):%Y-%m-%d}"
    asked = ("db", "archive", "--to", str(folder), "--before")
    listed = cli("list").stdout
    verdict = json.loads(cli("show", old, "--view", "verdict", "--json").stdout)
    assert cli(*asked, "101d").stdout.endswith(": 0 debates were archived.\n")
    assert cli(*asked, "90", "--dry-run").stdout.endswith(": 1 debate would be archived.\n")
    assert not folder.exists()

    archived = json.loads(cli(*asked, day, "--json").stdout)

    assert archived == {"debate_ids": [old], "spared": {}, "problems": []}
    assert cli("list").stdout == cli("list", "zebra").stdout == listed
    assert cli("list", "--status", "concluded").stdout == listed
    file = find_file(folder, old)
    for command in (
        ("show", old),
        ("show", old, "--view", "verdict"),
        ("export", old),
        ("fork", old, "--at-round", "1"),
    ):
        refused = cli(*command)
        assert refused.exit_code == 1
        assert verdict["headline"] in refused.stderr
        assert f"`counterpoint import {file}` brings it back." in refused.stderr
    assert (
        json.loads(cli("receipt", old).stdout)
        == json.loads(gzip.decompress(file.read_bytes()))["receipt"]["envelope"]
    )
    assert cli("verify", str(file)).exit_code == 0
    (tmp_path / "cut.gz").write_bytes(file.read_bytes()[:-100])
    (tmp_path / "damaged.gz").write_bytes(file.read_bytes()[:10] + b"no")
    assert "may be cut short" in cli("import", str(tmp_path / "cut.gz")).stderr
    assert "cannot be unpacked" in cli("import", str(tmp_path / "damaged.gz")).stderr
    assert cli("db", "check").exit_code == 0
    assert cli(*asked, day).stdout.endswith(": 0 debates were archived.\n")

    assert cli("import", str(file)).exit_code == 0
    assert cli("list").stdout == listed
    assert json.loads(cli("show", old, "--view", "verdict", "--json").stdout) == verdict
    assert cli("db", "check").exit_code == 0


@pytest.mark.parametrize("before", ["tomorrow", "-3", "2026-13-01"])
def test_a_date_that_is_none_is_refused(cli: Cli, tmp_path: Path, before: str) -> None:
    refused = cli("db", "archive", "--before", before, "--to", str(tmp_path))
    assert (refused.exit_code, "Write a date" in refused.stderr) == (2, True)


async def make_various(database: str, other: str) -> list[str]:
    """One whose outcome is known, one of another owner, and one that was recorded elsewhere and went on here."""
    judge = ScriptedModel(name="judge")
    async with open_engine(
        database, {"mine": ScriptedModel(), "judge": judge}, clock=lambda: THEN
    ) as manager:
        judged = {"options": {"judges": {"models": ["judge"]}}, "format": "verdict"}
        settled = await run_debate(manager, question="Settled?", **judged)
        truth = InterventionRequest(to=settled.debate.setup.debaters[0].name)
        await manager.intervene(settled.id, "outcome", truth, actor="Kim")
        of_ann = await run_debate(manager.of("ann"), question="Whose?")
        async with open_then(other) as elsewhere:
            foreign = await run_debate(elsewhere, question="From elsewhere?")
            await restore_debate(manager.of("bob"), await export_debate(elsewhere, foreign.id))
        await manager.intervene(foreign.id, "tag", InterventionRequest(text="mine"), actor="Kim")
        return [settled.id, of_ann.id, foreign.id]


@pytest.mark.anyio
async def test_all_that_was_known_of_debates_is_known_again_when_they_are_brought_back(
    database: str, tmp_path: Path
) -> None:
    made = await make_various(database, str(tmp_path / "elsewhere.db"))
    contents = await read_all(database)
    async with open_engine(database) as manager:
        listings = await manager.store.find()

    assert await archive_all(database, tmp_path / "archive") == made

    archived = await read_all(database)
    assert archived["judgments"] == contents["judgments"] != []
    assert archived["days"] == contents["days"]
    async with open_engine(database) as manager:
        assert await manager.store.find() == [replace_archived(each) for each in listings]
        for debate_id, owner in zip(made, ("local", "ann", "bob"), strict=True):
            data = await read_file(find_file(tmp_path / "archive", debate_id))
            with pytest.raises(InvalidRequestError, match="belongs to another owner"):
                await restore_debate(manager.of("eve"), data)
            with pytest.raises(DebateNotFoundError, match="There is no debate"):
                await manager.of("eve").load(debate_id)
            await restore_debate(manager.of(owner), data)
        assert await manager.store.find() == listings
        assert not (await check_database(manager)).problems
    assert leave_out_keys(await read_all(database)) == leave_out_keys(contents)


def replace_archived(listing: Any) -> Any:

    return replace(listing, is_archived=True)


@pytest.mark.anyio
async def test_who_has_it_in_memory_learns_of_it_and_adds_nothing(database: str, tmp_path: Path) -> None:
    [old] = await make_old(database)
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await manager.load(old)
        await archive_all(database, tmp_path)

        with pytest.raises(DebateArchivedError):
            await manager.load(old)
        with pytest.raises(DebateArchivedError):
            await manager.store.record(snapshot, (snapshot.entries[-1].event,), debate_after=snapshot.debate)
        with pytest.raises(DebateArchivedError):
            await manager.intervene(old, "tag", InterventionRequest(text="late"), actor="Kim")
        assert await recall(manager.store, QUESTION, limit=3, with_dry_runs=True) == []


@pytest.mark.anyio
async def test_forks_of_it_stay_and_are_compared_with_those_that_are_here(
    database: str, tmp_path: Path
) -> None:
    [old] = await make_old(database)
    async with open_engine(database, ScriptedModel()) as manager:
        fork = await manager.fork(old, 1, ChangesInput(), actor="test")
        await archive_all(database, tmp_path)
        compared = await load_view_source(manager, fork.id, VIEWS["family"])
        assert compared.debate.setup.forked_from == old
        with pytest.raises(DebateArchivedError):
            await manager.fork(old, 1, ChangesInput(), actor="test")


@pytest.mark.anyio
async def test_another_record_with_its_id_does_not_take_its_place(database: str, tmp_path: Path) -> None:
    [old] = await make_old(database)
    async with open_engine(database) as manager:
        data = await export_debate(manager, old)
        await manager.intervene(old, "tag", InterventionRequest(text="more"), actor="Kim", run=False)
    run_raw(database, "update stream set changed_at = '2026-01-01T00:00:00.000Z'")
    await archive_all(database, tmp_path)
    async with open_engine(database) as manager:
        with pytest.raises(InvalidRequestError, match="is another one here"):
            await restore_debate(manager, data)
        with pytest.raises(DebateArchivedError):
            await manager.load(old)


@pytest.mark.anyio
async def test_the_check_writes_the_words_again_by_which_it_is_found(database: str, tmp_path: Path) -> None:
    [old] = await make_old(database)
    await archive_all(database, tmp_path)
    async with open_engine(database) as manager:
        await manager.store.storage.index.clear()
        assert await manager.store.find("zebra") == []
        for rebuild in (False, True):
            [problem] = (await check_database(manager, rebuild=rebuild)).problems
            assert (problem.debate_id, problem.is_rebuilt) == (old, rebuild)
        assert [each.stream for each in await manager.store.find("zebra")] == [old]
        assert not (await check_database(manager)).problems


@pytest.mark.parametrize("removal", ["delete", "prune"])
def test_it_is_deleted_as_others_are(cli: Cli, database: str, tmp_path: Path, removal: str) -> None:
    [old] = anyio.run(make_old, database)
    anyio.run(archive_all, database, tmp_path)
    if removal == "delete":
        asked = cli("delete", old, input="y\n")
        assert find_file(tmp_path, old).name in asked.stderr
    else:
        asked = cli("db", "prune", "--older-than", "90")
    assert asked.exit_code == 0
    assert cli("list").stdout == cli("list", "zebra").stdout == ""
    assert "was deleted on" in cli("show", old).stderr
    assert cli("receipt", old).exit_code == 0
    assert cli("db", "check").exit_code == 0
    assert cli("import", str(find_file(tmp_path, old))).exit_code == 1


def test_a_copy_has_it_as_well(cli: Cli, database: str, other: str, tmp_path: Path) -> None:
    [old, open_still] = anyio.run(make_old, database, QUESTION, "Open still?")
    assert cli("db", "copy", database, other).exit_code == 0
    anyio.run(archive_all, database, tmp_path)
    kept = anyio.run(read_all, other)
    assert cli("db", "copy", database, other).exit_code == 0
    assert anyio.run(read_all, other) == kept  # who has more keeps it

    fresh = f"{tmp_path}/fresh.db"
    copied = json.loads(cli("db", "copy", database, fresh, "--json").stdout)
    assert (copied["copied_debates"], copied["problems"]) == (2, [])
    assert anyio.run(read_all, fresh) == anyio.run(read_all, database)
    assert cli("--db", fresh, "list").stdout == cli("list").stdout
    assert cli("db", "check", fresh).exit_code == 0
    assert json.loads(cli("db", "copy", database, fresh, "--json").stdout)["copied_debates"] == 0

    assert cli("import", str(find_file(tmp_path, old))).exit_code == 0
    assert cli("db", "copy", database, fresh).exit_code == 0
    assert cli("--db", fresh, "show", old).exit_code == 0
    assert cli("delete", open_still, "--yes").exit_code == 0
    assert cli("db", "copy", database, fresh).exit_code == 0
    assert "was deleted on" in cli("--db", fresh, "show", open_still).stderr
    assert cli("db", "check", fresh).exit_code == 0


def test_what_cannot_be_written_or_was_altered_stays(cli: Cli, database: str, tmp_path: Path) -> None:
    [old] = anyio.run(make_old, database)
    (tmp_path / "file").write_text("")
    refused = cli("db", "archive", "--before", "90", "--to", str(tmp_path / "file" / "folder"))
    assert (refused.exit_code, "cannot be written" in refused.stderr) == (2, True)
    assert cli("show", old).exit_code == 0

    run_raw(database, "update kept_text set text = '{}'")
    unsigned = cli("db", "archive", "--before", "90", "--to", str(tmp_path))
    assert unsigned.exit_code == 1
    assert "does not hold" in unsigned.stdout
    assert cli("show", old).exit_code == 0

    alter_entries(database, "zebra", "horse")
    altered = cli("db", "archive", "--before", "90", "--to", str(tmp_path))
    assert (altered.exit_code, f"{old}: The record of debate {old} was altered" in altered.stdout) == (
        1,
        True,
    )


@pytest.mark.anyio
async def test_what_hooks_may_act_on_stays(database: str, tmp_path: Path) -> None:
    [old] = await make_old(database)
    async with open_engine(database, ScriptedModel()) as manager:
        new = (await run_debate(manager)).id
    async with open_engine(database) as manager:  # nobody works on it any more
        await manager.store.storage.outbox.register("hook")
        result = await prune_debates(manager, 0, actor="test", folder=tmp_path)
        assert result.debate_ids == [old]
        assert result.spared == {new: "hooks may act on it until 30 days after its end"}


@pytest.mark.sqlite
def test_a_kill_in_the_middle_loses_nothing(cli: Cli, database: str, tmp_path: Path) -> None:
    debate_ids = anyio.run(make_old, database, *(f"Question {number}?" for number in range(8)))
    contents = leave_out_keys(anyio.run(read_all, database))
    folder, archived = tmp_path / "archive", list[int]()
    command = [sys.executable, "-m", "counterpoint", "--db", database, "db", "archive", "--before", "90"]
    for files in (1, 4):
        with subprocess.Popen([*command, "--to", str(folder)], cwd=ROOT, stdout=subprocess.DEVNULL) as child:
            while child.returncode is None and len([*folder.glob("*/*.json.gz")]) < files:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(0.001)
            child.kill()
        assert child.returncode == -signal.SIGKILL
        assert cli("db", "check").exit_code == 0
        shown = [cli("show", debate_id) for debate_id in debate_ids]
        archived.append(sum(each.exit_code for each in shown))
        for debate_id, each in zip(debate_ids, shown, strict=True):
            assert each.exit_code == 0 or cli("verify", str(find_file(folder, debate_id))).exit_code == 0
    assert archived == sorted(archived)
    assert archived[-1] < len(debate_ids)

    assert cli("db", "archive", "--before", "90", "--to", str(folder)).exit_code == 0
    assert sum(cli("show", debate_id).exit_code for debate_id in debate_ids) == len(debate_ids)
    for debate_id in debate_ids:
        assert cli("import", str(find_file(folder, debate_id))).exit_code == 0
    assert leave_out_keys(anyio.run(read_all, database)) == contents
