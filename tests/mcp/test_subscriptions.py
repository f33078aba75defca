"""Live updates: whoever subscribes hears of every change, in both eras and from other processes."""

from collections.abc import Collection, Mapping
from typing import Any

import anyio
import pytest
from mcp import MCPError

from server.engine.debates import DebateManager
from server.engine.setups import SetupPlanner
from server.mcp.subscriptions import LIST_INTERVAL, MAX_FOLLOWED, UpdateBus
from server.models.registry import ModelRegistry
from storage.errors import StorageError
from storage.lists import Lists
from storage.sqlite import SqliteStorage
from storage.sqlite.journal import SqliteJournal
from tests.support.client_calls import call
from tests.support.mcp_debates import run_debate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.servers import connect_client
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M2", "D2")]


ADDRESSES = ["", "/transcript", "/rounds/1", "/verdict", "/transcript?format=json", "/transcript?since=2"]


@pytest.mark.requirement("N8")
@pytest.mark.parametrize("is_own", [True, False])
@pytest.mark.both_databases
async def test_a_listener_hears_of_a_new_turn_at_every_address_of_the_debate(
    open_modern: Any, is_own: bool
) -> None:
    async with open_modern() as client, open_modern() as other:
        debate_id = (await call(client, "start_debate", question="Ship it?"))["debate_id"]
        missing = {f"debate://{debate_id}{part}" for part in ADDRESSES}
        with anyio.fail_after(PATIENCE):
            async with client.listen(resource_subscriptions=[*missing]) as updates:
                await call(client if is_own else other, "step_round", debate_id=debate_id)
                while missing:
                    missing.discard(getattr(await anext(aiter(updates)), "uri", ""))


async def test_the_list_is_announced_at_once_and_then_once_in_a_while(open_modern: Any) -> None:
    announced: list[float] = []
    async with open_modern() as client, anyio.create_task_group() as tasks:

        async def listen() -> None:
            async with client.listen(resources_list_changed=True) as updates:
                listening.set()
                async for _ in updates:
                    announced.append(anyio.current_time())  # noqa: PERF401  (read while it grows)

        listening, began = anyio.Event(), anyio.current_time()
        tasks.start_soon(listen)
        await listening.wait()
        for _ in range(10):
            await run_debate(client)
        with anyio.fail_after(PATIENCE):
            while len(announced) < 2 or announced[-1] < announced[0] + LIST_INTERVAL:
                await wait_before_next_poll()
        tasks.cancel_scope.cancel()

    assert len(announced) <= (announced[-1] - began) / LIST_INTERVAL + 1


class Ear:
    """Hears what a server tells a client of the older protocol."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.arrived = anyio.Event()

    async def __call__(self, message: Any) -> None:
        root = getattr(message, "root", message)
        if getattr(root, "method", "") == "notifications/resources/updated":
            self.heard.append(str(root.params.uri))
            self.arrived.set()


# The older protocol's way is the point here.
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("part", ["", "/transcript?since=2"])
async def test_a_subscriber_of_the_older_protocol_hears_until_it_stops(database: str, part: str) -> None:
    ear = Ear()
    async with connect_client(database, "legacy", message_handler=ear) as client:
        debate_id = (await call(client, "start_debate", question="Ship it?"))["debate_id"]
        uri = f"debate://{debate_id}{part}"
        await client.subscribe_resource(uri)
        await call(client, "step_round", debate_id=debate_id)
        with anyio.fail_after(PATIENCE):
            await ear.arrived.wait()
        assert set(ear.heard) == {uri}
        await client.unsubscribe_resource(uri)
        ear.heard.clear()
        await call(client, "step_round", debate_id=debate_id)
        await call(client, "find_debates")

    assert ear.heard == []


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_a_subscriber_of_the_older_protocol_follows_so_many_addresses(database: str) -> None:
    async with connect_client(database, "legacy") as client:
        with pytest.raises(MCPError, match="At most 1,000 addresses of 500 characters"):
            await client.subscribe_resource(f"debate://{'x' * 500}")
        for number in range(MAX_FOLLOWED):
            await client.unsubscribe_resource(f"debate://{number}")  # which keeps nothing
            await client.subscribe_resource(f"debate://{number}")
        with pytest.raises(MCPError, match="At most 1,000 addresses"):
            await client.subscribe_resource("debate://index")
        await client.unsubscribe_resource("debate://0")
        await client.subscribe_resource("debate://index")


class LateJournal(SqliteJournal):
    """Cannot say at first what has changed."""

    asked = 0

    async def find_changes(self, after: int) -> tuple[int, list[str]]:
        self.asked += 1
        if self.asked < 3:
            raise StorageError("the database is locked")
        return await super().find_changes(after)


class LateLists(Lists):
    """Cannot say at first whose debates these are."""

    asked = 0

    async def find_owners(self, streams: Collection[str]) -> Mapping[str, str]:
        self.asked += 1
        if self.asked == 1:
            raise StorageError("the database is locked")
        return await super().find_owners(streams)


async def test_a_change_is_announced_though_nobody_could_say_at_first_whose_it_is(database: str) -> None:
    storage = await SqliteStorage.open(database)
    storage.lists = lists = LateLists(storage.database, storage.index)
    planner = SetupPlanner(ModelRegistry({}), configured_models=["scripted"], environ={})
    updates, heard = UpdateBus(), anyio.Event()
    updates.subscribe(lambda _event: heard.set())
    async with DebateManager(storage, planner) as manager:
        await updates.poll(manager)
        await manager.start(build_request(question="Ship it?"), actor="test")
        for _ in range(2):
            assert not heard.is_set()
            await updates.poll(manager)
        await updates.announce_list()
    await storage.close()

    assert lists.asked == 2
    assert heard.is_set()


class Gone:
    """A client that cannot be told anything any more."""

    def __init__(self) -> None:
        self.told = anyio.Event()

    async def notify(self, *_: Any) -> None:
        self.told.set()
        raise ConnectionResetError


async def test_neither_a_busy_database_nor_a_client_that_is_gone_ends_the_updates(database: str) -> None:
    storage = await SqliteStorage.open(database)
    storage.journal = journal = LateJournal(storage.database, PATIENCE)
    updates, gone, heard = UpdateBus(), Gone(), list[str]()
    more = anyio.Event()

    def note(event: Any) -> None:
        heard.append(getattr(event, "uri", ""))
        if heard.count("debate://index") == 2:
            more.set()

    updates.subscribe(note)
    updates.followed[gone] = {("local", "debate://index")}  # type: ignore[index]  # it quacks
    async with DebateManager(
        storage, SetupPlanner(ModelRegistry({}), configured_models=["scripted"], environ={})
    ) as manager:
        manager.start_task(updates.run, manager)
        with anyio.fail_after(PATIENCE):
            while not gone.told.is_set():
                await manager.start(build_request(question="Ship it?"), actor="test")
                with anyio.move_on_after(0.1):
                    await gone.told.wait()
            await manager.start(build_request(question="Another?"), actor="test")
            await more.wait()
    await storage.close()

    assert journal.asked > 3
