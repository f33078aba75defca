"""Starts a server as a client would, to check whether it answers."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from time import perf_counter

import anyio

from server.debate.facts.text import clean_line
from server.settings import PREFIX

TIMEOUT = 20.0  # seconds: a first start on a slow disk takes several


class HandshakeError(Exception):
    """The server did not answer. The text is the reason, in one line."""


async def count_tools(
    command: str, arguments: Sequence[str], environ: Mapping[str, str]
) -> tuple[int, float]:
    """(number of tools, seconds from start to end). The server resumes no debates and runs no hooks.

    Raises HandshakeError if it did not start, or did not answer in time.
    """
    from mcp import Client, StdioServerParameters, stdio_client  # noqa: PLC0415  (slow)

    environment = {**os.environ, **environ, f"{PREFIX}MAX_RECOVERY_AGE_HOURS": "0", f"{PREFIX}HOOKS": ""}
    server = StdioServerParameters(command=command, args=[*arguments], env=environment)
    start = perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            with anyio.fail_after(TIMEOUT):
                async with Client(stdio_client(server, errlog=log)) as client:
                    tools = (await client.list_tools()).tools
        except Exception as error:
            log.seek(0)
            lines = [line for line in log.read().splitlines() if line.strip()]
            reason = lines[-1] if lines else str(error) or type(error).__name__
            raise HandshakeError(clean_line(reason)[:300]) from error
    return len(tools), perf_counter() - start
