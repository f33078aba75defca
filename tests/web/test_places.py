"""The page as its places use it: fed with entries, with buttons, with forks, and with hidden answers."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from server.debate.commands.requests import ChangesInput
from server.debate.interventions.action import InterventionRequest
from server.debate.state.labels import name_sides
from server.debate.views.catalog import ViewSource
from server.engine.debates import DebateManager
from server.engine.queries import build_source
from server.models.fakes.scripted import ScriptedModel
from server.web.page import Place, build_page
from server.web.record import Data, build_data, build_debate, load_debate_data, load_family_data
from tests.support.browser import Opened, open_file
from tests.support.engines import open_engine, run_debate, start_debate
from tests.support.pages import build_golden, read_golden, run_apart
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.requirement("N19")]

Running = tuple[Data, Data, Data]
"""After the first round, what came after that, and the whole."""

HOST = """
counterpoint.connect({
  actions: ["step", "pause", "note", "challenge", "conclude"],
  act: async (action) => action,
});
"""


@contextmanager
def open_page(browser: Browser, folder: Path, data: Data | None, script: str = "") -> Iterator[Opened]:
    path = folder / "page.html"
    path.write_text(build_page(data, Place(script=script)), encoding="utf-8", newline="")
    with open_file(browser, path) as opened:
        yield opened


async def load_running(manager: DebateManager) -> tuple[Data, Data, Data]:
    """A debate after its first round, what came after that, and the whole."""
    snapshot = await start_debate(manager, max_rounds=2)
    snapshot = await manager.step(snapshot.id, wait=PATIENCE)
    first = await load_debate_data(manager, snapshot.id)
    while not (await manager.step(snapshot.id, wait=PATIENCE)).debate.ended:
        pass
    seq = len(first["debates"][0]["entries"])
    news = await load_debate_data(manager, snapshot.id, since_seq=seq)
    return first, news, await load_debate_data(manager, snapshot.id)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Running:
    path = tmp_path_factory.mktemp("running") / "debates.db"

    async def hold() -> tuple[Data, Data, Data]:
        async with open_engine(path, ScriptedModel()) as manager:
            return await load_running(manager)

    return run_apart(hold)


def test_newer_entries_are_added_and_checked(browser: Browser, tmp_path: Path, running: Running) -> None:
    first, news, whole = running
    with open_page(browser, tmp_path, first) as opened:
        assert opened.wait_for_chain() == "intact"
        assert opened.page.locator(".turn").count() == 2
        assert "So far: 2 of 6 calls" in opened.page.inner_text("h2.outcome")
        assert opened.page.inner_text("body").count("of 6 calls") == 1
        opened.page.evaluate("(data) => counterpoint.show(data)", news)
        opened.page.wait_for_selector(".chip.concluded")
        assert opened.page.locator(".turn").count() == 4
        seq = len(whole["debates"][0]["entries"])
        opened.page.get_by_text(f"{seq} entries checked").wait_for()
        position = opened.page.evaluate("counterpoint.position()")
        about = {"debate_id": whole["debates"][0]["debate_id"], "seq": seq, "status": "concluded"}
        assert position == about | {"family": []}
        assert opened.complaints == []


def test_entries_that_do_not_follow_are_left_out(browser: Browser, tmp_path: Path, running: Running) -> None:
    first, news, _ = running
    late = json.loads(json.dumps(news))
    late["debates"][0]["since_seq"] += 1
    late["debates"][0]["entries"].pop(0)
    with open_page(browser, tmp_path, first) as opened:
        opened.wait_for_chain()
        opened.page.evaluate("(data) => counterpoint.show(data)", late)
        assert opened.page.evaluate("counterpoint.position().seq") == len(first["debates"][0]["entries"])


def test_entries_that_were_altered_on_the_way_are_told(
    browser: Browser, tmp_path: Path, running: Running
) -> None:
    first, news, _ = running
    forged = json.loads(json.dumps(news))
    forged["debates"][0]["entries"][0]["at"] = "2020-01-01T00:00:00.000Z"
    with open_page(browser, tmp_path, first) as opened:
        assert opened.wait_for_chain() == "intact"
        opened.page.evaluate("(data) => counterpoint.show(data)", forged)
        opened.page.wait_for_selector("html[data-chain=altered]", state="attached")


def test_buttons_are_there_only_with_a_host_that_takes_them(
    browser: Browser, tmp_path: Path, running: Running
) -> None:
    names = ["Step", "Pause", "Note", "Challenge", "Conclude"]
    with open_page(browser, tmp_path, running[0]) as opened:
        assert all(opened.page.get_by_role("button", name=name).count() == 0 for name in names)
    with open_page(browser, tmp_path, running[0], HOST) as opened:
        assert [b.inner_text() for b in opened.page.locator(".buttons button").all()] == names


def test_a_page_without_data_waits_for_them(browser: Browser, tmp_path: Path, running: Running) -> None:
    with open_page(browser, tmp_path, None) as opened:
        assert "Waiting for a debate" in opened.page.inner_text("body")
        opened.page.evaluate("counterpoint.live('connected', 'live')")
        opened.page.evaluate("(data) => counterpoint.show(data)", running[2])
        assert opened.wait_for_chain() == "intact"
        assert opened.page.get_by_text("live", exact=True).is_visible()
        assert opened.complaints == []


def test_a_family_of_forks_is_in_one_file(browser: Browser, tmp_path: Path) -> None:
    async def hold() -> Data:
        async with open_engine(tmp_path / "debates.db", ScriptedModel()) as manager:
            parent = await run_debate(manager, max_rounds=2)
            changes = ChangesInput.model_validate({"stances": {"Opponent": "never at all"}, "run": True})
            child = await manager.fork(parent.id, 1, changes, actor="test")
            await manager.follow(child.id, wait=PATIENCE)
            grandchild = await manager.fork(child.id, 1, ChangesInput(run=True), actor="test")
            await manager.follow(grandchild.id, wait=PATIENCE)
            tags = InterventionRequest(text="retracted, <b>bold</b>")
            await manager.intervene(grandchild.id, "tag", tags, actor="test")
            return await load_family_data(manager, parent.id)

    data = run_apart(hold)
    ids = [debate["debate_id"] for debate in data["debates"]]
    assert len(set(ids)) == 3
    data["debates"][0]["relatives_left_out"] = 7
    with open_page(browser, tmp_path, data) as opened:
        assert opened.wait_for_chain() == "intact"
        assert opened.page.locator(".forks li").count() == 3
        opened.page.get_by_text("Everything else").click()
        chips = opened.page.locator(".forks li small .tag")
        assert chips.all_text_contents() == ["retracted", "<b>bold</b>"]
        assert "7 more debates of the family are not shown here." in opened.page.inner_text("#forks")
        opened.page.locator(".forks li", has_text="never at all").get_by_role("button").first.click()
        opened.page.wait_for_function("(id) => counterpoint.position().debate_id === id", arg=ids[1])
        assert opened.wait_for_chain() == "intact"
        assert "Forked from" in opened.page.inner_text("header")
        assert opened.complaints == []


@pytest.mark.parametrize("kind", ["debaters", "judges"])
def test_what_clients_may_not_see_is_not_in_the_file(browser: Browser, tmp_path: Path, kind: str) -> None:
    secret = "nobody may read these words"
    turns = ScriptedModel(lambda _: secret) if kind == "debaters" else ScriptedModel()

    async def hold() -> Data:
        async with open_engine(tmp_path / "debates.db", {"mine": turns, "other": ScriptedModel()}) as manager:
            options = {"visibility": {"hide_from_client": [kind]}, "judges": {"models": ["other"]}}
            snapshot = await run_debate(manager, max_rounds=1, options=options)
            return await load_debate_data(manager, snapshot.id)

    data = run_apart(hold)
    entries = data["debates"][0]["entries"]
    assert any(entry.get("hidden") for entry in entries)
    assert all({*entry["body"]} <= {"kind", "seat", "round"} for entry in entries if entry.get("hidden"))
    if kind == "debaters":
        assert secret not in build_page(data)
    with open_page(browser, tmp_path, data) as opened:
        assert opened.wait_for_chain() == "intact"
        assert "hidden here" in opened.page.inner_text(".chain")
        assert opened.complaints == []


def test_private_ballots_stay_private_while_the_caller_writes(tmp_path: Path) -> None:
    async def hold() -> tuple[Data, Data]:
        async with open_engine(tmp_path / "debates.db", ScriptedModel()) as manager:
            team: list[dict[str, Any]] = [
                {"name": "Ada", "stance": "yes", "model": "caller"},
                {"name": "Ben", "stance": "no", "model": "mine"},
            ]
            snapshot = await start_debate(manager, debaters=team, options={"ballots": "blind"})
            snapshot = await manager.step(snapshot.id, wait=PATIENCE)
            source = build_source(snapshot, set())
            stored = await manager.store.storage.journal.read(snapshot.id)
            return build_data([build_debate(source, stored)]), await load_debate_data(manager, snapshot.id)

    first, second = run_apart(hold)
    assert first["debates"][0]["entries"] == second["debates"][0]["entries"]
    told = json.dumps(first)
    assert "balloted" not in told or '"beliefs"' not in told


def test_every_kind_of_event_is_drawn_and_no_word_of_a_turn_is_lost(browser: Browser, tmp_path: Path) -> None:
    with open_page(browser, tmp_path, None) as opened:
        for source, stored in read_golden():
            for end in (len(stored), len(stored) // 2):
                part = build_golden(source.id, stored[:end])
                debate = build_debate(part, stored[:end])
                opened.page.evaluate("(data) => counterpoint.show(data)", build_data([debate]))
                assert opened.wait_for_chain() == "intact", (source.id, end)
                shown = read_unfolded(opened.page)
                assert "cannot be drawn" not in shown
                said = [
                    entry["body"]["text"] for entry in debate["entries"] if entry["body"]["kind"] == "spoke"
                ]
                named = name_labels(part, " ".join(text for text in said if isinstance(text, str)))
                assert {*find_words(named)} <= {*find_words(shown)}, source.id
        assert opened.complaints == []


def read_unfolded(page: Page) -> str:
    """All that the page shows once what is below the answer is opened."""
    for rest in page.locator("details.rest:not([open]) > summary").all():
        rest.click()
    return page.inner_text("body")


def name_labels(source: ViewSource, text: str) -> str:
    return name_sides(source.debate, text) if source.debate.names else text


def find_words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{3,}", text)
