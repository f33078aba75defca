"""Web pages as text: what a reader sees, one line for each block, headings as in Markdown."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

import tinyhtml5
from cssselect2 import ElementWrapper

from server.debate.facts.errors import require
from server.research.page_styles import PageStyles, Style

MAX_NESTING = 512
"""The deepest nesting of elements, as in browsers: the parser's time grows with its square."""

_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figure footer form header hr li main nav ol p pre "  # noqa: SIM905
    "section svg table td text th tr ul".split()
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_NO_TEXT = frozenset(("head", "script", "style", "title", "desc", "metadata"))

_TAG = re.compile(r"<(/?)([a-z][^\s/>]*)", re.IGNORECASE)
_UNCLOSED = frozenset(
    "area base br col embed hr img input link meta param source track wbr "  # noqa: SIM905
    "p li dt dd td th tr thead tbody tfoot option optgroup rt rp html head body colgroup".split()
)
"""Elements without an end, or whose end may be left out."""


class Page(NamedTuple):
    text: str
    unseen: int  # hidden passages, which the text leaves out


class _Text(NamedTuple):
    """A piece of a page. `hidden_in`: the outermost element that hides it."""

    text: str
    hidden_in: Element | None = None


class _Open(NamedTuple):
    element: ElementWrapper
    parent: Style
    hidden_in: Element | None


def read_page(source: str) -> Page:
    """The visible text of a page. Raises InvalidRequestError if the page is nested too deeply."""
    check_depth(source)
    root = tinyhtml5.parse(source, namespace_html_elements=False, scripting=True)
    visible_pieces, hidden_elements = list[str](), set[int]()
    for piece in walk(root):
        if piece.hidden_in is None:
            visible_pieces.append(piece.text)
        elif piece.text.strip():
            hidden_elements.add(id(piece.hidden_in))
    lines = (" ".join(line.split()) for line in "".join(visible_pieces).split("\n"))
    return Page("\n".join(line for line in lines if line), len(hidden_elements))


def check_depth(source: str) -> None:
    open_counts, depth = Counter[str](), 0
    for tag in _TAG.finditer(source):
        name = tag[2].casefold()
        if name in _UNCLOSED or (tag[1] and not open_counts[name]):
            continue
        change = -1 if tag[1] else 1
        open_counts[name] += change
        depth += change
        require(
            depth <= MAX_NESTING,
            f"The page nests more than {MAX_NESTING} elements in one another. Save it as text first.",
        )


def walk(root: Element) -> Iterator[_Text]:
    """The text of a page, piece by piece. It uses no recursion, because pages may be nested deeply."""
    styles = PageStyles(root)
    waiting: list[_Text | _Open] = [_Open(ElementWrapper.from_html_root(root), styles.root, None)]
    while waiting:
        at = waiting.pop()
        if isinstance(at, _Text):
            yield at
        elif at.element.local_name not in _NO_TEXT:
            style = styles.build_style(at.element, at.parent)
            outer = at.element.etree_element if at.hidden_in is None else at.hidden_in
            hidden_in = None if style.is_seen else outer
            waiting += reversed(list(list_parts(at.element, style, hidden_in)))


def list_parts(element: ElementWrapper, style: Style, hidden_in: Element | None) -> Iterator[_Text | _Open]:
    """The text of an element and its children, in order."""
    name, children = element.local_name, element.iter_children()
    is_block = name in _BLOCKS or name in _HEADINGS
    if is_block:
        yield _Text(f"\n{_HEADINGS[name]} " if name in _HEADINGS and hidden_in is None else "\n")
    yield _Text(flatten(element.etree_element.text), hidden_in)
    for child in element.etree_element:
        if isinstance(child.tag, str):  # else a comment
            yield _Open(next(children), style, hidden_in)
        yield _Text(flatten(child.tail), hidden_in)
    if is_block:
        yield _Text("\n")


def flatten(text: str | None) -> str:
    return (text or "").replace("\n", " ")
