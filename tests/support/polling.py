"""Waiting in tests for what no event announces."""

import anyio


async def wait_before_next_poll(seconds: float = 0.005) -> None:
    """A loop of bare checkpoints would hold the interpreter lock, and the database's thread would starve.

    `seconds`: more for what takes seconds to come.
    """
    await anyio.sleep(seconds)
