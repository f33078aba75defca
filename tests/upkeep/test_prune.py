"""`counterpoint db prune`: debates that ended long ago go, and their receipts stay."""

import json
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from server.engine.database.origins import RECEIPT
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.prune import HOOK_DAYS, prune_debates
from storage.outbox import OutboxItem
from tests.contract.journal_helpers import open_any_storage
from tests.support.engines import alter_entries, open_engine, run_debate, run_round
from tests.support.raw_sql import run_raw
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N14", "N27")


async def make_debates(database: str) -> tuple[str, str, str]:
    """One that ended 10 days ago, one that did not end since then, and one that ended today."""
    then = datetime.now(UTC) - timedelta(days=10)
    async with open_engine(database, ScriptedModel(), clock=lambda: then) as manager:
        old = await run_debate(manager, question="Old?")
        open_still = await run_round(manager, question="Open still?", format="verdict", max_rounds=3)
    async with open_engine(database, ScriptedModel()) as manager:
        return old.id, open_still.id, (await run_debate(manager, question="New?")).id


def test_old_debates_go_and_their_receipts_stay(cli: Cli, database: str, tmp_path: Path) -> None:
    old, open_still, new = anyio.run(make_debates, database)
    told = cli("db", "prune", "--older-than", "9", "--dry-run").stdout.splitlines()
    assert told[0] == old
    assert told[1].endswith(": 1 debate would be removed.")
    assert len(cli("list").stdout.splitlines()) == 3

    assert cli("db", "prune", "--older-than", "11").stdout.endswith(": 0 debates were removed.\n")
    pruned = cli("db", "prune", "--older-than", "9", "--json")
    assert json.loads(pruned.stdout) == {"debate_ids": [old], "spared": {}, "problems": []}

    listed = cli("list").stdout
    assert (old in listed, open_still in listed, new in listed) == (False, True, True)
    assert cli("list", "old").stdout == ""
    shown = cli("show", old).output
    assert "was deleted on" in shown
    assert f"Its signed receipt: `counterpoint receipt {old}`." in shown
    kept = cli("receipt", old)
    assert (kept.exit_code, "payload" in json.loads(kept.stdout)) == (0, True)
    (tmp_path / "receipt.json").write_text(kept.stdout)
    assert "WRONG" not in cli("verify", str(tmp_path / "receipt.json")).stdout
    assert cli("receipt", "k3x9w2m4p7qr").exit_code == 1
    assert cli("db", "check").exit_code == 0
    assert cli("delete", old, "--yes").stdout == cli("delete", old, "--yes").stdout != ""


def test_what_was_altered_stays_as_evidence(cli: Cli, database: str) -> None:
    old, *_ = anyio.run(make_debates, database)
    alter_entries(database, "Old?", "Bold?")
    result = cli("db", "prune", "--older-than", "9")
    assert result.exit_code == 1
    assert f"{old}: The record of debate {old} was altered" in result.stdout

    async def count() -> int:
        async with open_any_storage(database) as storage:
            assert await storage.texts.find(old, RECEIPT)
            return len(await storage.journal.list_streams())

    assert anyio.run(count) == 3


async def give(database: str, debate_ids: Collection[str], owner: str) -> None:
    """Make debates those of another owner, as no user can."""
    for debate_id in debate_ids:
        run_raw(database, "update stream set owner = ? where name = ?", owner, debate_id)


def test_only_debates_of_an_owner_go_where_one_is_named(cli: Cli, database: str) -> None:
    alice, _, _ = anyio.run(make_debates, database)
    bob, _, _ = anyio.run(make_debates, database)
    for debate_id, owner in ((alice, "alice"), (bob, "bob")):
        anyio.run(give, database, [debate_id], owner)

    def find(*options: str) -> list[str]:
        told = cli("db", "prune", "--older-than", "9", "--dry-run", "--json", *options)
        found: list[str] = json.loads(told.stdout)["debate_ids"]
        return found

    assert find("--owner", "eve") == []
    assert find("--owner", "alice") == [alice]
    assert sorted(find()) == sorted([alice, bob])
    assert cli("db", "prune", "--older-than", "9", "--owner", "bob").stdout.splitlines()[0] == bob
    assert find() == [alice]


def test_debates_that_hooks_still_need_stay_until_hooks_are_too_old_for_them(cli: Cli, database: str) -> None:
    reached, waiting, unread = "reached", "waiting", "unread"

    async def make(days: int) -> dict[str, str]:
        then = datetime.now(UTC) - timedelta(days=days)
        ids = {}
        async with open_engine(database, ScriptedModel(), clock=lambda: then) as manager:
            outbox = manager.store.storage.outbox
            await outbox.register("ops")
            for name in (reached, waiting):
                snapshot = await run_debate(manager, question=name)
                position = await outbox.find_position(snapshot.id, snapshot.debate.version)
                item = OutboxItem(name, "ops", 0, snapshot.id, 1, position, "debate_end", 0)
                await outbox.put(["ops"], position, [item] if name == waiting else [])
                ids[name] = snapshot.id
            ids[unread] = (await run_debate(manager, question=unread)).id
        return ids

    ids = anyio.run(make, HOOK_DAYS - 1)
    spared = cli("db", "prune", "--older-than", "9").stdout.splitlines()
    assert spared[0] == ids[reached]
    assert spared[1:3] == [
        f"{ids[name]} stays: hooks have not dealt with it yet." for name in (waiting, unread)
    ]
    later = datetime.now(UTC) + timedelta(days=2)

    async def prune_later() -> list[str]:
        async with open_engine(database, clock=lambda: later) as manager:
            return (await prune_debates(manager, 9, actor="test")).debate_ids

    assert anyio.run(prune_later) == [ids[waiting], ids[unread]]
