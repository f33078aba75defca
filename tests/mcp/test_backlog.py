"""Messages to a client, also to one that asks and does not read."""

import os
import threading
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest, jsonrpc_message_adapter

from server.mcp.stdio import MAX_WAITING, OutgoingMessages, RepairingReceiveStream, write_whole
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8")]


class Client:
    """A client that reads nothing until it is told to."""

    def __init__(self) -> None:
        self.reads = threading.Event()
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        assert self.reads.wait(5)
        self.written.append(data)

    @property
    def ids(self) -> list[str]:
        lines = b"".join(self.written).splitlines()
        messages = [jsonrpc_message_adapter.validate_json(line) for line in lines]
        return [str(message.id) for message in messages if isinstance(message, JSONRPCRequest)]


def build_message(number: int) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method="ping"))


async def test_no_more_is_read_while_answers_wait_for_a_client_that_does_not_read() -> None:
    asked, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](1000)
    client = Client()
    outgoing = OutgoingMessages(client.write)
    received = RepairingReceiveStream(incoming, outgoing)
    for number in range(1000):
        asked.send_nowait(build_message(number))

    async with asked, anyio.create_task_group() as tasks:
        tasks.start_soon(outgoing.deliver)

        async def serve() -> None:
            for _ in range(1000):
                message = await received.receive()
                assert isinstance(message, SessionMessage)
                tasks.start_soon(outgoing.send, message)
                await anyio.lowlevel.checkpoint()
            await outgoing.aclose()

        tasks.start_soon(serve)
        try:
            with anyio.fail_after(PATIENCE):
                while outgoing.waiting < MAX_WAITING:
                    await anyio.lowlevel.checkpoint()
            for _ in range(100):
                await anyio.lowlevel.checkpoint()
            assert outgoing.waiting == MAX_WAITING
            assert incoming.statistics().current_buffer_used == 1000 - MAX_WAITING
        finally:
            client.reads.set()  # and everything is answered as soon as it reads
    assert client.ids == [str(number) for number in range(1000)]
    await received.aclose()


async def test_what_waits_meanwhile_is_written_at_once() -> None:
    client = Client()
    outgoing = OutgoingMessages(client.write)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(outgoing.deliver)
        await outgoing.send(build_message(0))
        await anyio.lowlevel.checkpoint()
        for number in range(1, 10):
            await outgoing.send(build_message(number))
        client.reads.set()
        await outgoing.aclose()
    assert client.ids == [str(number) for number in range(10)]
    assert len(client.written) == 2


async def test_a_client_that_is_gone_ends_the_connection() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        outgoing = OutgoingMessages(partial(write_whole, writing))
        await outgoing.send(build_message(1))
        with pytest.raises(BrokenPipeError):
            await outgoing.deliver()
    finally:
        os.close(writing)
