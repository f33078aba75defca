"""The pages of `counterpoint view` in a real browser: live, with buttons, and with texts that mean no good."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import uvicorn
from playwright.async_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from server.debate.commands.requests import ChangesInput
from server.debate.facts.text import clean_line
from server.debate.interventions.action import InterventionRequest
from server.engine.debates import DebateManager
from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from server.models.providers import keys
from server.web.site.routes import Visitor, build_site
from server.web.site.serving import open_port
from tests.support.client_calls import call
from tests.support.engines import open_engine, run_debate, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.processes.gated_servers import open_call_gate, start_server_process
from tests.support.sites import open_site
from tests.support.windows import MILLISECONDS, open_window, press, see

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]

HOSTILE = "</script><img src=x onerror=alert(1)><b>bold</b> [link](javascript:alert(1)) \u202egnp.exe"
ATTEMPTS = (Path(__file__).parent / "evil_page.js").read_text(encoding="utf-8")
ELSEWHERE = "http://evil.example/"
RUN: dict[str, Any] = {"question": "Ship it?", "run": True, "wait_seconds": 0}


async def unfold(page: Page) -> None:
    """Show what is below the answer of a debate that has ended."""
    await page.get_by_text("Everything else").click()


async def wait_for_status(manager: DebateManager, debate_id: str, status: str) -> None:
    with anyio.fail_after(PATIENCE):
        async for snapshot in manager.watch_states(debate_id):
            if snapshot.status == status:
                return


async def test_turns_of_another_process_appear_and_pause_from_the_page_stops_it(
    chromium: Browser, database: str
) -> None:
    async with (
        open_site(database) as guest,
        open_window(chromium, guest) as window,
        open_call_gate() as gate,
        start_server_process(database, gate, "auto") as (_, client),
    ):
        listed = await window.open()
        debate_id = (await call(client, "start_debate", **RUN))["debate_id"]
        await listed.get_by_role("link", name="Ship it?").wait_for()
        page = await window.open(debate_id)
        await see(page, "running")
        time = page.locator(".fact", has_text="time")
        shown = await time.inner_text()
        await expect(time).not_to_have_text(shown, use_inner_text=True)  # it goes on, although nothing is new
        await press(page, "Pause")
        await see(page, "Answers under way are kept")
        gate.release.set()
        await wait_for_status(guest.manager, debate_id, "paused")
        await page.get_by_role("button", name="Resume").wait_for()
        answered = len(gate.calls)
        snapshot = await guest.manager.load(debate_id)
        for turn in snapshot.debate.turns:
            await see(page, turn.text[:40])
        with pytest.raises(TimeoutError), anyio.fail_after(0.5):
            await gate.wait_for_calls(answered + 1)
        assert (await call(client, "get_verdict", debate_id=debate_id, wait_seconds=0))["status"] == "paused"
        assert window.complaints == []


async def test_whom_a_debate_waits_for_is_said_once(chromium: Browser, database: str) -> None:
    gate = Gate()
    async with open_site(database, gate.model) as guest, open_window(chromium, guest) as window:
        debate_id = (await start_debate(guest.manager, run=True)).id
        await gate.wait_for_call()
        page = await window.open(debate_id)
        await see(page, "was asked")
        shown = (await page.inner_text("body")).lower()
        gate.release.set()
    assert shown.count("waiting for") == 1


async def test_forks_appear_on_an_open_page_and_show_what_becomes_of_them(
    chromium: Browser, database: str
) -> None:
    async with (
        open_site(database) as guest,
        open_window(chromium, guest) as window,
        open_engine(database, ScriptedModel()) as other,
    ):
        parent = await run_debate(other)
        page = await window.open(parent.id)
        await see(page, "live")
        assert await page.get_by_text("forked after round").count() == 0

        fork = await other.fork(parent.id, 1, ChangesInput(), actor="test")
        await see(page, "time and money, forks, and the record")
        await unfold(page)
        await see(page, fork.id)
        row = page.locator("li", has_text=fork.id)
        await expect(row.locator(".outcome")).to_have_count(0)
        other.run_to_end(fork)
        await wait_for_status(other, fork.id, "concluded")
        await row.locator(".outcome").wait_for()
        assert window.complaints == []


async def test_all_buttons_of_a_debate_do_what_they_are_named_for_and_a_double_click_does_it_once(
    chromium: Browser,
    database: str,
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        debate_id = (await start_debate(guest.manager)).id
        page = await window.open(debate_id)
        await page.get_by_role("button", name="Step", exact=True).dblclick()
        await see(page, "Round 1")
        with anyio.fail_after(PATIENCE):
            while (await guest.manager.load(debate_id)).debate.round < 1 or await guest.manager.is_run(
                debate_id
            ):
                await guest.manager.follow(debate_id, wait=1)
        await press(page, "Note")
        await page.get_by_role("textbox").fill("Mind the costs.")
        await page.get_by_role("button", name="Send").dblclick()
        await see(page, "Mind the costs.")
        await press(page, "Challenge")
        await page.get_by_role("textbox").fill("Prove it.")
        await page.get_by_label("Addressee").select_option("Opponent")
        await press(page, "Send")
        await see(page, "Opponent is to answer it")
        await press(page, "Conclude")
        await page.get_by_role("button", name="This turned out right").wait_for()
        await unfold(page)
        await see(page, "What it hangs on")
        ended = await guest.manager.load(debate_id)
        assert [note.text for note in ended.debate.notes] == ["Mind the costs.", "Prove it."]
        assert ended.debate.held_round_count == 1
        assert window.complaints == []


async def test_words_of_many_debaters_are_folded_and_colours_are_chosen(
    chromium: Browser, database: str
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        team = [{"name": f"D{number}", "stance": f"Choice {number}"} for number in range(7)]
        debate_id = (await run_debate(guest.manager, debaters=team, format="verdict")).id
        page = await window.open(debate_id)
        await expect(page.locator(".turn .fold")).not_to_have_count(0)
        assert await page.locator(".turn .fold[open]").count() == 0
        await page.get_by_label("Theme").select_option("dark")
        await page.reload()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert window.complaints == []


async def test_the_second_click_of_a_double_click_is_not_taken_for_what_the_button_means_by_then(
    chromium: Browser,
    database: str,
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        debate_id = (await start_debate(guest.manager)).id
        page = await window.open(debate_id)
        await press(page, "Pause")
        resume = page.get_by_role("button", name="Resume")
        await resume.hover()
        await page.mouse.down(click_count=2)
        await page.mouse.up(click_count=2)
        assert await resume.is_enabled()
        assert (await guest.manager.load(debate_id)).debate.version == 2
        await press(page, "Resume")
        await page.get_by_role("button", name="Pause").wait_for()


async def test_an_action_that_is_refused_says_why_and_keeps_what_was_written(
    chromium: Browser, database: str
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        debate_id = (await start_debate(guest.manager)).id
        page = await window.open(debate_id)
        await press(page, "Note")
        await page.get_by_role("textbox").fill("x" * 9_000)
        await press(page, "Send")
        await see(page, "8,000")
        assert await page.get_by_role("textbox").input_value() == "x" * 9_000
        refused = [told for told in window.complaints if "409" not in told]
        assert refused == []


async def test_more_tabs_than_a_browser_opens_connections_share_one_stream_and_the_next_one_takes_it_over(
    chromium: Browser,
    database: str,
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        debate_id = (await start_debate(guest.manager)).id
        tabs = [await window.open(debate_id) for _ in range(7)]
        for number, tab in enumerate(tabs):
            await tab.get_by_text("live", exact=True).wait_for()
            assert len(guest.site.feed.followers) == 1, number
        for text in ("Mind the costs.", "Mind the time."):
            note = InterventionRequest(text=text)
            async with open_engine(database) as other:
                await other.intervene(debate_id, "inject", note, actor="test")
            for tab in tabs:
                await see(tab, text)
            await tabs.pop(0).close()
        assert window.complaints == []


async def test_a_page_says_that_the_database_is_gone_and_goes_on_when_it_is_back(
    chromium: Browser, database: str
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        debate_id = (await start_debate(guest.manager)).id
        page, listed = await window.open(debate_id), await window.open()
        await see(page, "live")
        await anyio.Path(database).rename(f"{database}.away")
        for tab in (page, listed):
            await see(tab, "The debates' database cannot be used")
        await press(page, "Step")
        await page.locator(".notice").get_by_text("cannot be used").wait_for()
        await anyio.Path(f"{database}.away").rename(database)
        for tab in (page, listed):
            await tab.get_by_text("live", exact=True).wait_for()
        await press(page, "Step")
        await see(page, "Round 1")


async def test_a_page_says_that_its_server_has_ended_and_keeps_what_it_shows(
    chromium: Browser, database: str
) -> None:
    async with await chromium.new_context() as context:
        page = await context.new_page()
        page.set_default_timeout(MILLISECONDS)
        async with open_site(database, ScriptedModel()) as guest:
            debate_id = (await run_debate(guest.manager)).id
            await page.goto(guest.site.build_address(debate_id))
            await page.get_by_text("live", exact=True).wait_for()
        await see(page, "The server does not answer")
        await see(page, "Ship it?")


async def test_hostile_texts_run_nothing_in_the_list_and_in_a_debate_that_goes_on(
    chromium: Browser, database: str
) -> None:
    def answer(request: Request) -> str:
        return build_reply_text(request).replace("The ", f"{HOSTILE} The ")

    model = ScriptedModel(answer)
    async with (
        open_site(database) as guest,
        open_window(chromium, guest) as window,
        open_engine(database, model) as other,
    ):
        debate_id = (await start_debate(other, question=f"Ship {HOSTILE}?")).id
        page, listed = await window.open(debate_id), await window.open()
        await other.step(debate_id, wait=PATIENCE)
        await other.intervene(
            debate_id, "inject", InterventionRequest(text=HOSTILE), actor=clean_line(HOSTILE)
        )
        for tab in (page, listed):
            await see(tab, "<img src=x onerror=alert(1)>")
        await see(page, "Round 1")
        for tab in (page, listed):
            assert await tab.locator("img, b:text-is('bold'), a[href^='javascript']").count() == 0
        assert window.complaints == []


async def test_the_list_is_searched_filtered_paged_and_opens_debates(
    chromium: Browser, database: str
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        rust = (await run_debate(guest.manager, question="Adopt Rust?")).id
        for number in range(25):
            await start_debate(guest.manager, question=f"Adopt number {number}?")
        page = await window.open()
        rows = page.get_by_role("listitem")
        await see(page, "Adopt number 24?")
        await page.get_by_role("link", name="Older debates").click()
        await see(page, "Adopt Rust?")
        assert await rows.count() == 6
        await page.get_by_role("link", name="Show all").click()
        await page.get_by_role("searchbox").fill("rust")
        await page.get_by_role("searchbox").press("Enter")
        await expect(rows).to_have_count(1, timeout=MILLISECONDS)
        await page.get_by_label("Status").select_option("ready")
        await press(page, "Search")
        await see(page, "No debates that match.")
        assert page.url.endswith("?query=rust&status=ready")
        await page.reload()
        await see(page, "No debates that match.")
        await page.get_by_label("Status").select_option("")
        await press(page, "Search")
        link = page.get_by_role("link", name="Adopt Rust?")
        await link.click()
        await unfold(page)
        await see(page, "What it hangs on")
        assert page.url == guest.site.build_address(rust)
        await page.get_by_text("All debates").click()
        await see(page, "Adopt number 24?")
        assert window.complaints == []


async def test_the_list_is_narrowed_by_keyboard_and_without_scripts_at_an_address_that_can_be_passed_on(
    chromium: Browser,
    database: str,
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        ended = await run_debate(guest.manager, question="Adopt Rust?", options={"tags": ["q3 plan"]})
        await start_debate(guest.manager, question="Adopt Go?", options={"tags": ["q3 plan"]})
        page = await window.open()
        await page.get_by_role("searchbox").focus()
        for typed in ("", "", "leaning", "mine", "", "q3 plan"):  # words, status, outcome, model, cost, tag
            await page.keyboard.type(typed)
            await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("listitem")).to_have_count(1)
        assert page.url.endswith("?outcome=leaning&model=mine&tag=q3+plan")
        assert window.complaints == []
        async with await chromium.new_context(java_script_enabled=False) as plain:
            bare = await plain.new_page()
            await bare.goto(page.url)
            assert await bare.get_by_role("listitem").count() == 1
            assert await bare.get_by_label("Tag").input_value() == "q3 plan"
            await bare.get_by_label("Outcome").select_option("")
            await bare.get_by_role("button", name="Search").click()
            assert await bare.get_by_role("listitem").count() == 2
            await bare.get_by_role("link", name="Adopt Rust?").click()
            assert bare.url == guest.site.build_address(ended.id)
            assert await bare.get_by_role("heading", name="Adopt Rust?").count() == 1


async def test_a_site_finds_its_own_addresses_wherever_it_is_mounted(
    chromium: Browser, database: str
) -> None:
    async with open_engine(database, ScriptedModel()) as manager, await chromium.new_context() as context:
        debate_id = (await start_debate(manager)).id
        visitor = Visitor(manager, "page")
        with open_port(0) as listener:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/debates/"
            mounted = Starlette(routes=[Mount("/debates", build_site(lambda _request: visitor))])
            server = uvicorn.Server(uvicorn.Config(mounted, lifespan="off", log_config=None))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(visitor.feed.run)
                tasks.start_soon(partial(server.serve, sockets=[listener]))
                page = await context.new_page()
                page.set_default_timeout(MILLISECONDS)
                await page.goto(address)
                await page.get_by_text("live", exact=True).wait_for()
                await page.get_by_role("link", name="Ship it?").click()
                await page.get_by_text("live", exact=True).wait_for()
                assert page.url == f"{address}debates/{debate_id}"
                await press(page, "Pause")
                await page.get_by_role("button", name="Resume").wait_for()
                await page.get_by_text("All debates").click()
                await page.locator(".rows .chip.paused").wait_for()
                assert page.url == address
                server.should_exit = True
                visitor.feed.close()
                await page.close()
                tasks.cancel_scope.cancel()


async def test_pages_of_another_site_can_neither_read_nor_press_even_with_the_address(
    chromium: Browser, database: str
) -> None:
    """Of which they know the address."""
    async with open_site(database, ScriptedModel()) as guest, await chromium.new_context() as context:
        debate_id = (await start_debate(guest.manager)).id
        page = await context.new_page()
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
