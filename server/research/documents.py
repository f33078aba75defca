"""Reads files as documents: text as it is, PDF with page numbers, HTML as a reader sees it."""

from io import BytesIO
from pathlib import PurePath
from typing import NamedTuple

from server.debate.facts.errors import InvalidRequestError, require


class DocumentText(NamedTuple):
    text: str
    unseen: int = 0  # hidden passages of a web page, which the text leaves out


def read_document(name: str, content: bytes) -> DocumentText:
    """The text of a file. Each page of a PDF begins with a line such as "[page 12]".

    Raises InvalidRequestError if the file is not text, shows no text, or needs a library that is not installed.
    """
    suffix = PurePath(name).suffix.casefold()
    if suffix == ".pdf" or content.startswith(b"%PDF-"):
        return DocumentText(read_pdf(name, content))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    require(
        "\0" not in text,
        f"{name} is neither text in UTF-8 nor a PDF. Save it as one of these first.",
    )
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return read_html(name, text) if suffix in (".htm", ".html", ".xhtml") else DocumentText(text)


def read_pdf(name: str, content: bytes) -> str:
    try:
        from pypdf import PdfReader  # noqa: PLC0415  (an extra)
        from pypdf.errors import PyPdfError  # noqa: PLC0415
    except ImportError:
        advice = "to have it read, install counterpoint-mcp[documents]; or save its text"
        raise InvalidRequestError(f"{name} is a PDF: {advice}.") from None
    try:
        pages = [page.extract_text().strip() for page in PdfReader(BytesIO(content)).pages]
    except (PyPdfError, ValueError, KeyError, RecursionError) as error:
        raise InvalidRequestError(
            f"{name} cannot be read as PDF ({error}). Save its text in a file."
        ) from None
    if not any(pages):
        raise InvalidRequestError(
            f"{name} holds no text, only pictures of it perhaps. Write its text into a file."
        )
    return "\n".join(f"[page {number}]\n{text}\n" for number, text in enumerate(pages, start=1))


def read_html(name: str, source: str) -> DocumentText:
    from server.research.web_pages import read_page  # noqa: PLC0415  (its parsers, which few starts need)

    page = read_page(source)
    if not page.text:
        raise InvalidRequestError(f"{name} shows no text without its scripts. Save it as text first.")
    return DocumentText(page.text, page.unseen)
