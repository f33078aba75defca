"""Debates that are deleted: what is left, and who notices."""

import json
from contextlib import aclosing, suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from server.debate.commands.requests import ChangesInput
from server.debate.facts.escalation import MirrorSkipped
from server.engine import queries, transfer
from server.engine.database.errors import DebateDeletedError, DebateNotFoundError
from server.engine.receipts import find_receipt
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.check import check_database
from server.upkeep.deletion import delete_debate
from tests.support.engines import alter_entries, open_engine, run_debate, start_debate
from tests.support.gated_model import Gate
from tests.support.mirrored_debates import engine, wait_for_mirror
from tests.support.patience import PATIENCE
from tests.support.planted_effects import Planted, describe_debate
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N28")]


def find_files(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


async def test_what_is_left_of_a_debate_is_its_id_its_last_hash_and_the_date(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        ended = await run_debate(manager, question="Is sesquipedalian kind?")
        whole = json.dumps(await transfer.export_debate(manager, ended.id))
        exported = transfer.parse_export(whole.encode())

        [left] = await delete_debate(manager, ended.id, actor="test")

        assert (left.stream, left.seq, left.head) == (ended.id, ended.debate.version, ended.entries[-1].hash)
        assert await delete_debate(manager, ended.id, actor="another") == [left]
        for read in (
            manager.load(ended.id),
            manager.join(ended.id, run=True),
            manager.step(ended.id, wait=0),
            manager.follow(ended.id, wait=0),
            transfer.export_debate(manager, ended.id),
            transfer.restore_debate(manager, exported),
        ):
            with pytest.raises(DebateDeletedError, match=f"was deleted on .*{left.head}"):
                await read
        assert (await find_receipt(manager, ended)).problem == "The debate was deleted just now."
        assert await manager.store.find() == await manager.store.find("sesquipedalian") == []
        assert await manager.store.find_by_prefix(ended.id[:4], 10) == []
        result = await check_database(manager)
        assert (result.debate_count, result.problems) == (0, ())
    assert not [path for path in find_files(tmp_path) if b"sesquipedalian" in path.read_bytes()]


async def test_a_debate_that_never_was_is_not_deleted(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        with pytest.raises(DebateNotFoundError, match="There is no debate"):
            await delete_debate(manager, "k3x9w2m4p7qr", actor="test")


async def test_a_debate_that_was_altered_can_be_deleted(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        ended = await run_debate(manager)
    alter_entries(str(tmp_path / "db"), "Ship it?", "Sink it?")
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        assert [left.seq for left in await delete_debate(manager, ended.id, actor="test")] == [
            ended.debate.version
        ]
        assert await manager.store.find() == []


async def test_forks_keep_what_they_took_over(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        ended = await run_debate(manager)
        fork = await manager.fork(ended.id, 1, ChangesInput(), actor="test")

        await delete_debate(manager, ended.id, actor="test")

        kept = await manager.load(fork.id)
        assert [turn.text for turn in kept.debate.turns] == [turn.text for turn in ended.debate.turns[:2]]
        assert await queries.compare_family(manager, kept) == ([], [ended.id], 0)


async def test_who_runs_it_and_who_watches_it_are_told_and_no_model_is_asked_again(tmp_path: Path) -> None:
    gate = Gate()
    async with open_engine(tmp_path / "db", gate.model) as running, open_engine(tmp_path / "db") as other:
        started = await start_debate(running, run=True)
        await gate.wait_for_call()
        async with aclosing(other.watch_states(started.id)) as states:
            await anext(states)
            await delete_debate(other, started.id, actor="test")
            with anyio.fail_after(PATIENCE), pytest.raises(DebateDeletedError):
                await anext(states)
        asked = len(gate.model.requests)
        gate.release.set()
        with anyio.fail_after(PATIENCE), pytest.raises(DebateDeletedError):
            await running.follow(started.id, wait=PATIENCE)
        while running.is_working(started.id):
            await wait_before_next_poll()
        assert await other.find_runs() == set()
        assert len(gate.model.requests) == asked


async def test_the_mirror_goes_with_its_debate(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6})) as manager:
        ended = await run_debate(manager, **describe_debate(mirror=True))
        assert ended.debate.mirror_opened

        left = await delete_debate(manager, ended.id, actor="test")

        assert [one.stream for one in left] == [ended.id, ended.debate.mirror_opened.debate_id]
        assert await manager.store.find() == []


async def test_a_debate_goes_on_without_a_mirror_that_was_deleted(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6}, delay=0.05)) as manager:
        started = await start_debate(manager, run=True, **describe_debate(mirror=True))
        mirror_id = await wait_for_mirror(manager, started.id)
        await delete_debate(manager, mirror_id, actor="test")
        with anyio.fail_after(PATIENCE):
            with suppress(DebateDeletedError):  # the run of the mirror, which it waits for
                await manager.follow(started.id, wait=PATIENCE)
            ended = await manager.follow(started.id, wait=PATIENCE)

    skipped = [entry.event for entry in ended.entries if isinstance(entry.event, MirrorSkipped)]
    assert [one.reason for one in skipped] == ["it was deleted"]
