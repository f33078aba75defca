"""What seats read of documents that are too long for their windows: a digest by sections, and passages on request.

The reader digests each section once, before the first round; its answers are facts. Its quotes are recorded as places
in the document, so that they are the document's words whatever a record says.
"""

from dataclasses import dataclass

from server.debate.documents.places import describe_place
from server.debate.documents.sections import describe_section
from server.debate.facts.answers import Digested
from server.debate.facts.setup.documents import Document, Reader, Section
from server.debate.facts.setup.opened import Opened
from server.debate.state.debate import Debate

QUOTE_SHARE = 2
"""Its quotes may take the length of the summary, divided by this."""

LEAST_QUOTED = 80
"""Characters that a section may quote, however short its summary."""

HEADING_LENGTH = 60
CHARACTERS_PER_WORD = 7
MOST_SECTION_QUOTES = 3


@dataclass(frozen=True, slots=True)
class SectionDigest:
    """A section with what the reader says of it; None as long as it has not read it."""

    section: Section
    digest: Digested | None


def list_section_digests(debate: Debate, document: int) -> list[SectionDigest]:
    """The sections of a document, in order. `document`: its place among those of the set-up, from 1."""
    reader = debate.setup.reader
    read = {digest.slot_index: digest for digest in debate.digests}
    return [
        SectionDigest(section, read.get(index))
        for index, section in enumerate(reader.sections if reader else ())
        if section.document == document
    ]


def render_digest(debate: Debate, document: int, number: int) -> str:
    """The digest of a document, section by section. `number`: what its quotes are cited by."""
    text = debate.setup.documents[document - 1].text
    return "\n".join(
        render_section(text, each, count, number)
        for count, each in enumerate(list_section_digests(debate, document), start=1)
    )


def render_section(text: str, read: SectionDigest, count: int, number: int) -> str:
    heading = f"Section {count}, {describe_section(text, read.section.start, read.section.end)}"
    if read.digest is None:
        return f"{heading}: not read."
    lines = [f"{heading}:", read.digest.summary]
    for quote in read.digest.quotes:
        words = " ".join(text[quote.start : quote.end].split())
        place = describe_place(text, quote.start).partition(", section ")[0]
        lines.append(f"“{words}” (doc {number}{f', {place}' if place else ''})")
    return "\n".join(lines)


def compute_section_length(words: int) -> int:
    """Characters that the digest of a section has at most, with heading and quotes."""
    return words * CHARACTERS_PER_WORD + compute_quoted_length(words) + HEADING_LENGTH


def compute_quoted_length(words: int) -> int:
    """Characters that the quotes of a section have at most, together."""
    return max(words * CHARACTERS_PER_WORD // QUOTE_SHARE, LEAST_QUOTED)


def count_digest_characters(debate: Debate) -> int:
    """Characters of digests and passages as prompts show them; before a document is digested, what is planned."""
    reader = debate.setup.reader
    if reader is None:
        return 0
    count = sum(passage.end - passage.start for passage in debate.passages)
    for document in dict.fromkeys(section.document for section in reader.sections):
        sections = list_section_digests(debate, document)
        is_read = debate.round > 0 or all(each.digest for each in sections)
        planned = len(sections) * compute_section_length(reader.words)
        count += len(render_digest(debate, document, document)) if is_read else planned
    return count


def find_digest_problem(setup: Opened, event: Digested) -> str:
    """Why a digest cannot be that of its section; "" where it can."""
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
    """Why a reader cannot be asked for these sections; "" where it can: all of each document, in order."""
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
