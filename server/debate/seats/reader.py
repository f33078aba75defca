"""The reader: it digests documents that do not fit everybody's window, section by section."""

import re
from collections.abc import Iterator
from typing import Any

from server.debate.documents.digests import CHARACTERS_PER_WORD, MOST_SECTION_QUOTES, compute_quoted_length
from server.debate.documents.quotes import find_span, is_long_enough
from server.debate.documents.sections import describe_section
from server.debate.facts.answers import Digested, Extent
from server.debate.facts.quoting import quote_verbatim
from server.debate.facts.text import clean_line, collapse_whitespace
from server.debate.prompts.response_schemas import list_schema, object_schema, text_schema
from server.debate.replies.extract import Reply, find_json, normalize_keys
from server.debate.rules.calls import Call
from server.debate.seats.seat import Duty
from server.debate.state.debate import Debate

STEPS = (
    "You are the reader. Nobody else reads this section: say in at most {words} words what it holds that bears on the "
    "question, whichever side it serves, with numbers, names and conditions as they stand there; in half a sentence "
    "what else it is about. Quote one to three passages of it, each in four to twenty words, copied exactly."
)

_QUOTED = re.compile('[\u201c\u201e"\u00ab]([^\u201c\u201d\u201e"\u00ab\u00bb]{12,400})[\u201d\u201c"\u00bb]')


class Digest(Duty):
    task = "digest"
    fact = Digested
    is_data = True
    template = '{"summary": "what the section holds", "quotes": ["copied exactly", …]}'

    def render_material(self, debate: Debate, call: Call) -> str:
        """The question, and the section to digest."""
        reader = debate.setup.reader
        assert reader is not None
        section = reader.sections[call.slot_index]
        document = debate.setup.documents[section.document - 1]
        place = describe_section(document.text, section.start, section.end)
        title = quote_verbatim(clean_line(document.title))
        text = quote_verbatim(document.text[section.start : section.end])
        question = f"# Question\n{quote_verbatim(debate.setup.question)}"
        return f"{question}\n\n# A section of a document: {place}\n{title}\n>\n{text}"

    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        reader = debate.setup.reader
        yield STEPS.format(words=reader.words if reader else 0)

    def build_schema(self, debate: Debate) -> dict[str, Any]:
        return object_schema(summary=text_schema(4000), quotes=list_schema(text_schema(400), 6))

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        """Quotes that are not in the section are dropped and counted."""
        reader = debate.setup.reader
        assert reader is not None
        section = reader.sections[call.slot_index]
        document = debate.setup.documents[section.document - 1].text[section.start : section.end]
        summary, quoted_texts = read_reply(text)
        summary = shorten(collapse_whitespace(summary), reader.words * CHARACTERS_PER_WORD)
        if not summary:
            raise ValueError("summary is empty")
        quotes, dropped, room = list[Extent](), 0, compute_quoted_length(reader.words)
        for quote in quoted_texts:
            span = find_span(quote, document) if is_long_enough(quote) else None
            dropped += span is None
            if span and len(quotes) < MOST_SECTION_QUOTES and span.end - span.start <= room:
                quotes.append(Extent(start=section.start + span.start, end=section.start + span.end))
                room -= span.end - span.start
        return {"summary": summary, "quotes": tuple(dict.fromkeys(quotes)), "dropped": dropped}


def read_reply(text: str) -> tuple[str, list[str]]:
    """(summary, quotes) from JSON, or from prose with quotations in it."""
    try:
        data = find_json(text, ("summary",))
    except ValueError:
        return text, _QUOTED.findall(text)
    fields = normalize_keys(data)
    summary, quotes = fields.get("summary"), fields.get("quotes")
    quote_texts = (
        [quote.strip(' "\u201c\u201d') for quote in quotes if isinstance(quote, str)]
        if isinstance(quotes, list)
        else []
    )
    return (summary if isinstance(summary, str) else ""), quote_texts


def shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rpartition(" ")[0] + "\u2026"
