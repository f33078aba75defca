"""The page of a second opinion: its answer, the answers that were given apart, and all else folded away."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from server.cli.debates.demo import read_recording
from server.engine.queries import build_source
from server.web.record import build_data, build_debate
from tests.support.browser import DESK, PHONE, describe_violations, open_file, read_axe
from tests.support.pages import write_page

pytestmark = [pytest.mark.requirement("N19", "N32", "N37")]


@pytest.fixture(scope="module")
def answer_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the debate of the demo, whose answers have words that reviews refuted."""
    recording = read_recording()
    debate = build_debate(build_source(recording.snapshot, frozenset()), recording.entries)
    return write_page(tmp_path_factory.mktemp("answer"), build_data([debate]))


def test_only_the_answer_and_what_was_answered_apart_are_seen_at_first(
    browser: Browser, answer_path: Path
) -> None:
    with open_file(browser, answer_path) as opened:
        assert opened.wait_for_chain() == "intact"
        assert opened.page.locator(".chip.outcome").inner_text().casefold() == "leaning"
        heads = opened.page.locator(".told dt").all_inner_texts()
        assert heads == ["How sure", "Cost"]
        headings = opened.page.locator(".written strong").all_inner_texts()
        assert headings == ["Why", "What to do", "What would change it"]
        assert "Put the queue into a database table" in opened.page.locator(".written").inner_text()
        assert (
            opened.page.locator(".told dd")
            .last.inner_text()
            .endswith(f"Debate {read_recording().snapshot.id}")
        )
        assert opened.page.get_by_role("heading", level=2).all_inner_texts()[1:] == ["First answers"]
        for viewport in (PHONE, DESK):
            opened.resize(viewport)
            assert opened.overflow() <= 0
        opened.page.locator("summary", has_text="Everything else").press("Enter")
        assert "The record" in opened.page.get_by_role("heading", level=2).all_inner_texts()
        for viewport in (PHONE, DESK):
            opened.resize(viewport)
            assert opened.overflow() <= 0
        assert opened.complaints == []


def test_refuted_words_are_struck_through_and_lead_to_what_is_right(
    browser: Browser, answer_path: Path
) -> None:
    with open_file(browser, answer_path) as opened:
        refuted = opened.page.locator(".apart a.refuted")
        assert refuted.all_inner_texts() == [
            "one process serves 40 requests a second, pictures included",
            "One application also means one release train",
        ]
        refuted.first.focus()
        opened.page.keyboard.press("Enter")
        right = opened.page.locator("li:target").inner_text()
        assert "one picture a second keeps six workers busy" in right
        assert right.endswith("Advisor 1")
        assert refuted.first.evaluate("(e) => getComputedStyle(e.firstChild).textDecorationLine").count(
            "line-through"
        )


def test_without_scripts_there_are_the_lines_of_the_answer(browser: Browser, answer_path: Path) -> None:
    with open_file(browser, answer_path, java_script_enabled=False) as opened:
        shown = opened.page.inner_text("body")
        assert "Leaning: No. Start as one application" in shown
        assert "\nWhat to do\n1. This week: write" in shown


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESK), ("dark", PHONE)], ids=["desk", "phone"])
def test_axe_finds_no_violation_in_an_answer_folded_and_unfolded(
    browser: Browser, answer_path: Path, viewport: dict[str, int], scheme: str
) -> None:
    axe = read_axe()
    with open_file(browser, answer_path, viewport=viewport, color_scheme=scheme) as opened:
        opened.wait_for_chain()
        opened.page.evaluate(axe)
        for _ in range(2):
            assert describe_violations(opened.page.evaluate("axe.run()")) == []
            opened.page.locator("summary", has_text="Everything else").click()
