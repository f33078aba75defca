"""Pages of other sites in a real browser, which know the address of the pages of `counterpoint view`."""

from pathlib import Path

import pytest

from server.models.fakes.scripted import ScriptedModel
from server.models.providers import keys
from tests.support.browser import launch_browser
from tests.support.engines import start_debate
from tests.support.sites import open_site

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]

ATTEMPTS = (Path(__file__).parent / "evil_page.js").read_text(encoding="utf-8")
ELSEWHERE = "http://evil.example/"


async def test_pages_of_another_site_can_neither_read_nor_press_even_with_the_address(database: str) -> None:
    async with open_site(database, ScriptedModel()) as guest, launch_browser() as browser:
        debate_id = (await start_debate(guest.manager)).id
        page = await browser.new_page()
        body = "<!doctype html><title>x</title><iframe name=target></iframe>"
        await page.route(f"{ELSEWHERE}*", lambda route: route.fulfill(body=body, content_type="text/html"))
        await page.goto(ELSEWHERE)
        address = guest.site.build_address(debate_id)
        found = await page.evaluate(ATTEMPTS, [address, guest.site.build_address()])
        read = [
            attempt for attempt in found if attempt[1:2] != ["refused"] and attempt[1:] != ["opaque", 0, 0]
        ]
        assert read == []
        await page.wait_for_load_state("networkidle")
        assert "Ship it?" not in "".join([await frame.content() for frame in page.frames[1:]])
        snapshot = await guest.manager.load(debate_id)
        assert (snapshot.status, snapshot.debate.version) == ("running", 1)
        assert [row.stream for row in await guest.manager.store.find()] == [debate_id]
        assert keys.read_stored() == keys.NO_KEYS
