"""Pages of the site of `counterpoint view` in a real browser, watched: what they do that they should not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page
from playwright.async_api import Request as BrowserRequest

from tests.support.patience import PATIENCE
from tests.support.sites import Guest

MILLISECONDS = PATIENCE * 1000


class Window:
    """A browser with pages of the site, and what they did that they should not."""

    def __init__(self, guest: Guest, context: BrowserContext) -> None:
        self.guest, self.context = guest, context
        self.complaints: list[str] = []

    async def open(self, debate_id: str = "") -> Page:
        page, complain = await self.context.new_page(), self.complaints.append

        def check_request(asked: BrowserRequest) -> None:
            if not asked.url.startswith(self.guest.site.guard.origin) or asked.headers.get("referer"):
                complain(f"asked for {asked.url}")

        def check_message(told: ConsoleMessage) -> None:
            if told.type in ("error", "warning"):
                complain(told.text)

        page.on("dialog", lambda dialog: complain(f"dialog: {dialog.message}"))
        page.on("pageerror", lambda error: complain(f"error: {error}"))
        page.on("request", check_request)
        page.on("console", check_message)
        await page.goto(self.guest.site.build_address(debate_id))
        return page


@asynccontextmanager
async def open_window(chromium: Browser, guest: Guest, **context_options: Any) -> AsyncIterator[Window]:
    async with await chromium.new_context(**context_options) as context:
        context.set_default_timeout(MILLISECONDS)
        yield Window(guest, context)


async def see(page: Page, text: str) -> None:
    await page.get_by_text(text).first.wait_for()


async def press(page: Page, name: str) -> None:
    await page.get_by_role("button", name=name, exact=True).click()
