"""Quotations of what models, documents and callers wrote, so that it cannot pass for our own words."""

import re

from server.debate.facts.text import clean, clean_line, format_heading, shorten_to_bytes

_LIVE_MARKUP = re.compile(
    r"(?<!\\)(?:\\\\)*(?P<html><(?=[A-Za-z/!?])|&(?=#?\w+;)|`{3}|~{3})"  # tags, autolinks, entities, fences
    r"|(?P<link>\](?=[(\[:])|:(?=//)|\bwww(?=\.)|[\w+-](?=@\w))",  # links, images, bare addresses
)
_MAY_BE_LIVE = re.compile(r"[<&`~\]@]|://|www\.")  # far faster, and prose has none of it

_DOUBLE_QUOTATION_MARKS = re.compile(
    '["\u201c-\u201f\u00ab\u00bb\u02ba\u2033\u2036\u275d\u275e\u300c-\u300f\uff02]'
)

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def quote(text: str) -> str:
    """A block for Markdown and terminals: each line begins with "> "; links, images and HTML are dead."""
    return quote_verbatim(disarm_markup(clean(text)))


def quote_inline(text: str, limit: int) -> str:
    """At most `limit` bytes on one line between quotation marks, which the text itself cannot close."""
    line = _DOUBLE_QUOTATION_MARKS.sub("'", clean_line(text))
    return f'"{shorten_to_bytes(disarm_markup(line), limit - 2)}"'


def quote_heading(text: str) -> str:
    """As `quote_inline`, of at most 200 characters, as in headings and lists."""
    return f'"{disarm_markup(format_heading(_DOUBLE_QUOTATION_MARKS.sub(chr(39), text)))}"'


def quote_verbatim(text: str) -> str:
    """A block for prompts: each line begins with "> ", and every visible character stays as it is."""
    return "\n".join("> " + line for line in clean(text).split("\n"))


def disarm_markup(text: str) -> str:
    """Markdown that shows the same words, in which nothing is a link, an image, HTML, an entity or a fence."""
    return _LIVE_MARKUP.sub(_escape, text) if _MAY_BE_LIVE.search(text) else text


def unescape_markup(text: str) -> str:
    """The words of `disarm_markup`, for readers that interpret no Markdown."""
    return _ESCAPED.sub(r"\1", text)


def _escape(match: re.Match[str]) -> str:
    if link := match["link"]:
        return f"{link}\\"
    return match[0].removesuffix(match["html"]) + "\\" + match["html"]
