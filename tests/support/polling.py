"""Waiting in tests for what no event announces."""

import anyio


async def wait_before_next_poll() -> None:
    """A loop of bare checkpoints would hold the interpreter lock, and the database's thread would starve."""
    await anyio.sleep(0.005)
