"""Live updates: whoever subscribes hears of every change, in both eras and from other processes."""

from typing import Any

import anyio
import pytest
from mcp import Client

from tests.calling import call

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M2", "D2")]


async def heard(client: Client, uri: str, act: Any) -> str:
    """The address of the first update that arrives after `act`."""
    async with client.listen(resource_subscriptions=[uri]) as updates:
        await act()
        async for update in updates:
            return str(update.uri)  # type: ignore[union-attr]  # only resources were asked for
    raise AssertionError("the stream of updates ended")


@pytest.mark.parametrize("era", ["auto"])
async def test_a_listener_hears_of_a_new_turn(connected: Any) -> None:
    async with connected() as client:
        debate_id = (await call(client, "start_debate", question="Ship it?"))["debate_id"]
        uri = f"debate://{debate_id}/transcript"

        async def step() -> None:
            await call(client, "step_round", debate_id=debate_id)

        with anyio.fail_after(5):
            assert await heard(client, uri, step) == uri


@pytest.mark.requirement("N8")
@pytest.mark.parametrize("era", ["auto"])
async def test_a_listener_hears_of_what_another_process_did(connected: Any) -> None:
    async with connected() as client, connected() as other:
        debate_id = (await call(other, "start_debate", question="Ship it?"))["debate_id"]
        uri = f"debate://{debate_id}/transcript"

        async def step() -> None:
            await call(other, "step_round", debate_id=debate_id)

        with anyio.fail_after(5):
            assert await heard(client, uri, step) == uri


# The older protocol's way is the point here.
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_a_subscriber_of_the_older_protocol_hears_until_it_has_had_enough(server: Any) -> None:
    heard_of: list[str] = []
    arrived = anyio.Event()

    async def note(message: Any) -> None:
        root = getattr(message, "root", message)
        if getattr(root, "method", "") == "notifications/resources/updated":
            heard_of.append(str(root.params.uri))
            arrived.set()

    async with Client(server(), mode="legacy", message_handler=note) as client:
        debate_id = (await call(client, "start_debate", question="Ship it?"))["debate_id"]
        uri = f"debate://{debate_id}/transcript"
        await client.subscribe_resource(uri)
        await call(client, "step_round", debate_id=debate_id)
        with anyio.fail_after(5):
            await arrived.wait()
        await client.unsubscribe_resource(uri)
        heard_of.clear()
        await call(client, "step_round", debate_id=debate_id)
        await call(client, "find_debates")

    assert heard_of == []
