"""Pages in a real browser, watched: what they ask for, print, refuse and throw."""

import re
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser as AsyncBrowser
from playwright.async_api import async_playwright
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from tests.support.paths import ROOT
from tests.support.patience import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1240, "height": 900}
DATA = re.compile(
    r'(<script type="application/json" id="counterpoint-data"[^>]*>)(.*?)(</script>)', re.DOTALL
)


@contextmanager
def open_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@asynccontextmanager
async def launch_browser() -> AsyncIterator[AsyncBrowser]:
    """As `open_browser`, in the event loop of an async test. Skips it without Chromium."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Opened:
    """A page that was opened from disk, and all that it did that it should not. `own`: its address."""

    page: Page
    own: str = ""
    complaints: list[str] = field(default_factory=list)

    def show(self, path: Path) -> None:
        """Open a file in place of the one before, or the same anew: for less than half of what a context costs."""
        self.own = path.as_uri()
        self.complaints.clear()
        self.page.goto(self.own)

    def resize(self, viewport: Any) -> None:
        self.page.set_viewport_size(viewport)

    @property
    def chain(self) -> str | None:
        return self.page.get_attribute("html", "data-chain")

    def wait_for_chain(self) -> str | None:
        self.page.wait_for_selector(
            "html:not([data-chain=checking])", state="attached", timeout=1000 * PATIENCE
        )
        return self.chain

    def overflow(self) -> int:
        """How many pixels of the document stand beside the screen."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@contextmanager
def open_file(browser: Browser, path: Path, **context: Any) -> Iterator[Opened]:
    """A file in a context of its own."""
    with open_tab(browser, **context) as opened:
        opened.show(path)
        yield opened


@contextmanager
def open_tab(browser: Browser, **context: Any) -> Iterator[Opened]:
    """A context for files. Every request, message, violation of the policy and error is a complaint."""
    with browser.new_context(viewport=context.pop("viewport", DESK), **context) as made:
        made.set_default_timeout(5000)
        opened = Opened(made.new_page())
        page, complain = opened.page, opened.complaints.append

        def dismiss(dialog: Dialog) -> None:
            complain(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on(
            "request", lambda asked: None if asked.url == opened.own else complain(f"asked for {asked.url}")
        )
        page.on("console", lambda message: complain(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complain(f"error: {error}"))
        page.on("dialog", dismiss)
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.log('refused', e.violatedDirective));"
        )
        yield opened


def read_axe() -> str:
    """The script that finds what keeps people from using a page. Skips the test where it is not installed."""
    script = ROOT / "tests" / "node" / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        pytest.skip("needs `npm install` in tests/node")
    return script.read_text(encoding="utf-8")


def describe_violations(found: Mapping[str, Any]) -> list[tuple[str, str, list[str]]]:
    """What axe found, with the first places of each."""
    return [
        (one["id"], one["impact"], [node["html"][:160] for node in one["nodes"][:3]])
        for one in found["violations"]
    ]


def change_data(text: str, old: str, new: str) -> str:
    """The page with one place of its data changed, as somebody with an editor might."""
    found = DATA.search(text)
    assert found is not None
    assert old in found[2], old
    return text[: found.start(2)] + found[2].replace(old, new, 1) + text[found.end(2) :]


@cache
def read_asset(name: str) -> str:
    from server.web.page import FOLDER  # noqa: PLC0415  (tests without it import this module, too)

    return (FOLDER / "assets" / name).read_text(encoding="utf-8")
