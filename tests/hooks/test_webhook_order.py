"""Deliveries of a hook arrive in the order of the events, whichever processes make them, and whatever breaks."""

import os
import signal
from contextlib import AsyncExitStack
from itertools import groupby
from typing import Any

import anyio
import pytest

from server.debate.views.events import event_names
from server.engine.debates import utc_now
from server.hooks.runner import lease_name
from tests.contract.journal_helpers import open_any_storage
from tests.support.engines import run_debate
from tests.support.hook_debates import (
    ENVIRON,
    hook,
    open_hooks,
    open_retrying_hooks,
    webhook,
    write_hooks_file,
)
from tests.support.paths import find_folder
from tests.support.patience import PATIENCE
from tests.support.processes.gated_servers import open_call_gate, start_server_process
from tests.support.processes.webhook_receiver import open_receiver

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D6", "D21")]


async def find_worker(database: str, *, other_than: int = 0) -> int:
    """The id of the process that works on the hook's queue."""
    with anyio.fail_after(PATIENCE):
        async with open_any_storage(database) as storage:
            while True:
                holder = (await storage.leases.find_holders(now=utc_now().timestamp())).get(
                    lease_name("ops", 0), ""
                )
                if holder and (pid := int(holder.split(":")[-2])) != other_than:
                    return pid
                await anyio.lowlevel.checkpoint()


def read_key(posted: Any) -> tuple[str, int, str]:
    event = posted.json["event"]
    return posted.json["debate"]["id"], event["seq"], event["names"][0]


@pytest.mark.both_databases
@pytest.mark.full
async def test_three_servers_one_of_them_killed_keep_the_order(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        open_receiver(status_lines=["500 Oh", "204 Good", "503 Busy"]) as receiver,
        open_call_gate() as gate,
    ):
        hooks = [hook("ops", "*", webhook(receiver.url))]
        async with open_hooks(database, *hooks):  # from here on every debate is posted
            pass
        path = write_hooks_file(find_folder(database), *hooks)
        for name, value in {"COUNTERPOINT_HOOKS": str(path), **ENVIRON}.items():
            monkeypatch.setenv(name, value)
        async with AsyncExitStack() as servers:
            pids = [
                (await servers.enter_async_context(start_server_process(database, gate, "auto")))[
                    0
                ].process.pid
                for _ in range(3)
            ]
            async with open_hooks(database) as bare:
                snapshots = [await run_debate(bare) for _ in range(2)]
                await receiver.wait_for(4)  # two failures, each tried again
                receiver.release = anyio.Event()
                count = len(await receiver.wait_for(len(receiver.requests) + 1))
                killed = await find_worker(database)
                os.kill(killed, signal.SIGKILL)
                assert len(await receiver.wait_for(count + 1)) == count + 1
                assert await find_worker(database, other_than=killed) in {*pids} - {killed}
                receiver.release.set()
                names = [
                    (snapshot.id, entry.seq, name)
                    for snapshot in snapshots
                    for entry in snapshot.entries
                    for name in event_names(snapshot.debate, entry.event)
                ]
                await receiver.wait_for(len(names) + 3)

    arrived = [(read_key(posted), posted.id) for posted in receiver.requests]
    assert [key for key, _ in groupby(key for key, _ in arrived)] == names
    assert len(arrived) == len(names) + 3  # two failures, and what the killed one had posted
    assert len(set(arrived)) == len(names)
    assert len({posted_id for _, posted_id in arrived}) == len(names)


@pytest.mark.full
async def test_what_fails_is_not_overtaken_and_other_hooks_do_not_wait_for_it(database: str) -> None:
    async with (
        open_receiver(status_lines=["500 Oh"] * 3) as failing,
        open_receiver() as good,
        open_retrying_hooks(
            database,
            hook("bad", "*", webhook(failing.url, attempts=3)),
            hook("good", "*", webhook(good.url)),
        ) as manager,
    ):
        snapshot = await run_debate(manager)
        count = sum(len(event_names(snapshot.debate, entry.event)) for entry in snapshot.entries)
        await good.wait_for(count)
        await failing.wait_for(count + 2)

    order = [read_key(posted) for posted in good.requests]
    assert [read_key(posted) for posted in failing.requests] == [order[0], order[0], *order]
