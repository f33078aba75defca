"""`counterpoint db prune`: debates that ended long ago go, and their receipts stay."""

import json
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from server.engine.receipts import RECEIPT
from server.models.fakes.scripted import ScriptedModel
from tests.contract.journal_helpers import open_any_journal
from tests.support.engines import alter_entries, open_engine, run_debate, run_round
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


def test_old_debates_go_and_their_receipts_stay(cli: Cli, database: str) -> None:
    old, open_still, new = anyio.run(make_debates, database)
    told = cli("db", "prune", "--older-than", "9", "--dry-run").stdout.splitlines()
    assert told[0] == old
    assert told[1].endswith(": 1 debate would be removed.")
    assert len(cli("list").stdout.splitlines()) == 3

    assert cli("db", "prune", "--older-than", "11").stdout.endswith(": 0 debates were removed.\n")
    pruned = cli("db", "prune", "--older-than", "9", "--json")
    assert json.loads(pruned.stdout) == {"debate_ids": [old], "problems": []}

    listed = cli("list").stdout
    assert (old in listed, open_still in listed, new in listed) == (False, True, True)
    assert cli("list", "old").stdout == ""
    assert "There is no debate" in cli("show", old).output
    kept = cli("receipt", old)
    assert (kept.exit_code, "payload" in json.loads(kept.stdout)) == (0, True)
    assert cli("receipt", "k3x9w2m4p7qr").exit_code == 1
    assert cli("db", "check").exit_code == 0


def test_what_was_altered_stays_as_evidence(cli: Cli, database: str) -> None:
    old, *_ = anyio.run(make_debates, database)
    alter_entries(database, "Old?", "Bold?")
    result = cli("db", "prune", "--older-than", "9")
    assert result.exit_code == 1
    assert f"{old}: The record of debate {old} was altered" in result.stdout

    async def count() -> int:
        async with open_any_journal(database) as journal:
            assert await journal.find_text(old, RECEIPT)
            return len(await journal.find_all_streams())

    assert anyio.run(count) == 3


def test_there_is_one_owner(cli: Cli, database: str) -> None:
    anyio.run(make_debates, database)
    assert cli("db", "prune", "--older-than", "9", "--owner", "default", "--dry-run").exit_code == 0
    stranger = cli("db", "prune", "--older-than", "9", "--owner", "me")
    assert stranger.exit_code == 1
    assert "There is no owner 'me'" in stranger.output
