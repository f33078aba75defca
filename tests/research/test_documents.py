"""Files as documents: PDF with page numbers, web pages without markup, text as it is."""

from pathlib import Path

import pytest

from server.debate.documents.quotes import find_span
from server.debate.documents.sections import describe_place
from server.debate.facts.errors import InvalidRequestError
from server.research.documents import DocumentText, read_document
from tests.support.pdfs import write_pdf

pytestmark = pytest.mark.requirement("D28")


def read(path: Path) -> DocumentText:
    return read_document(path.name, path.read_bytes())


def test_a_pdf_is_read_with_the_numbers_of_its_pages(tmp_path: Path) -> None:
    pages = [f"This is what page {number} says of costs." for number in range(1, 31)]
    text, _ = read(write_pdf(tmp_path / "report.PDF", pages))
    assert text.startswith("[page 1]\nThis is what page 1 says of costs.\n")
    (tmp_path / "report.PDF").rename(tmp_path / "without-an-ending")
    assert read(tmp_path / "without-an-ending").text == text
    span = find_span("what page 21 says of costs", text)
    assert span
    assert describe_place(text, span.start) == "page 21"


def test_a_pdf_without_text_or_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="holds no text"):
        read(write_pdf(tmp_path / "scan.pdf", ["", ""]))
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"no PDF at all")
    with pytest.raises(InvalidRequestError, match="cannot be read as PDF"):
        read(broken)


def test_a_web_page_is_read_without_its_markup(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<html><head><title>T</title><style>p {}</style></head><body><h2>Costs &amp; more</h2>"
        "<p>They <b>rose</b>\n by 12&nbsp;%.</p><script>alert(1)</script><ul><li>One<li>Two</ul></body></html>",
        encoding="utf-8",
    )
    assert read(page).text == "## Costs & more\nThey rose by 12 %.\nOne\nTwo"


def test_other_files_are_text_as_it_is_or_refused(tmp_path: Path) -> None:
    plain = tmp_path / "plan.md"
    plain.write_text("\ufeff# Plan\n<b>für alle</b>\n", encoding="utf-8")
    assert read(plain).text == "# Plan\n<b>für alle</b>\n"
    plain.write_bytes(b"one\r\ntwo")
    assert read(plain).text == "one\ntwo"
    for content in (b"\xff\xfe\x00", b"PK\x03\x04\x00"):
        plain.write_bytes(content)
        with pytest.raises(InvalidRequestError, match="is neither text in UTF-8 nor a PDF"):
            read(plain)


def test_a_page_that_shows_nothing_by_itself_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "app.html"
    page.write_text("<div id=root></div><noscript>Turn on scripts.</noscript>", encoding="utf-8")
    with pytest.raises(InvalidRequestError, match="shows no text without its scripts"):
        read(page)
