"""The page in a real browser: what it shows, what it asks for, and on which screens."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from server.web.record import Data
from tests.support.browser import DESK, PHONE, Opened, describe_violations, open_file, read_axe
from tests.support.pages import load_page_data, write_page

pytestmark = [pytest.mark.requirement("N19")]

HOSTILE = {
    "markup": "</script><script>window.taken = 1</script><img src=x onerror='taken = 1'><!-- <style>*{display:none}",
    "attributes": "\"' onmouseover='taken=1' x=\" javascript:taken=1 [a](javascript:taken=1) {{taken}} ${taken=1}",
    "bidi": "\u202e\u2066desrever si siht\u2069 \u202a\u200f [quote checked] ✓ intact \u2067",
    "right to left": "עברית וגם العربية, with words, 123 and (brackets).",
    "null-like": "null undefined NaN [object Object] __proto__ constructor hasOwnProperty",
    "marks": "[quote checked] [checked] [Ada 1.1] [1] [Ada 1.1 [2] ] [999999.1] [attacks Ada 1.1]",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈 " * 200 + "\U0001d518\U0001d52b “\U0001d518 \U0001d52b a b” (doc 1)",
}
UNBROKEN = ["W" * 100_000]


def test_question_and_finding_are_visible_without_opening_anything(
    tab: Opened, held: Data, held_path: Path
) -> None:
    tab.show(held_path)
    assert tab.wait_for_chain() == "intact"
    stance = held["debates"][0]["drawing"]["report"]["winner_stance"]
    assert tab.page.get_by_role("heading", level=1).inner_text() == "Should we buy 7 shares?"
    assert tab.page.get_by_role("heading", level=2).first.inner_text().count(stance)
    told = tab.page.locator(".finding")
    assert "The plan was tested with two customers" in told.inner_text()
    assert told.get_by_text("The plan was tested with two customers").first.is_visible()
    assert tab.complaints == []


def test_without_scripts_there_are_question_and_finding(browser: Browser, held_path: Path) -> None:
    with open_file(browser, held_path, java_script_enabled=False) as opened:
        shown = opened.page.inner_text("body")
        assert "Should we buy 7 shares?" in shown
        assert "The plan was tested with two customers" in shown


def test_every_part_of_the_page_is_there(tab: Opened, held_path: Path) -> None:
    tab.show(held_path)
    tab.page.locator("summary", has_text="Everything else").click()
    headings = tab.page.get_by_role("heading", level=2).all_inner_texts()
    assert headings[1:] == [
        "Did the judges stay with it?",
        "Did the talk change minds?",
        "What answered what",
        "Time and money",
        "The record",
    ]
    assert tab.page.locator(".judges tbody tr").count() == 3
    assert tab.page.locator(".pointcard").count() == tab.page.locator(".point").count() == 8
    assert tab.page.locator(".link").count() > 0
    assert tab.page.get_by_text("quote checked").count() > 4


def test_every_point_has_an_address(tab: Opened, held_path: Path) -> None:
    tab.show(held_path)
    tab.page.evaluate("location.hash = '#B2.2'")
    assert tab.page.locator(".point:target .ref").first.inner_text() == "Ben 2.2"
    for link in tab.page.locator("a.ref").all():
        target = (link.get_attribute("href") or "").removeprefix("#")
        assert tab.page.evaluate("(id) => document.getElementById(id) !== null", target), target


@pytest.mark.parametrize("size", [2, 12])
@pytest.mark.parametrize("texts", [[*HOSTILE.values()], UNBROKEN], ids=["all kinds", "unbroken"])
def test_hostile_texts_stay_texts(tab: Opened, tmp_path: Path, texts: list[str], size: int) -> None:
    text = "\n\n".join(texts)
    stances = [f"{number} {texts[number % len(texts)][:120]}" for number in range(size)]
    names = [f"עברית {number}" if number % 2 else f"D{number}" for number in range(size)]
    team = [{"name": name, "stance": stance} for name, stance in zip(names, stances, strict=True)]
    data = load_page_data(
        tmp_path, text, question=text[:2000], format="advocates", debaters=team, max_rounds=1
    )
    tab.show(write_page(tmp_path, data))
    assert tab.wait_for_chain() == "intact"
    for viewport in (PHONE, DESK):
        tab.resize(viewport)
        assert tab.overflow() <= 0
    assert tab.page.evaluate("window.taken") is None
    assert tab.page.locator("img, iframe, object, embed, script[src]").count() == 0
    assert tab.page.locator(".turn").count() == size
    assert tab.complaints == []


def test_twelve_debaters_and_words_with_markup_are_shown_whole(tab: Opened, tmp_path: Path) -> None:
    team = [{"name": f"D{number}", "stance": f"plan {number}"} for number in range(12)]
    text = "[1] Use List<int> & [a](b) as https://example.org says. [supports D0 1.1]"
    options = {"ballots": "rounds"}
    data = load_page_data(
        tmp_path, text, question="Which?", format="verdict", debaters=team, max_rounds=2, options=options
    )
    tab.show(write_page(tmp_path, data))
    assert tab.wait_for_chain() == "intact"
    right = "getBoundingClientRect().right"
    beyond = f"(all) => all.filter((e) => e.{right} > e.closest('dl').{right})"
    for viewport in (PHONE, DESK):
        tab.resize(viewport)
        assert tab.page.locator(".facts b").evaluate_all(f"{beyond}.length") == 0
    shown = tab.page.inner_text("body")
    assert "Use List<int> & [a](b) as https://example.org says." in shown
    assert not any(sign in shown for sign in ("\\<", "\\&", "]\\(", '{"'))


def test_light_dark_and_paper_have_colours_of_their_own_and_motion_is_reduced_on_demand(
    browser: Browser, held_path: Path
) -> None:
    def background(media: dict[str, str]) -> list[str]:
        opened.page.emulate_media(**media)  # type: ignore[arg-type]
        colours = "[document.body, document.querySelector('.badge')].map((e) => getComputedStyle(e).backgroundColor)"
        return list(opened.page.evaluate(colours))

    with open_file(browser, held_path) as opened:
        opened.wait_for_chain()
        light, dark = background({"color_scheme": "light"}), background({"color_scheme": "dark"})
        assert all(one != other for one, other in zip(light, dark, strict=True))
        printed = background({"media": "print", "color_scheme": "dark"})
        assert printed == ["rgb(255, 255, 255)", light[1]]
        assert not opened.page.locator(".contents").is_visible()
        assert len(opened.page.pdf(format="A4")) > 10_000
        opened.page.emulate_media(media="screen", reduced_motion="reduce")
        assert opened.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_everything_can_be_reached_and_is_seen_with_the_keyboard(tab: Opened, held_path: Path) -> None:
    tab.show(held_path)
    tab.wait_for_chain()
    tab.page.locator("summary", has_text="Everything else").evaluate(
        "(all) => { all.parentElement.open = true; }"
    )
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the finding"
    seen = set()
    for _ in range(400):
        tab.page.keyboard.press("Tab")
        told = tab.page.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e);"
            " return [e.tagName, e.getAttribute('href') || '', s.outlineStyle]; })()"
        )
        if told[0] == "BODY":
            break
        assert told[2] != "none", told
        seen.add(told[1])
    targets = {"#sure", "#map", "#time", "#record"}
    assert targets <= seen
    points = tab.page.locator(".pointhead a").evaluate_all("(all) => all.map((a) => a.getAttribute('href'))")
    assert set(points) <= seen


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESK), ("dark", PHONE)], ids=["desk", "phone"])
def test_axe_finds_no_serious_violation(
    browser: Browser, held_path: Path, scheme: str, viewport: dict[str, int]
) -> None:
    axe = read_axe()
    with open_file(browser, held_path, viewport=viewport, color_scheme=scheme) as opened:
        opened.wait_for_chain()
        opened.page.evaluate(axe)
        found = describe_violations(opened.page.evaluate("axe.run()"))
        assert [one for one in found if one[1] in ("serious", "critical", "moderate")] == []
