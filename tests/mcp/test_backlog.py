"""A client that asks and does not read."""

import anyio
import anyio.lowlevel
import pytest
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest

from server.mcp.stdio import MAX_WAITING, CountingSendStream, RepairingReceiveStream

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8")]


async def test_no_more_is_read_while_answers_wait_for_a_client_that_does_not_read() -> None:
    asked, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](1000)
    written, read_by_client = anyio.create_memory_object_stream[SessionMessage](0)
    outgoing = CountingSendStream(written)
    received = RepairingReceiveStream(incoming, outgoing)
    for number in range(1000):
        asked.send_nowait(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method="ping")))

    async with asked, read_by_client, anyio.create_task_group() as tasks:

        async def serve() -> None:
            while True:
                message = await received.receive()
                assert isinstance(message, SessionMessage)
                tasks.start_soon(outgoing.send, message)
                await anyio.lowlevel.checkpoint()

        tasks.start_soon(serve)
        await anyio.wait_all_tasks_blocked()
        assert outgoing.waiting == MAX_WAITING
        assert incoming.statistics().current_buffer_used == 1000 - MAX_WAITING

        with anyio.fail_after(5):  # and everything is answered as soon as it reads
            answers = [await read_by_client.receive() for _ in range(1000)]
        assert sorted(
            str(one.message.id) for one in answers if isinstance(one.message, JSONRPCRequest)
        ) == sorted(map(str, range(1000)))
        tasks.cancel_scope.cancel()
    await outgoing.aclose()
    await received.aclose()
