"""Documents that are too long for some windows: seats read a digest by sections, and passages on request.

The reader digests each section once, before the first round; its answers are facts. Its quotes are recorded as
positions in the document, so they are always the document's own words.
"""

from dataclasses import dataclass

from server.debate.documents.places import describe_place
from server.debate.documents.sections import describe_section
from server.debate.facts.answers import Digested
from server.debate.facts.setup.documents import Document, Reader, Section
from server.debate.facts.setup.opened import Opened
from server.debate.state.debate import Debate

QUOTE_SHARE = 2
"""Its quotes together may be as long as the summary divided by this."""

LEAST_QUOTED = 80
"""Characters that a section may always quote, however short its summary."""

HEADING_LENGTH = 60
CHARACTERS_PER_WORD = 7
MOST_SECTION_QUOTES = 3


@dataclass(frozen=True, slots=True)
class SectionDigest:
    """A section with the reader's digest; None until it has read it."""

    section: Section
    digest: Digested | None


def list_section_digests(debate: Debate, document: int) -> list[SectionDigest]:
    """The sections of a document, in order. `document`: its number in the set-up, from 1."""
    reader = debate.setup.reader
    digests = {digest.slot_index: digest for digest in debate.digests}
    return [
        SectionDigest(section, digests.get(index))
        for index, section in enumerate(reader.sections if reader else ())
        if section.document == document
    ]


def render_digest(debate: Debate, document: int, number: int) -> str:
    """The digest of a document, section by section. `number`: its number in citations."""
    text = debate.setup.documents[document - 1].text
    return "\n".join(
        render_section(text, section, count, number)
        for count, section in enumerate(list_section_digests(debate, document), start=1)
    )


def render_section(text: str, section: SectionDigest, count: int, number: int) -> str:
    heading = f"Section {count}, {describe_section(text, section.section.start, section.section.end)}"
    if section.digest is None:
        return f"{heading}: not read."
    lines = [f"{heading}:", section.digest.summary]
    for quote in section.digest.quotes:
        words = " ".join(text[quote.start : quote.end].split())
        place = describe_place(text, quote.start).partition(", section ")[0]
        lines.append(f"“{words}” (doc {number}{f', {place}' if place else ''})")
    return "\n".join(lines)


def compute_section_length(words: int) -> int:
    """The most characters of a section's digest, with heading and quotes."""
    return words * CHARACTERS_PER_WORD + compute_quoted_length(words) + HEADING_LENGTH


def compute_quoted_length(words: int) -> int:
    """The most characters of all quotes of a section."""
    return max(words * CHARACTERS_PER_WORD // QUOTE_SHARE, LEAST_QUOTED)


def count_digest_characters(debate: Debate) -> int:
    """Characters of digests and passages in prompts; the planned number until a document is digested."""
    reader = debate.setup.reader
    if reader is None:
        return 0
    count = sum(passage.end - passage.start for passage in debate.passages)
    for document in dict.fromkeys(section.document for section in reader.sections):
        sections = list_section_digests(debate, document)
        is_read = debate.round > 0 or all(section.digest for section in sections)
        planned_count = len(sections) * compute_section_length(reader.words)
        count += len(render_digest(debate, document, document)) if is_read else planned_count
    return count


def find_digest_problem(setup: Opened, event: Digested) -> str:
    """Why a digest cannot be that of its section; "" if it can."""
    reader = setup.reader
    if reader is None or event.slot_index >= len(reader.sections):
        return "there is no such section"
    section = reader.sections[event.slot_index]
    if not event.summary or len(event.summary) > reader.words * CHARACTERS_PER_WORD:
        return "its summary is empty or too long"
    inside = all(section.start <= quote.start < quote.end <= section.end for quote in event.quotes)
    length = sum(quote.end - quote.start for quote in event.quotes)
    is_short = len(event.quotes) <= MOST_SECTION_QUOTES and length <= compute_quoted_length(reader.words)
    return "" if inside and is_short else "its quotes are not in its section, or too many"


def find_reader_problem(documents: tuple[Document, ...], reader: Reader) -> str:
    """Why a reader cannot have these sections; "" if it can: they must cover each document, in order."""
    ends: dict[int, int] = {}
    for section in reader.sections:
        if section.start != ends.get(section.document, 0) or section.end <= section.start:
            return "its sections do not follow one another"
        ends[section.document] = section.end
    is_whole = all(
        0 < index <= len(documents) and end == len(documents[index - 1].text) for index, end in ends.items()
    )
    in_order = list(ends) == sorted(ends) == sorted({section.document for section in reader.sections})
    return "" if ends and is_whole and in_order else "its sections are not whole documents"
