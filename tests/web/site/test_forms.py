"""The forms of the page in a real browser: files, keys, refusals and copying; and what axe finds in them."""

import base64
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from server.models.providers import keys
from tests.support.browser import DESK, PHONE, describe_violations, read_axe
from tests.support.engines import run_debate, start_debate
from tests.support.pdfs import write_pdf
from tests.support.sites import open_site
from tests.support.windows import open_window, press, see

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]

DROP = """
(form, files) => {
  const data = new DataTransfer();
  for (const [name, content] of files)
    data.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name));
  for (const kind of ["dragover", "drop"])
    form.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}
"""
KEY = "sk-live-0123456789abcdefghij"


async def fill_form(page: Page) -> None:
    """It is open where there is no debate yet."""
    await page.get_by_label("Question", exact=True).fill("Ship it?")


async def drop_files(page: Page, **files: bytes) -> None:
    given = [[name.replace("_", "."), base64.b64encode(content).decode()] for name, content in files.items()]
    await page.locator(".ask form").first.evaluate(DROP, given)


async def test_a_question_is_asked_in_the_page_after_its_estimate_and_leads_to_an_answer_that_is_settled(
    chromium: Browser,
    database: str,
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        page = await window.open()  # there is no debate yet: the form is open
        start = page.get_by_role("button", name="Start", exact=True)
        assert await start.is_disabled()
        await page.get_by_label("Question", exact=True).fill("Ship it?")
        plan = FilePayload(name="plan.md", mimeType="text/plain", buffer=b"It was tested twice.")
        await page.locator("input[type=file]").set_input_files([plan])
        await see(page, "plan.md")
        await see(page, "Estimate:")
        assert await guest.manager.store.find() == []
        await start.click()
        outcome = page.get_by_label("What turned out")
        assert (
            await outcome.evaluate("(e) => getComputedStyle(e).position") == "static"
        )  # it covers no answer
        await press(page, "This turned out wrong")
        await see(page, "It turned out wrong.")
        [row] = await guest.manager.store.find()
        ended = await guest.manager.load(row.stream)
        assert [one.title for one in ended.debate.setup.documents] == ["plan.md"]
        assert ended.debate.outcome is not None
        assert ended.debate.outcome.wrong
        assert window.complaints == []


async def test_a_person_answers_for_their_seat_in_the_page(chromium: Browser, database: str) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        team = [{"name": "Ann", "stance": "Yes.", "model": "human"}, {"name": "Ben", "stance": "No."}]
        debate_id = (await start_debate(guest.manager, debaters=team, format="verdict", run=True)).id
        page = await window.open(debate_id)
        await see(page, "The debate waits for")
        await page.get_by_label("Your words").fill("It pays.")
        await press(page, "Send")
        await see(page, "It pays.")
        assert (await guest.manager.load(debate_id)).debate.turns[0].text == "It pays."
        assert window.complaints == []


async def test_texts_pdfs_and_web_pages_that_are_dropped_are_read_and_others_are_told_what_to_do(
    chromium: Browser, database: str, tmp_path: Path
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        page = await window.open()
        await fill_form(page)
        beside = (
            "() => !document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true }))"
        )
        assert await page.evaluate(beside)  # which would replace the page
        report = write_pdf(tmp_path / "report.pdf", ["It was tested twice."]).read_bytes()
        html = b"<title>x</title><h2>Costs</h2><script>alert(1)</script><p>They rose."
        await drop_files(page, plan_md=b"Two customers.", report_pdf=report, page_html=html)
        for name in ("plan.md", "report.pdf", "page.html"):
            await page.get_by_role("button", name=f"Remove {name}").wait_for()
        assert window.complaints == []
        await drop_files(page, word_docx=b"PK\x03\x04\x00", scan_pdf=b"%PDF-1.4 nothing", blank_txt=b" \n")
        told = page.locator(".drop .failed")
        await expect(told).to_contain_text(
            "word.docx is neither plain text (UTF-8) nor a PDF. Save it as one of these"
        )
        await expect(told).to_contain_text("scan.pdf cannot be read as PDF")
        await expect(told).to_contain_text("Save its text in a file.")
        await expect(told).to_contain_text("blank.txt is empty.")
        await press(page, "Remove page.html")
        await see(page, "Estimate:")
        await press(page, "Start")
        await page.get_by_role("button", name="This turned out right").wait_for()
        [row] = await guest.manager.store.find()
        documents = (await guest.manager.load(row.stream)).debate.setup.documents
        assert [one.title for one in documents] == ["plan.md", "report.pdf"]
        assert documents[1].text.startswith("[page 1]\nIt was tested twice.")


async def test_a_key_is_stored_in_the_page_and_a_bad_one_is_told_what_to_do(
    chromium: Browser, database: str
) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_window(chromium, guest) as window:
        page = await window.open()
        await fill_form(page)
        await page.get_by_label("Other models").fill("mistral/mistral-large-latest")
        await see(page, "store it (`counterpoint keys set mistral`, or the page of `counterpoint view`)")
        await page.get_by_text("Keys of providers", exact=True).click()
        await page.get_by_label("Provider").select_option("mistral")
        try:
            await page.get_by_label("Key", exact=True).fill("two words")
            await press(page, "Store")
            await see(page, "Copy it once more from the page of its provider.")
            await page.get_by_label("Key", exact=True).fill(KEY)
            await page.get_by_label("Key", exact=True).press("Enter")
            await see(page, "and used from now on")
            assert dict(keys.read_stored().in_file) == {"MISTRAL_API_KEY": KEY}
            assert await page.get_by_label("Key", exact=True).input_value() == ""
            await expect(page.locator("option", has_text="mistral (has a key)")).to_have_count(1)
            assert KEY not in await page.content()
        finally:
            keys.remove("MISTRAL_API_KEY")
            keys.origins.pop("MISTRAL_API_KEY", None)


async def test_an_answer_in_markdown_is_drawn_as_such_copied_as_text_and_nothing_in_it_is_markup(
    chromium: Browser, database: str
) -> None:
    written = (
        "**Begin** `small`, [and](https://evil.example) 2 * 3 * 4, "
        "x**2, (1)**(-5) + (1)**(-1), src/**, a/**/b, *.py,*.js."
        "\\n## Why\\n- *Where* a <b>small</b> one. "
    )

    def answer(request: Request) -> str:
        return build_reply_text(request).replace("Ship it?\\n\\n", f"Ship it?\\n\\n{written}")

    async with (
        open_site(database, ScriptedModel(answer)) as guest,
        open_window(chromium, guest, permissions=["clipboard-read", "clipboard-write"]) as window,
    ):
        page = await window.open((await run_debate(guest.manager, format="second_opinion")).id)
        found = page.locator(".written")
        await see(
            page,
            "[and](https://evil.example) 2 * 3 * 4, x**2, (1)**(-5) + (1)**(-1), src/**, a/**/b, *.py,*.js.",
        )
        assert await found.locator("strong").all_inner_texts() == ["Begin", "Why"]
        assert await found.locator("em").all_inner_texts() == ["Where"]
        assert await found.locator("code").all_inner_texts() == ["small"]
        assert "Why\n• Where a <b>small</b> one." in await found.inner_text()
        assert await found.locator("a, b").count() == 0
        await press(page, "Copy the answer")
        await see(page, "The answer is copied.")
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("Ship it?\n\n")
        assert (await page.locator("#finding").inner_text()).split("\n")[0] in copied
        assert window.complaints == []


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESK), ("dark", PHONE)], ids=["desk", "phone"])
async def test_axe_finds_nothing_in_the_list_its_filters_a_new_question_and_an_answer(
    chromium: Browser, database: str, viewport: Any, scheme: Any
) -> None:
    axe = read_axe()
    async with (
        open_site(database, ScriptedModel()) as guest,
        open_window(chromium, guest, viewport=viewport, color_scheme=scheme) as window,
    ):
        ended = await run_debate(guest.manager, format="second_opinion", options={"tags": ["release"]})
        await start_debate(guest.manager, question="Adopt Rust?")
        page = await window.open()
        await see(page, "Adopt Rust?")
        await check_page(page, axe)
        await page.get_by_label("Tag").fill("release")
        await press(page, "Search")
        await page.get_by_role("link", name="Show all").wait_for()
        await press(page, "Ask a question")
        await fill_form(page)
        await page.get_by_label("Format").select_option("advocates")
        files = (("a.docx", b"\x00"), ("b.md", b"Plan."))
        payloads = [FilePayload(name=name, mimeType="", buffer=content) for name, content in files]
        await page.locator("input[type=file]").set_input_files(payloads)
        for summary in await page.locator(".ask summary").all():
            await summary.click()
        await see(page, "Estimate:")
        await check_page(page, axe)
        answer = await window.open(ended.id)
        await answer.get_by_text("live", exact=True).wait_for()
        await check_page(answer, axe)


async def check_page(page: Page, axe: str) -> None:
    await page.evaluate(axe)
    assert describe_violations(await page.evaluate("axe.run()")) == []
    assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
