"""Reads files as documents: text as it is, PDF with page numbers, HTML as a reader sees it."""

from pathlib import Path
from typing import NamedTuple

from server.debate.facts.errors import InvalidRequestError


class DocumentText(NamedTuple):
    text: str
    unseen: int = 0  # hidden passages of a web page, which the text leaves out


def read_document(path: Path) -> DocumentText:
    """The text of a file. Each page of a PDF begins with a line such as "[page 12]".

    Raises InvalidRequestError if the file is not text, shows no text, or needs a library that is not installed.
    """
    if path.suffix.casefold() == ".pdf":
        return DocumentText(read_pdf(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequestError(f"{path.name} is neither text in UTF-8 nor a PDF.") from None
    if path.suffix.casefold() in (".htm", ".html", ".xhtml"):
        return read_html(path.name, text)
    return DocumentText(text)


def read_pdf(path: Path) -> str:
    try:
        from pypdf import PdfReader  # noqa: PLC0415  (an extra)
        from pypdf.errors import PyPdfError  # noqa: PLC0415
    except ImportError:
        advice = "install counterpoint-mcp[documents], or pass it as text"
        raise InvalidRequestError(f"{path.name} is a PDF: {advice}.") from None
    try:
        pages = [page.extract_text().strip() for page in PdfReader(path).pages]
    except (PyPdfError, ValueError, KeyError, RecursionError) as error:
        raise InvalidRequestError(f"{path.name} cannot be read as PDF: {error}.") from None
    if not any(pages):
        raise InvalidRequestError(f"{path.name} holds no text, only pictures of it perhaps. Pass its text.")
    return "\n".join(f"[page {number}]\n{text}\n" for number, text in enumerate(pages, start=1))


def read_html(name: str, source: str) -> DocumentText:
    from server.research.web_pages import read_page  # noqa: PLC0415  (its parsers, which few starts need)

    page = read_page(source)
    if not page.text:
        raise InvalidRequestError(
            f"{name} shows no text without its scripts. Save it as text, and pass that."
        )
    return DocumentText(page.text, page.unseen)
