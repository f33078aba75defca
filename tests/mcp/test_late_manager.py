"""A server that opens its manager of debates when something first needs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client

from server.compose import open_manager
from server.engine.debates import DebateManager
from server.mcp.late_manager import LateManager
from server.mcp.server import build_server
from server.models.fakes.scripted import ScriptedModel
from server.settings import InvalidSettingsError, Settings
from server.startup import open_storage
from tests.support.client_calls import call
from tests.support.engines import open_engine, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M1", "D7")]

DAY = 24.0


class Opening:
    """What opens a manager, and how often and until when it was open."""

    def __init__(self, database: str) -> None:
        self.settings = Settings(db=database, models=("scripted",))
        self.times = 0
        self.opened, self.closed = anyio.Event(), anyio.Event()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[DebateManager]:
        self.times += 1
        async with open_manager(self.settings, {"mine": ScriptedModel()}, environ={}) as manager:
            self.opened.set()
            yield manager
        self.closed.set()


@asynccontextmanager
async def run_late(opening: Opening, max_age_hours: float = DAY) -> AsyncIterator[LateManager]:
    manager = LateManager(opening.open)
    async with open_storage(opening.settings) as storage, anyio.create_task_group() as tasks:
        tasks.start_soon(manager.run, storage, max_age_hours)
        yield manager
        manager.close()


async def leave_behind(database: str, **fields: Any) -> str:
    """The id of a debate whose process ended in the middle of it."""
    gate = Gate()
    async with open_engine(database, gate.model) as manager:
        snapshot = await start_debate(manager, **fields)
        if snapshot.is_unattended:
            await gate.wait_for_call()
    return snapshot.id


async def test_a_client_that_lists_the_tools_has_no_manager_opened_and_calls_have_one(database: str) -> None:
    opening = Opening(database)
    async with run_late(opening) as manager, Client(build_server(manager)) as client:
        listed = await client.list_tools()
        assert (len(listed.tools), opening.times) == (8, 0)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(call, client, "find_debates")
            tasks.start_soon(client.list_resources)
        assert opening.times == 1
        assert not opening.closed.is_set()
    assert opening.closed.is_set()


# The older protocol's way is the point here.
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_a_subscriber_before_any_call_is_told_what_follows(database: str) -> None:
    told = anyio.Event()

    async def hear(message: Any) -> None:
        if getattr(getattr(message, "root", message), "method", "") == "notifications/resources/updated":
            told.set()

    opening = Opening(database)
    async with (
        run_late(opening) as manager,
        Client(build_server(manager), mode="legacy", message_handler=hear) as client,
    ):
        await client.subscribe_resource("debate://index")
        async with open_engine(database, ScriptedModel()) as another:
            await start_debate(another)
            with anyio.fail_after(PATIENCE):
                await told.wait()


async def test_a_debate_that_another_process_left_is_recovered_without_a_call(database: str) -> None:
    await leave_behind(database, run=True)
    opening = Opening(database)
    async with run_late(opening):
        with anyio.fail_after(PATIENCE):
            await opening.opened.wait()


@pytest.mark.parametrize(("run", "age"), [(False, DAY), (True, 0.0)])
async def test_nothing_is_opened_for_a_debate_that_nobody_recovers(
    database: str, run: bool, age: float
) -> None:
    await leave_behind(database, run=run)
    opening = Opening(database)
    async with run_late(opening, age) as manager, Client(build_server(manager)) as client:
        await client.list_tools()
        with anyio.move_on_after(0.2):
            await opening.opened.wait()
    assert opening.times == 0


async def test_what_the_opening_raises_is_raised_by_each_request() -> None:
    @asynccontextmanager
    async def fail() -> AsyncIterator[DebateManager]:
        raise InvalidSettingsError("The file of hooks is wrong.")
        yield

    manager, raised = LateManager(fail), list[str]()

    async def ask() -> None:
        try:
            await manager.get()
        except InvalidSettingsError as error:
            raised.append(str(error))

    async with open_storage(Settings(db=":memory:")) as storage, anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)
        with pytest.raises(InvalidSettingsError):
            await manager.run(storage, DAY)
        await ask()
    assert raised == ["The file of hooks is wrong."] * 3
