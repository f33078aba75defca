"""`counterpoint db copy`: from a file into PostgreSQL and back, with receipts and what is under way."""

import json
from pathlib import Path

import anyio
import pytest

from server.access.tokens import SHOWN_DIGITS, StoredTokens, hash_token
from server.engine.database.repeats import TwinError
from server.engine.receipts import find_receipt
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.copy import copy_debates
from storage.addresses import find_name
from storage.ledger import LedgerRow
from storage.outbox import OutboxItem
from tests.contract.journal_helpers import open_any_storage
from tests.support.contents import read_all
from tests.support.engines import alter_entries, open_engine, run_debate, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.servers import Cli
from tests.support.simulation import build_request

pytestmark = pytest.mark.requirement("N14", "N18", "N27")


async def make_debates(database: str) -> tuple[str, str]:
    """One that has ended, with a receipt, and one that runs by itself and whose process ends in its first round."""
    gate = Gate()
    async with open_engine(database, ScriptedModel()) as manager:
        ended = await run_debate(manager, question="Ended?")
        assert (await find_receipt(manager, ended)).envelope
    async with open_engine(database, gate.model) as manager:
        running = await start_debate(manager, question="Running?", run=True)
        await gate.wait_for_call()
        row = LedgerRow("item", "judge", "judge", {"n": 1}, asked=1)
        await manager.store.storage.ledger.change(lambda _: [row], owner=manager.store.name_ledger())
    return ended.id, running.id


async def find_positions(database: str) -> tuple[int, int]:
    async with open_any_storage(database) as storage:
        return (await storage.journal.find_changes(-1))[0], await storage.ledger.find_position()


def test_a_copy_is_the_same_database_and_a_second_run_writes_nothing(
    cli: Cli, database: str, other: str
) -> None:
    ended, running = anyio.run(make_debates, database)

    first = cli("db", "copy", database, other)
    assert first.exit_code == 0, first.output
    assert first.stdout.startswith(f"{find_name(other)}: 2 of 2 debates written, ")
    assert anyio.run(read_all, other) == anyio.run(read_all, database)
    positions = anyio.run(find_positions, other)

    second = json.loads(cli("db", "copy", database, other, "--json").stdout)
    assert second.pop("debate_count") == 2
    assert not any(second.values())
    assert anyio.run(find_positions, other) == positions
    back = cli("db", "copy", other, database)
    assert (back.exit_code, "0 of 2 debates written" in back.stdout) == (0, True)

    async def go_on() -> str:
        async with open_engine(other, ScriptedModel()) as manager:
            assert (await find_receipt(manager, await manager.load(ended))).problem == ""
            return (await manager.follow(running, wait=PATIENCE)).status

    assert anyio.run(go_on) == "concluded"
    assert cli("--db", other, "db", "check").exit_code == 0


def test_what_goes_on_in_the_copy_or_is_another_debate_there_is_told(
    cli: Cli, database: str, other: str
) -> None:
    ended, running = anyio.run(make_debates, database)
    assert cli("db", "copy", database, other).exit_code == 0

    async def go_on() -> None:
        async with open_engine(other, ScriptedModel()) as manager:
            await manager.follow(running, wait=PATIENCE)

    anyio.run(go_on)
    ahead = cli("db", "copy", database, other)
    assert ahead.exit_code == 1
    assert f"{running}: its last entry is not the same in both databases." in ahead.stdout
    both_ways = cli("db", "copy", other, database)
    assert (both_ways.exit_code, "1 of 2 debates written" in both_ways.stdout) == (0, True)

    async def write(place: str, note: str) -> None:
        async with open_any_storage(place) as storage:
            seq, *_ = await storage.journal.head(ended)
            at = "2030-01-01T00:00:00.000Z"
            await storage.journal.append(ended, after=seq, at=at, actor="me", bodies=[{"kind": note}])

    anyio.run(write, database, "one")
    anyio.run(write, other, "another")
    apart = cli("db", "copy", database, other)
    assert apart.exit_code == 1
    assert f"{ended}: entry" in apart.stdout
    assert "is another one in the target." in apart.stdout


def test_a_damaged_debate_stops_no_other_and_one_of_a_later_release_is_copied(
    cli: Cli, database: str, other: str
) -> None:
    ended, running = anyio.run(make_debates, database)
    alter_entries(database, "Ended?", "Edited?")

    async def add_later() -> None:
        async with open_any_storage(database) as storage:
            at = "2026-01-01T00:00:00.000Z"
            await storage.journal.append(
                "later", after=0, at=at, actor="me", bodies=[{"kind": "not yet invented"}]
            )

    anyio.run(add_later)
    result = json.loads(cli("db", "copy", database, other, "--json").stdout)
    assert result["copied_debates"] == 2
    [problem] = result["problems"]
    assert problem["debate_id"] == ended
    assert "was changed after it was written" in problem["text"]

    async def find_copied() -> list[str]:
        async with open_any_storage(other) as storage:
            return await storage.journal.list_streams()

    assert anyio.run(find_copied) == [running, "later"]


def test_a_tag_that_was_taken_away_finds_the_debate_in_neither(cli: Cli, database: str, other: str) -> None:
    ended, _ = anyio.run(make_debates, database)
    assert cli("--db", database, "tag", ended, "billing", "ended").exit_code == 0
    assert cli("db", "copy", database, other).exit_code == 0
    assert cli("--db", database, "tag", ended, "--remove", "billing", "ended").exit_code == 0
    assert cli("db", "copy", database, other).exit_code == 0
    for place in (database, other):
        assert ended not in cli("--db", place, "list", "billing").stdout
        assert ended in cli("--db", place, "list", "ended").stdout  # of its question
        assert cli("--db", place, "db", "check").exit_code == 0
    assert anyio.run(read_all, other) == anyio.run(read_all, database)


def test_tokens_are_good_in_the_copy_until_they_are_revoked_in_one_of_the_two(
    cli: Cli, database: str, other: str
) -> None:
    made = {name: cli("--db", database, "token", "new", name).stdout.strip() for name in ("ann", "ben", "cy")}

    async def find_owners(place: str) -> dict[str, str]:
        async with open_any_storage(place) as storage:
            tokens = StoredTokens(storage.tokens)
            found = {name: await tokens.verify_token(token) for name, token in made.items()}
        return {name: access.subject or "" for name, access in found.items() if access}

    def revoke(place: str, name: str) -> None:
        digits = hash_token(made[name])[:SHOWN_DIGITS]
        assert cli("--db", place, "token", "revoke", digits).exit_code == 0

    bare = cli("db", "copy", database, other)
    assert "3 tokens left behind: --tokens takes them along, and lets in whoever has one." in bare.stdout
    assert anyio.run(find_owners, other) == {}
    copied = cli("db", "copy", database, other, "--tokens")
    assert "3 tokens added or revoked. 3 owners let in by added tokens." in copied.stdout
    assert anyio.run(find_owners, other) == {name: name for name in made}
    assert anyio.run(read_all, other) == anyio.run(read_all, database)

    revoke(database, "ann")
    revoke(other, "ben")
    again = cli("db", "copy", database, other)
    assert "1 token added or revoked." in again.stdout
    assert anyio.run(find_owners, other) == {"cy": "cy"}
    assert anyio.run(find_owners, database) == {"ben": "ben", "cy": "cy"}
    assert "token" not in cli("db", "copy", database, other).stdout.removeprefix(find_name(other))


def test_a_database_is_not_copied_into_itself_or_from_nowhere(
    cli: Cli, database: str, other: str, tmp_path: Path
) -> None:
    same = cli("db", "copy", database, database)
    assert (same.exit_code, "are the same database" in same.output) == (2, True)
    nowhere = cli("db", "copy", str(tmp_path / "nowhere.db"), other)
    assert nowhere.exit_code == 1
    assert "There is no database" in nowhere.output
    assert not (tmp_path / "nowhere.db").exists()


@pytest.mark.anyio
async def test_a_repeated_request_joins_its_twin_in_the_copy(database: str, other: str) -> None:
    request = build_request(question="Twice?")
    async with open_engine(database, ScriptedModel()) as manager:
        started = await manager.start(request, actor="test", joins=True)
    async with open_engine(database, ScriptedModel()) as manager, open_any_storage(other) as storage:
        await copy_debates(manager, storage)
    async with open_engine(other, ScriptedModel()) as manager:
        with pytest.raises(TwinError) as raised:
            await manager.start(request, actor="test", joins=True)
        assert raised.value.debate_id == started.id


@pytest.mark.anyio
async def test_what_hooks_have_not_finished_is_counted_and_stays(cli: Cli, database: str, other: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        outbox = manager.store.storage.outbox
        await outbox.register("ops")
        await run_debate(manager)
        await outbox.put(["ops"], 1, [OutboxItem("one", "ops", 0, "s", 1, 1, "debate_start", 0)])
    told = await anyio.to_thread.run_sync(cli, "db", "copy", database, other)
    assert "1 unfinished task of hooks left behind: a server on the old database" in told.stdout
    async with open_any_storage(other) as storage:
        assert await storage.outbox.count() == len(await storage.outbox.find_readers()) == 0
