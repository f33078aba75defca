"""A browser for tests of pages."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser as AsyncBrowser
from playwright.sync_api import Browser

from server.web.record import Data
from tests.support.browser import CHROMIUM, Opened, launch_browser, open_browser, open_tab
from tests.support.pages import load_page_data, write_page

TEAM = [{"name": "Ada", "stance": "Buy now"}, {"name": "Ben", "stance": "Wait a year"}]
CLAIM = (
    "[1] “The plan was tested with two customers” (doc 1), so it works.\n\n[2] Not [Ada 1.1] but [Ben 1.1]."
)
DOCUMENT = {"title": "plan", "text": "The plan was tested with two customers. It ships on Friday."}
JUDGES = {"models": ["mine", "mine", "mine"]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one module: while it is open its event loop runs in this thread, and async tests cannot."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with open_browser() as found:
        yield found


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Opened]:
    """Where a test may show its pages: it changes nothing that outlives them."""
    with open_tab(browser) as opened:
        yield opened


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Of one module, as the browser of its async tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def chromium(anyio_backend: str) -> AsyncIterator[AsyncBrowser]:  # noqa: ARG001  (its event loop)
    async with launch_browser() as launched:
        yield launched


@pytest.fixture(scope="session")
def held(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """A debate of two with points, quotes, private votes and three judges."""
    options = {"ballots": "rounds", "judges": JUDGES}
    fields = {
        "question": "Should we buy 7 shares?",
        "debaters": TEAM,
        "documents": [DOCUMENT],
        "options": options,
    }
    return load_page_data(tmp_path_factory.mktemp("held"), CLAIM, format="advocates", **fields)


@pytest.fixture(scope="session")
def held_path(held: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(tmp_path_factory.mktemp("page"), held)
