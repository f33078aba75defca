"""The page as an MCP App in a browser: opened, steered and watched through a host that stands in for others."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from mcp import Client
from playwright.async_api import Browser, FrameLocator, Page

from tests.support.client_calls import call
from tests.support.gated_model import Gate
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE
from tests.support.servers import OpenClient

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N12", "N19")]

HASTE = "const wait = setTimeout; setTimeout = (act, ms) => wait(act, ms > 10_000 ? 100 : ms);"
"""Has the app wait a moment where it would wait for long. Playwright's own clock misses a sandboxed frame at times."""

MILLISECONDS = PATIENCE * 1000
HOST = "http://localhost/host"  # a secure context, without a server
HOSTILE = "<img src=x onerror=alert(1)> Ship it? </script><script>alert(2)</script>"


class Host:
    """A host with one app, and the server behind it."""

    def __init__(self, client: Client, page: Page) -> None:
        self.client, self.page = client, page
        self.calls: list[str] = []  # tools that the app has called
        self.arguments: list[dict[str, Any]] = []
        self.asked: list[str] = []  # addresses that were asked of the network
        self.errors: list[str] = []  # thrown in a page and caught by nobody
        self.dialogs: list[str] = []
        self.fails_with = ""  # what the server answers from now on

    @property
    def app(self) -> FrameLocator:
        return self.page.frame_locator("#app")

    async def call_tool(self, params: dict[str, Any]) -> Any:
        self.calls.append(params["name"])
        self.arguments.append(params["arguments"])
        if self.fails_with:
            return {"isError": True, "content": [{"type": "text", "text": self.fails_with}]}
        result = await self.client.call_tool(params["name"], params.get("arguments"))
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def open(self, *, waits: bool = True, **options: Any) -> None:
        """Show the app that the server names for a tool."""
        tools = {tool.name: tool for tool in (await self.client.list_tools()).tools}
        meta = tools["start_debate"].meta
        assert meta is not None
        (content,) = (await self.client.read_resource(meta["ui"]["resourceUri"])).contents
        await self.page.evaluate("([html, options]) => open(html, options)", [content.text, options])  # type: ignore[union-attr]
        if waits:
            begun = "seen.some(({ method }) => method === 'ui/notifications/initialized')"
            await self.page.wait_for_function(begun)

    async def tell(self, method: str, **params: Any) -> None:
        await self.page.evaluate("(message) => send(message)", {"method": f"ui/{method}", "params": params})

    async def show(self, result: dict[str, Any]) -> None:
        """As a host does beside a call of get_verdict."""
        await self.tell("notifications/tool-input", arguments={"debate_id": result["debate_id"]})
        await self.tell("notifications/tool-result", content=[], structuredContent=result)

    async def press(self, name: str) -> None:
        await self.app.get_by_role("button", name=name, exact=True).click(timeout=MILLISECONDS)

    async def expect(self, text: str) -> None:
        await self.app.get_by_text(text).first.wait_for(timeout=MILLISECONDS)


@asynccontextmanager
async def open_host(chromium: Browser, client: Client) -> AsyncIterator[Host]:
    async with await chromium.new_context() as context:
        page = await context.new_page()
        host = Host(client, page)
        html = (ROOT / "tests/support/app_host.html").read_text()

        async def answer(route: Any) -> None:
            host.asked.append(route.request.url)
            await route.fulfill(body=html, content_type="text/html")

        async def dismiss(dialog: Any) -> None:
            host.dialogs.append(dialog.message)
            await dialog.dismiss()

        await page.route("**/*", answer)
        page.on("dialog", dismiss)
        page.on("pageerror", lambda error: host.errors.append(str(error)))
        await page.expose_function("callTool", host.call_tool)
        await page.goto(HOST)
        yield host
        assert host.dialogs == []
        assert host.asked == [HOST]  # the app asks nothing of the network


async def test_a_debate_is_opened_stepped_steered_and_concluded(
    chromium: Browser, open_modern: OpenClient
) -> None:
    async with open_modern() as client, open_host(chromium, client) as host:
        opened = await call(client, "start_debate", question=HOSTILE, format="verdict")
        await host.open()
        await host.show(opened)
        await host.expect("Ship it?")
        await host.press("Step")
        await host.app.locator(".turn").first.wait_for(timeout=MILLISECONDS)
        await host.press("Pause")
        await host.press("Resume")
        await host.app.get_by_role("button", name="Pause", exact=True).wait_for(timeout=MILLISECONDS)
        await host.press("Note")
        await host.app.get_by_role("textbox").fill("What of the costs?")
        await host.press("Send")
        await host.expect("What of the costs?")
        await host.press("Conclude")
        await host.app.locator(".chip.concluded").wait_for(timeout=MILLISECONDS)
        await host.app.locator("html[data-chain=intact]").wait_for(state="attached", timeout=MILLISECONDS)
        found = await call(client, "get_verdict", debate_id=opened["debate_id"])

    assert found["status"] == "concluded"
    assert {"watch_debate", "step_round", "intervene"} == {*host.calls}


async def test_what_others_do_is_shown_without_being_asked(
    chromium: Browser, open_modern: OpenClient
) -> None:
    async with open_modern() as client, open_modern() as other, open_host(chromium, client) as host:
        opened = await call(client, "start_debate", question="Ship it?", format="verdict")
        await host.open()
        await host.show(opened)
        await host.expect("Ship it?")
        await call(other, "intervene", debate_id=opened["debate_id"], action="inject", text="From elsewhere.")
        await host.expect("From elsewhere.")
        for _ in range(3):
            ended = await call(other, "step_round", debate_id=opened["debate_id"])
        await host.app.locator("button:disabled").first.wait_for(timeout=MILLISECONDS)

    assert ended["status"] == "concluded"


async def test_a_debate_is_shown_before_the_call_that_began_it_has_a_result(
    chromium: Browser, open_modern: OpenClient
) -> None:
    gate = Gate()
    async with open_modern({"held": gate.model}) as client, open_host(chromium, client) as host:
        await call(client, "start_debate", question="Another one?")
        await host.open()
        await host.tell("notifications/tool-input", arguments={"question": "Ship  it?\n", "run": True})
        asked = {"question": "Ship it?", "models": ["held"], "run": True, "wait_seconds": 600}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(call, client, "start_debate", **asked))
            await gate.wait_for_call()
            await host.expect("Ship it?")
            await host.press("Pause")
            await host.expect("Answers under way are kept")
            tasks.cancel_scope.cancel()
        assert await host.app.get_by_text("Another one?").count() == 0


async def test_the_look_follows_the_host(chromium: Browser, open_modern: OpenClient) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    async with open_modern() as client, open_host(chromium, client) as host:
        opened = await call(client, "start_debate", question="Ship it?")
        await host.open(context={"theme": "dark", "displayMode": "inline"})
        await host.show(opened)
        await host.expect("Ship it?")
        body = host.app.locator("body")
        dark = await body.evaluate(f"() => {background}")
        await host.tell("notifications/host-context-changed", theme="light", displayMode="fullscreen")
        await host.app.locator("html[data-display=fullscreen]").wait_for(
            state="attached", timeout=MILLISECONDS
        )
        light = await body.evaluate(f"() => {background}")
        sizes = await host.page.evaluate(
            "seen.filter(({ method }) => method === 'ui/notifications/size-changed').map(({ params }) => params.height)"
        )

    assert dark != light
    assert sizes[-1] > 100


async def test_a_host_that_answers_twice_or_lets_others_speak_changes_nothing(
    chromium: Browser,
    open_modern: OpenClient,
) -> None:
    async with open_modern() as client, open_host(chromium, client) as host:
        opened = await call(client, "start_debate", question="Ship it?", format="verdict")
        await host.open(answers=2)
        await host.show(opened)
        await host.expect("Ship it?")
        forged = {
            "jsonrpc": "2.0",
            "method": "ui/notifications/tool-input",
            "params": {"arguments": {"debate_id": "x" * 12}},
        }
        speak = f"parent.document.getElementById('app').contentWindow.postMessage({json.dumps(forged)}, '*')"
        await host.page.evaluate(
            "(html) => document.body.append(Object.assign(document.createElement('iframe'), { srcdoc: html }))",
            f"<script>{speak}</script>",
        )
        await host.tell("notifications/unknown", anything=1)
        await host.press("Step")
        await host.app.locator(".turn").first.wait_for(timeout=MILLISECONDS)
        debates = {params["debate_id"] for params in host.arguments}

    assert debates == {opened["debate_id"]}
    assert host.calls.count("step_round") == 1


async def test_an_app_whose_host_or_server_fails_says_so_and_keeps_what_it_shows(
    chromium: Browser,
    open_modern: OpenClient,
) -> None:
    async with open_modern() as client, open_host(chromium, client) as host:
        opened = await call(client, "start_debate", question="Ship it?", format="verdict")
        await host.open()
        await host.show(opened)
        await host.expect("Ship it?")
        host.fails_with = "There is no debate: it was deleted."
        await host.press("Step")
        await host.expect("There is no debate: it was deleted.")
        await host.expect("Ship it?")


async def test_a_host_that_shows_no_debate_is_told_why(chromium: Browser, open_modern: OpenClient) -> None:
    async with open_modern() as client, open_host(chromium, client) as host:
        await host.open()
        failed = {"content": [{"type": "text", "text": "Error: no model is set up."}], "isError": True}
        await host.tell("notifications/tool-result", **failed)
        await host.expect("Error: no model is set up.")
        await host.tell("resource-teardown", reason="closed")

    assert host.calls == []


async def test_a_host_that_never_answers_is_told_of(chromium: Browser, open_modern: OpenClient) -> None:
    async with open_modern() as client, open_host(chromium, client) as host:
        await host.open(answers=0, waits=False, script=HASTE)
        await host.expect("The host does not answer.")

    assert host.calls == []


ODD_MESSAGES: list[Any] = [
    *(None, "text", {"method": "ui/notifications/tool-result", "params": None}),
    {
        "method": "ui/notifications/host-context-changed",
        "params": {"safeAreaInsets": {"top": "x"}, "styles": 7},
    },
    {"method": "ui/notifications/tool-input", "params": {"arguments": {"debate_id": {"toString": 1}}}},
    *({"method": "toString", "id": 7}, {"id": 999, "result": {}}),
]


async def test_messages_of_another_shape_do_no_harm(chromium: Browser, open_modern: OpenClient) -> None:
    async with open_modern() as client, open_host(chromium, client) as host:
        await host.open()
        for number, message in enumerate(ODD_MESSAGES):
            opened = await call(client, "start_debate", question=f"Ship {number}?", format="verdict")
            await host.page.evaluate("(message) => frame.contentWindow.postMessage(message, '*')", message)
            await host.page.evaluate("(message) => send(message)", message)
            await host.show(opened)
            await host.expect(f"Ship {number}?")
            assert host.errors == [], message
