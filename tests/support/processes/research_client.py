"""Open research servers of `research_servers.py` and call their tools."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from server.debate.facts.answers import Lookup
from server.debate.prompts.prompt import FunctionCall
from server.research import Research
from server.settings import ResearchServer
from tests.support.patience import PATIENCE


def build_server_config(kind: str, **fields: Any) -> ResearchServer:
    script = str(Path(__file__).parent / "research_servers.py")
    return ResearchServer.model_validate({"command": sys.executable, "args": [script, kind], **fields})


@asynccontextmanager
async def open_research(pause: float = 30, **servers: ResearchServer) -> AsyncIterator[Research]:
    async with Research(servers, retry_delay=pause) as research:
        with anyio.fail_after(PATIENCE):
            yield research


async def call_research_tool(research: Research, name: str, **arguments: object) -> Lookup:
    return await research.look_up(FunctionCall(name, json.dumps(arguments)), [name.partition("__")[0]])


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")
