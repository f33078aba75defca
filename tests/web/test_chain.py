"""The chain of hashes, checked by the reader's browser: intact, altered anywhere, and byte for byte as we have it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from server.web.page import build_page
from server.web.record import Data
from storage.canonical import encode_json
from tests.support.browser import DATA, Opened, change_data, read_asset

pytestmark = [pytest.mark.requirement("N19", "C8")]


def open_changed(tab: Opened, folder: Path, text: str) -> tuple[str | None, str]:
    path = folder / "changed.html"
    path.write_text(text, encoding="utf-8", newline="")
    tab.show(path)
    state = tab.wait_for_chain()
    assert tab.complaints == []
    return state, tab.page.inner_text(".chain, #page:not(:has(.chain))")


def test_an_untouched_page_is_intact_and_says_what_was_checked(
    tab: Opened, held: Data, held_path: Path
) -> None:
    tab.show(held_path)
    assert tab.wait_for_chain() == "intact"
    told = tab.page.inner_text(".chain")
    debate = held["debates"][0]
    assert f"{len(debate['entries'])} entries checked by your browser" in told
    assert f"Head {debate['receipt']['head'][:12]}" in told
    assert "Signed by the key" in told


ALTERATIONS: dict[str, Callable[[Data], tuple[str, str]]] = {
    "a digit of the question": lambda _: ("buy 7 shares", "buy 8 shares"),
    "a digit of a time": lambda data: (data["debates"][0]["entries"][3]["at"], "2020-01-01T00:00:00.000Z"),
    "an actor": lambda _: ('"actor":"test"', '"actor":"best"'),
    "a hash": lambda data: (data["debates"][0]["entries"][5]["hash"], "0" * 64),
    "the head": lambda data: (f'"head":"{data["debates"][0]["receipt"]["head"]}', f'"head":"{"0" * 64}'),
    "what is drawn": lambda _: ('"status":"unanswered', '"status":"answered'),
    "the key that signed": lambda _: ('"keyid":"', '"keyid":"0'),
    "the finding beside the record": lambda _: ('"outcome":"', '"outcome":"un'),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_one_change_is_told(tab: Opened, held: Data, tmp_path: Path, name: str) -> None:
    old, new = ALTERATIONS[name](held)
    state, told = open_changed(tab, tmp_path, change_data(build_page(held), old, new))
    assert state == "altered"
    assert "altered" in told
    assert "Do not rely on this page" in told


def test_every_digit_of_an_entry_counts(tab: Opened, held: Data, tmp_path: Path) -> None:
    entry = json.dumps(held["debates"][0]["entries"][4], ensure_ascii=False, separators=(",", ":"))
    page = build_page(held)
    found = DATA.search(page)
    assert found is not None
    start = found[2].index(entry) + found.start(2)
    places = [start + match.start() for match in re.finditer(r"\d", entry)]
    for place in places[:: max(1, len(places) // 4)]:
        digit = str((int(page[place]) + 1) % 10)
        assert open_changed(tab, tmp_path, page[:place] + digit + page[place + 1 :])[0] == "altered"


@pytest.mark.parametrize("number", [0, 3, -1])
def test_an_entry_that_was_taken_out_is_missed(tab: Opened, held: Data, tmp_path: Path, number: int) -> None:
    data = json.loads(json.dumps(held))
    del data["debates"][0]["entries"][number]
    with_right_sum = build_page(data)
    state, told = open_changed(tab, tmp_path, with_right_sum)
    assert (state, "not shown yet" in told) in (("altered", False), ("intact", True))
    assert state == "altered" or number == -1


def test_the_finding_is_that_of_the_record_whatever_is_drawn_beside_it(
    tab: Opened, held: Data, tmp_path: Path
) -> None:
    data = json.loads(json.dumps(held))
    debate = data["debates"][0]
    debate["drawing"]["report"] |= {
        "winner": "Nobody",
        "outcome": "decided",
        "winner_stance": "Sell",
        "verdict": "Sell.",
    }
    debate["question"] = "Should we sell?"
    open_changed(tab, tmp_path, build_page(data))
    shown = tab.page.inner_text("header") + tab.page.inner_text(".finding")
    recorded = held["debates"][0]["drawing"]["report"]
    assert "Sell" not in shown
    assert "sell" not in shown
    assert recorded["winner_stance"] in shown
    assert recorded["outcome"].upper() in shown


def test_a_receipt_of_another_record_is_told(tab: Opened, held: Data, tmp_path: Path) -> None:
    data = json.loads(json.dumps(held))
    signature = data["debates"][0]["receipt"]["envelope"]["signatures"][0]
    signature["sig"] = ("A" if signature["sig"][0] != "A" else "B") + signature["sig"][1:]
    state, told = open_changed(tab, tmp_path, build_page(data))
    assert state == "altered"
    assert "signed receipt" in told


@pytest.fixture(scope="module")
def encoder(browser: Browser) -> Any:
    with browser.new_context() as context:
        page = context.new_page()
        page.evaluate(f"() => {{ {read_asset('chain.js')}; globalThis.encode = encodeCanonical; }}")
        yield page


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=30,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=VALUES)
def test_canonical_json_is_the_same_in_the_browser(encoder: Page, value: Any) -> None:
    expected = encode_json(value).decode()
    assert encoder.evaluate("(text) => encode(JSON.parse(text))", json.dumps(value)) == expected
    assert encoder.evaluate("(text) => encode(JSON.parse(text))", expected) == expected


@pytest.mark.parametrize(
    "value",
    [
        {"__proto__": {"a": 1}, "constructor": 2, "toString": None},
        {"\ue000": 1, "\U00010000": 2, "é": 3, "e": 4, "": 5},
        [1e21, 1e-7, -0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 333333333.33333329],
        '\x00\x1f\x7f\u2028\u2029\ufeff\\"/<',
    ],
)
def test_awkward_values_are_the_same_in_the_browser(encoder: Page, value: Any) -> None:
    sent = json.dumps(value)
    assert encoder.evaluate("(text) => encode(JSON.parse(text))", sent) == encode_json(value).decode()
