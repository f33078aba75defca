"""Files as documents: text as it is, PDF with the numbers of its pages, HTML without its markup."""

from html.parser import HTMLParser
from pathlib import Path

from server.debate.facts.errors import InvalidRequestError

_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figure"),
        *("footer", "form", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table"),
        *("td", "th", "tr", "ul"),
    )
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_UNSEEN = frozenset(("head", "noscript", "script", "style", "svg", "template"))


def read_document(path: Path) -> str:
    """The text of a file. The pages of a PDF begin with a line such as "[page 12]".

    Raises:
        InvalidRequestError: it is no text, or its library is not installed.
    """
    if path.suffix.casefold() == ".pdf":
        return read_pdf(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequestError(f"{path.name} is no text in UTF-8, and no PDF.") from None
    return read_html(text) if path.suffix.casefold() in (".htm", ".html", ".xhtml") else text


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


def read_html(source: str) -> str:
    """The words of a page that are seen, a block in a line, headings as in Markdown."""
    parser = _TextParser()
    parser.feed(source)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


class _TextParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.unseen: list[str] = []

    def handle_starttag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self.unseen.append(tag)
        elif tag in _HEADINGS:
            self.pieces.append(f"\n{_HEADINGS[tag]} ")
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self.unseen and tag == self.unseen[-1]:
            self.unseen.pop()
        elif tag in _HEADINGS or tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.pieces.append(data.replace("\n", " "))
