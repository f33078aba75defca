"""The site of `counterpoint view` in the test's own process, with a client for its addresses."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2

from server.engine.debates import DebateManager
from server.models import Model
from server.web.site.serving import Site, open_port
from tests.support.engines import open_engine
from tests.support.patience import PATIENCE


@dataclass
class Guest:
    """A browser without a screen, that sends what a page of the site would send."""

    manager: DebateManager
    site: Site
    client: httpx2.AsyncClient

    async def get(self, path: str = "", **headers: str) -> httpx2.Response:
        return await self.client.get(self.site.build_address() + path, headers=headers)

    async def read(self, path: str) -> dict[str, Any]:
        response = await self.get(path)
        assert response.status_code == 200, response.text
        return dict(response.json())

    async def press(self, debate_id: str, action: str, **fields: Any) -> httpx2.Response:
        content = {"action": action, "request_id": "press-0001", **fields}
        return await self.send(debate_id, json.dumps(content).encode())

    async def post(self, path: str, content: Any, **headers: str) -> httpx2.Response:
        """Send data to an address of the site."""
        return await self._post(self.site.build_address() + path, json.dumps(content).encode(), headers)

    async def send(self, debate_id: str, body: Any, **headers: str) -> httpx2.Response:
        """Send a body to where presses go."""
        return await self._post(f"{self.site.build_address(debate_id)}/presses", body, headers)

    async def _post(self, address: str, body: Any, headers: dict[str, str]) -> httpx2.Response:
        """As a page of the site does. A header without a value is left out."""
        own = {"origin": self.site.guard.origin, "content-type": "application/json"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in (own | given).items() if value}
        return await self.client.post(address, content=body, headers=sent)

    @asynccontextmanager
    async def follow(self) -> AsyncIterator["Events"]:
        async with self.client.stream("GET", f"{self.site.build_address()}events") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            yield Events(response.aiter_lines())


class Events:
    def __init__(self, lines: AsyncIterator[str]) -> None:
        self.lines = lines

    async def next(self, kind: str = "") -> dict[str, Any]:
        """The next event, of changes or of this kind. StopAsyncIteration at the end of the stream."""
        found = ""
        with anyio.fail_after(PATIENCE):
            while True:
                name, _, value = (await anext(self.lines)).partition(": ")
                if name == "event":
                    found = value
                if name == "data" and found == kind:
                    return dict(json.loads(value))
                if not name:
                    found = ""

    async def wait_for(self, debate_id: str) -> None:
        """The next event that names a debate."""
        while debate_id not in ((await self.next())["debates"] or ()):
            pass

    async def settle(self) -> None:
        """Read what every stream begins with: that anything may have changed, and so again after the first look."""
        for _ in range(2):
            assert await self.next() == {"debates": None, "trouble": ""}


@asynccontextmanager
async def open_site(database: str, model: Model | None = None) -> AsyncIterator[Guest]:
    async with (
        open_engine(database, model) as manager,
        httpx2.AsyncClient(timeout=PATIENCE, limits=httpx2.Limits()) as client,
    ):
        site = Site(manager, open_port(0), actor="page")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(site.serve)
            yield Guest(manager, site, client)
            site.stop()
