"""The page as an MCP App in a host of other hands: the web client of the MCP Inspector, in a browser."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from playwright.async_api import Frame, Page

from tests.support.browser import launch_browser
from tests.support.node import find_node
from tests.support.paths import NODE, ROOT
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19"), pytest.mark.node]

INSPECTOR = NODE / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def find_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where the Inspector's page is, with our server in its list."""
    node = find_node(NODE)
    entry = {
        "command": sys.executable,
        "args": ["-m", "counterpoint", "serve"],
        "env": {
            "PYTHONPATH": str(ROOT),
            "COUNTERPOINT_DB": str(tmp_path / "debates.db"),
            "COUNTERPOINT_MODELS": "scripted",
        },
    }
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"counterpoint": entry}}))
    environment = {
        **os.environ,
        "PATH": f"{Path(node).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "CLIENT_PORT": str(find_port()),
        "MCP_AUTO_OPEN_ENABLED": "false",
        "MCP_INSPECTOR_SECRET_STORE": "memory",
        "MCP_SANDBOX_PORT": str(find_port()),
    }
    command = [node, str(INSPECTOR), "--web", "--config", str(servers)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=environment, text=True, cwd=tmp_path
    ) as served:
        assert served.stdout is not None
        printed = (re.search(r"http://127\.0\.0\.1:\d+\?\S+", line) for line in served.stdout)
        found = next(filter(None, printed), None)
        assert found, "the Inspector has not started"
        yield found.group()
        served.terminate()


async def find_app(page: Page) -> Frame:
    """The frame in the Inspector's sandbox that shows a debate."""
    with anyio.fail_after(PATIENCE):
        while True:
            for frame in page.frames[2:]:  # the Inspector, its sandbox, and in it the app
                if await frame.locator("h1").count():
                    return frame
            await wait_before_next_poll()  # frames come and go while the app loads


async def test_a_debate_is_opened_stepped_and_concluded_in_the_inspector(address: str) -> None:
    async with launch_browser() as browser:
        page = await browser.new_page(viewport={"width": 1500, "height": 1000})
        page.set_default_timeout(PATIENCE * 1000)
        await page.goto(address)
        await page.get_by_role("switch").first.click(force=True)
        await page.get_by_text("Apps", exact=True).first.click()
        apps = page.get_by_role("button").filter(has_text=re.compile("^(Start|Run|Get|Watch)"))
        await page.get_by_text("Get a second opinion").first.click()
        await page.get_by_label("question").first.fill("Ship it on Friday?")
        names = [(await app.inner_text()).split("\n")[0] for app in await apps.all()]
        await page.get_by_role("button", name="Open App").click()
        app = await find_app(page)
        await app.locator("h1", has_text="Ship it on Friday?").wait_for()
        step = app.get_by_role("button", name="Step", exact=True)
        for number in (1,):
            await step.click()
            await app.get_by_text(f"Round {number}", exact=True).first.wait_for()
        await app.get_by_role("button", name="Conclude", exact=True).click()
        with anyio.fail_after(PATIENCE):
            while await app.evaluate("counterpoint.position().status") != "concluded":
                await wait_before_next_poll()
        await app.locator("html[data-chain=intact]").wait_for(state="attached")

    assert {"Get a second opinion", "Run the next round", "Get the verdict"} <= {*names}
    assert "Watch a debate" not in names
