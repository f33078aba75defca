"""`counterpoint db copy`, where debates were deleted in one of the two databases."""

import json
from dataclasses import replace

import anyio
import pytest

from server.models.fakes.scripted import ScriptedModel
from server.upkeep.deletion import delete_debate
from server.upkeep.prune import prune_debates
from storage.addresses import find_name
from storage.ledger import LedgerRow
from storage.streams import Tombstone
from tests.contract.journal_helpers import open_any_storage
from tests.support.contents import read_all
from tests.support.engines import open_engine, run_debate
from tests.support.raw_sql import run_raw
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N14", "N27", "N28")


async def make_debates(database: str) -> tuple[str, str]:
    async with open_engine(database, ScriptedModel()) as manager:
        return (await run_debate(manager, question="One?")).id, (
            await run_debate(manager, question="Two?")
        ).id


async def delete(database: str, debate_id: str) -> None:
    async with open_engine(database) as manager:
        await delete_debate(manager, debate_id, actor="test")


async def find_tombstone(database: str, debate_id: str) -> Tombstone | None:
    async with open_any_storage(database) as storage:
        return await storage.tombstones.find(debate_id)


@pytest.mark.parametrize("is_copied_before", [False, True])
def test_what_was_deleted_in_the_source_is_deleted_in_the_copy(
    cli: Cli, database: str, other: str, *, is_copied_before: bool
) -> None:
    one, two = anyio.run(make_debates, database)
    if is_copied_before:
        assert cli("db", "copy", database, other).exit_code == 0
    anyio.run(delete, database, one)

    copied = cli("db", "copy", database, other)

    assert copied.exit_code == 0, copied.output
    assert copied.stdout.endswith(" 1 deleted debate left a tombstone.\n")
    left = anyio.run(find_tombstone, other, one)
    assert left is not None
    assert left == anyio.run(find_tombstone, database, one)
    assert [*left.texts] == ["receipt"]
    assert anyio.run(read_all, other) == anyio.run(read_all, database)
    again = json.loads(cli("db", "copy", database, other, "--json").stdout)
    assert (again["copied_tombstones"], again["copied_debates"], again["problems"]) == (0, 0, [])
    assert cli("--db", other, "db", "check").exit_code == 0
    assert cli("--db", other, "receipt", one).stdout == cli("receipt", one).stdout
    assert two in cli("--db", other, "list").stdout


def test_what_was_pruned_keeps_its_sums_and_its_judgments_in_the_copy(
    cli: Cli, database: str, other: str
) -> None:
    one, _ = anyio.run(make_debates, database)

    async def prune() -> None:
        async with open_engine(database) as manager:
            storage = manager.store.storage
            summary = await storage.summaries.read(one)
            judged = [
                LedgerRow("verdict", "judge", "judge", {"gold": "a", "family": "", "readings": []}, asked=1)
            ]
            version, *_ = await storage.journal.head(one)
            changed = replace(summary, judgments=judged)
            assert await storage.summaries.rewrite(one, version, changed)
            assert one in (await prune_debates(manager, 0, actor="test")).debate_ids

    anyio.run(prune)
    assert cli("db", "copy", database, other).exit_code == 0
    copied, original = anyio.run(read_all, other), anyio.run(read_all, database)
    assert copied == original
    assert [row.stream for row in original["judgments"]] == [one]
    assert original["days"] != [(0, 0)]


def test_what_was_deleted_in_the_target_stays_so_and_stops_no_other(
    cli: Cli, database: str, other: str
) -> None:
    one, two = anyio.run(make_debates, database)
    assert cli("db", "copy", database, other).exit_code == 0
    anyio.run(delete, other, one)

    again = cli("db", "copy", database, other)
    assert (again.exit_code, again.stdout) == (
        0,
        f"{find_name(other)}: 0 of 2 debates written, 0 entries. 1 debate deleted there before.\n",
    )
    back = cli("db", "copy", other, database)
    assert (back.exit_code, back.stdout.split(". ")[1]) == (0, "1 deleted debate left a tombstone.\n")
    assert anyio.run(read_all, other) == anyio.run(read_all, database)
    assert two in cli("list").stdout


def test_owners_keep_their_debates_and_what_is_left_of_them(cli: Cli, database: str, other: str) -> None:
    one, two = anyio.run(make_debates, database)
    for debate_id, owner in ((one, "alice"), (two, "bob")):
        run_raw(database, "update stream set owner = ? where name = ?", owner, debate_id)
    assert cli("db", "check").exit_code in (0, 1)  # sums of the owners' days are written again
    anyio.run(delete, database, one)

    assert cli("db", "copy", database, other).exit_code == 0

    async def find_owners(place: str) -> dict[str, str]:
        async with open_any_storage(place) as storage:
            return dict(await storage.lists.find_owners([one, two]))

    assert anyio.run(find_owners, other) == anyio.run(find_owners, database) == {one: "alice", two: "bob"}
    run_raw(other, "update stream set owner = ? where name = ?", "eve", two)
    again = cli("db", "copy", database, other)
    assert (again.exit_code, f"{two}: it belongs to somebody else in the target." in again.stdout) == (
        1,
        True,
    )
