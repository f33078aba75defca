"""Processes with the same hooks: one scans for all, and another takes over when it is gone."""

import sys

import anyio
import pytest

from server.engine.database.leases import machine_name
from server.engine.debates import utc_now
from server.hooks.config import load_hooks_config
from server.hooks.runner import HOOK_LEASE_SECONDS, name_scan
from tests.contract.journal_helpers import open_any_storage
from tests.support.engines import start_debate
from tests.support.hook_debates import ENVIRON, hook, open_hooks, post_at_start, write_hooks_file
from tests.support.paths import find_folder
from tests.support.polling import wait_before_next_poll
from tests.support.processes.webhook_receiver import open_receiver

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "D6")]

ELSEWHERE = "another-machine:1:x"


async def take_turn(database: str, holder: str, *hooks: dict[str, object], seconds: float) -> str:
    """Have another process scan for these hooks, as far as its lease says."""
    path = write_hooks_file(find_folder(database), *hooks)
    lease = name_scan(load_hooks_config(str(path), ENVIRON))
    async with open_any_storage(database) as storage:
        now = None if database.startswith("postgresql") else utc_now().timestamp()
        assert await storage.leases.acquire(lease, holder, now=now, seconds=seconds) == holder
    return lease


@pytest.mark.both_databases
async def test_one_of_two_processes_scans(database: str) -> None:
    async with open_receiver() as receiver:
        hooks = [post_at_start(receiver.url)]
        async with open_hooks(database, *hooks) as one, open_hooks(database, *hooks) as two:
            for manager in (one, two) * 3:
                await start_debate(manager)
            await receiver.wait_for(6)
            turns = [name for name in await one.leases.find_holders() if name.startswith("hook *")]
        async with open_hooks(database) as bare:
            left = await bare.leases.find_holders()

    assert len(turns) == 1
    assert len({posted.id for posted in receiver.requests}) == len(receiver.requests) == 6
    assert left == {}


async def test_processes_with_other_hooks_scan_for_themselves(database: str) -> None:
    async with open_receiver() as receiver, open_receiver() as other:
        hooks = [
            [post_at_start(receiver.url)],
            [hook("late", "debate_start", *post_at_start(other.url)["do"])],
        ]
        async with open_hooks(database, *hooks[0]) as one, open_hooks(database, *hooks[1]):
            await start_debate(one)
            await receiver.wait_for(1)
            await other.wait_for(1)


async def test_whose_turn_was_of_a_process_that_has_ended_passes_on_at_once(database: str) -> None:
    child = await anyio.run_process([sys.executable, "-c", "import os; print(os.getpid())"])
    dead = f"{machine_name()}:{child.stdout.decode().strip()}:x"
    async with open_receiver() as receiver:
        hooks = [post_at_start(receiver.url)]
        await take_turn(database, dead, *hooks, seconds=600)
        async with open_hooks(database, *hooks) as manager:
            await start_debate(manager)
            await receiver.wait_for(1)


@pytest.mark.both_databases
@pytest.mark.full
async def test_a_turn_on_another_machine_passes_on_when_it_is_over(database: str) -> None:
    async with open_receiver() as receiver:
        hooks = [post_at_start(receiver.url)]
        lease = await take_turn(database, ELSEWHERE, *hooks, seconds=1.5)
        async with open_hooks(database, *hooks) as manager:
            await start_debate(manager)
            while lease in (found := await manager.leases.find_holders()) and found[lease] == ELSEWHERE:
                assert receiver.requests == []
                await wait_before_next_poll()
            await receiver.wait_for(1)


@pytest.mark.full
async def test_who_delivers_keeps_its_lease_for_as_long_as_that_takes(database: str) -> None:
    async with (
        open_receiver(hangs=True) as receiver,
        open_hooks(database, post_at_start(receiver.url)) as manager,
    ):
        await start_debate(manager)
        await receiver.wait_for(1)
        taken = manager.leases.expires_at["hook ops 0"]
        with anyio.fail_after(HOOK_LEASE_SECONDS):
            while manager.leases.expires_at["hook ops 0"] == taken:
                await wait_before_next_poll()
        receiver.release.set()
