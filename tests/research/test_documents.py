"""Files as documents: PDF with page numbers, web pages without markup, text as it is."""

from pathlib import Path

import pytest

from server.debate.documents.places import describe_place
from server.debate.documents.quotes import find_span
from server.debate.facts.errors import InvalidRequestError
from server.research.documents import read_document

pytestmark = pytest.mark.requirement("D28")


def write_pdf(path: Path, pages: list[str]) -> Path:
    """A PDF with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * index} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    written, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(written))
        written += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size, start = len(objects) + 1, len(written)
    written += f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    written += f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    path.write_text(written, encoding="latin-1")
    return path


def test_a_pdf_is_read_with_the_numbers_of_its_pages(tmp_path: Path) -> None:
    pages = [f"This is what page {number} says of costs." for number in range(1, 31)]
    text, _ = read_document(write_pdf(tmp_path / "report.PDF", pages))
    assert text.startswith("[page 1]\nThis is what page 1 says of costs.\n")
    span = find_span("what page 21 says of costs", text)
    assert span
    assert describe_place(text, span.start) == "page 21"


def test_a_pdf_without_text_or_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="holds no text"):
        read_document(write_pdf(tmp_path / "scan.pdf", ["", ""]))
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"no PDF at all")
    with pytest.raises(InvalidRequestError, match="cannot be read as PDF"):
        read_document(broken)


def test_a_web_page_is_read_without_its_markup(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<html><head><title>T</title><style>p {}</style></head><body><h2>Costs &amp; more</h2>"
        "<p>They <b>rose</b>\n by 12&nbsp;%.</p><script>alert(1)</script><ul><li>One<li>Two</ul></body></html>",
        encoding="utf-8",
    )
    assert read_document(page).text == "## Costs & more\nThey rose by 12 %.\nOne\nTwo"


def test_other_files_are_text_as_it_is_or_refused(tmp_path: Path) -> None:
    plain = tmp_path / "plan.md"
    plain.write_text("\ufeff# Plan\n<b>für alle</b>\n", encoding="utf-8")
    assert read_document(plain).text == "# Plan\n<b>für alle</b>\n"
    plain.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidRequestError, match="is neither text in UTF-8 nor a PDF"):
        read_document(plain)


def test_a_page_that_shows_nothing_by_itself_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "app.html"
    page.write_text("<div id=root></div><noscript>Turn on scripts.</noscript>", encoding="utf-8")
    with pytest.raises(InvalidRequestError, match="shows no text without its scripts"):
        read_document(page)
