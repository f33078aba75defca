"""What a reader says of a section of a long document, with its quotes as places in the document."""

import re
from typing import Any

from server.debate.documents.digests import (
    CHARACTERS_PER_WORD,
    MOST_SECTION_QUOTES,
    compute_quoted_length,
)
from server.debate.documents.quotes import find_span, is_long_enough
from server.debate.facts.answers import Extent
from server.debate.facts.text import collapse_whitespace
from server.debate.replies.extract import Reply, find_json, normalize_keys
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate

_QUOTED = re.compile('[\u201c\u201e"\u00ab]([^\u201c\u201d\u201e"\u00ab\u00bb]{12,400})[\u201d\u201c"\u00bb]')


def parse_digest(debate: Debate, call: Call, text: str, _reply: Reply) -> dict[str, Any]:
    """The fields of a `Digested` event. Quotes that the section does not hold are dropped and counted.

    Raises:
        ValueError: it says nothing of the section.
    """
    reader = debate.setup.reader
    assert reader is not None
    section = reader.sections[call.slot_index]
    document = debate.setup.documents[section.document - 1].text[section.start : section.end]
    summary, given = read_reply(text)
    summary = shorten(collapse_whitespace(summary), reader.words * CHARACTERS_PER_WORD)
    if not summary:
        raise ValueError("summary is empty")
    quotes, dropped, left = list[Extent](), 0, compute_quoted_length(reader.words)
    for quote in given:
        span = find_span(quote, document) if is_long_enough(quote) else None
        dropped += span is None
        if span and len(quotes) < MOST_SECTION_QUOTES and span.end - span.start <= left:
            quotes.append(Extent(start=section.start + span.start, end=section.start + span.end))
            left -= span.end - span.start
    return {"summary": summary, "quotes": tuple(dict.fromkeys(quotes)), "dropped": dropped}


def read_reply(text: str) -> tuple[str, list[str]]:
    """(summary, quotes) of JSON, or of prose with quotations in it."""
    try:
        found = find_json(text, ("summary",))
    except ValueError:
        return text, _QUOTED.findall(text)
    fields = normalize_keys(found)
    summary, quotes = fields.get("summary"), fields.get("quotes")
    listed = (
        [quote.strip(' "\u201c\u201d') for quote in quotes if isinstance(quote, str)]
        if isinstance(quotes, list)
        else []
    )
    return (summary if isinstance(summary, str) else ""), listed


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rpartition(" ")[0] + "\u2026"
