"""Documents that are too long for some windows: seats read a digest by sections, and passages on request.

The reader digests each section once, before the first round; its answers are facts. Its quotes are recorded as
positions in the document, so they are always the document's own words. A debater asks for a passage in its turn, with
[read doc 1: what to look for]; the server records what it found, and from then on everybody reads it.
"""

import re
from collections.abc import Iterator
from typing import Any

from server.debate.arguments.sources import Source, list_sources
from server.debate.documents.sections import describe_place, describe_section, search_passage
from server.debate.facts.answers import Digested, PassageRead
from server.debate.facts.events import Spoke
from server.debate.facts.setup.documents import Document, Reader, Section
from server.debate.facts.setup.opened import Opened
from server.debate.facts.text import clean_line, format_count
from server.debate.state.debate import Debate, judge_seats

QUOTE_SHARE = 2
"""Its quotes together may be as long as the summary divided by this."""

LEAST_QUOTED = 80
"""Characters that a section may always quote, however short its summary."""

HEADING_LENGTH = 60
CHARACTERS_PER_WORD = 7
MOST_SECTION_QUOTES = 3


def list_section_digests(debate: Debate, document: int) -> list[tuple[Section, Digested | None]]:
    """The sections of a document, in order, each with its digest; None until the reader has read it.

    `document`: its number in the set-up, from 1.
    """
    reader = debate.setup.reader
    digests = {digest.slot_index: digest for digest in debate.digests}
    return [
        (section, digests.get(index))
        for index, section in enumerate(reader.sections if reader else ())
        if section.document == document
    ]


def render_digest(debate: Debate, document: int, number: int) -> str:
    """The digest of a document, section by section. `number`: its number in citations."""
    text = debate.setup.documents[document - 1].text
    return "\n".join(
        render_section(text, section, digest, f"Section {count}", number)
        for count, (section, digest) in enumerate(list_section_digests(debate, document), start=1)
    )


def render_section(text: str, section: Section, digest: Digested | None, title: str, number: int) -> str:
    heading = f"{title}, {describe_section(text, section.start, section.end)}"
    if digest is None:
        return f"{heading}: not read."
    lines = [f"{heading}:", digest.summary]
    for quote in digest.quotes:
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
        is_read = debate.round > 0 or all(digest for _, digest in sections)
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


def build_reading(debate: Debate) -> list[dict[str, Any]]:
    """A row for each document: how it was shown, to whom, and which parts anybody read."""
    return [build_row(debate, source) for source in list_sources(debate) if source.document]


def build_row(debate: Debate, source: Source) -> dict[str, Any]:
    document, text, reader = source.document, source.text, debate.setup.reader
    row: dict[str, Any] = {"doc": source.number, "title": source.title, "characters": len(text)}
    if reader is None or not reader.has_digest(document):
        return row | {"shown": "whole"}
    sections = list_section_digests(debate, document)
    unread_sections = [
        describe_section(text, section.start, section.end) for section, digest in sections if not digest
    ]
    passages = [
        {
            "debater": passage.seat,
            "round": passage.round,
            "query": passage.query,
            "found": passage.found,
            "place": describe_section(text, passage.start, passage.end) if passage.end else "",
        }
        for passage in debate.passages
        if passage.document == document
    ]
    return row | {
        "shown": "digest",
        "reader": reader.model,
        "sections": len(sections),
        "unread": unread_sections,
        "passages": passages,
        "not_whole_for": [*debate.names, *judge_seats(debate.setup)],  # the reader read each section alone
    }


def list_reading_cautions(debate: Debate) -> list[str]:
    """A sentence for each digested document: who could not read everything."""
    reader = debate.setup.reader
    lines = []
    for source in list_sources(debate):
        if reader is None or not reader.has_digest(source.document):
            continue
        row = build_row(debate, source)
        passage_count = sum(passage["found"] == "passage" for passage in row["passages"])
        passages = "" if debate.setup.answering else f", and {format_count(passage_count, 'passage')} of it"
        line = (
            f"Doc {row['doc']} ({row['characters']:,} characters) was too long for {', '.join(row['not_whole_for'])}: "
            f"they read a digest by {clean_line(reader.model)} in {format_count(row['sections'], 'section')}{passages}."
        )
        if unread_sections := row["unread"]:
            line += f" Nobody read {', '.join(unread_sections[:5])}{' …' if unread_sections[5:] else ''}."
        lines.append(line)
    return lines


def describe_reading(setup: Opened) -> str:
    """What the first round waits for, in a sentence; "" without a reader."""
    reader = setup.reader
    if reader is None:
        return ""
    calls = format_count(len(reader.sections), "call")
    passages = "" if setup.answering else " Debaters can ask for passages."
    return (
        f"The documents do not fit every window: {clean_line(reader.model)} digests them in {calls} before the first "
        f"round, {reader.words} words a section.{passages}"
    )


MAX_QUERY_LENGTH = 200

_REQUEST = re.compile(
    r"[\[［【]\s*read\s+doc(?:ument)?\.?\s*(\d{1,4})\s*[:,]\s*([^\[\]［］【】\n]{1,200})[\]］】]",
    re.IGNORECASE,
)


def build_passages(debate: Debate) -> tuple[PassageRead, ...]:
    """The passages for this round's requests that are not recorded yet; each turn may make one request."""
    reader = debate.setup.reader
    if reader is None or not debate.round:
        return ()
    room = reader.passage_characters - sum(passage.end - passage.start for passage in debate.passages)
    passages = []
    known_starts = {(passage.document, passage.start) for passage in debate.passages if passage.end}
    for turn, document, query in _list_requests(debate):
        start, end = search_passage(debate.setup.documents[document - 1].text, query) or (0, 0)
        found = "passage" if end else "nothing"
        if end - start > room:
            found = "no_room"
        elif end and (document, start) in known_starts:
            found = "known"
        passage = {"round": turn.round, "seat": turn.seat, "slot_index": turn.slot_index, "query": query}
        passage |= {"document": document, "found": found}
        if found == "passage":
            passage |= {"start": start, "end": end}
            known_starts.add((document, start))
            room -= end - start
        passages.append(PassageRead.model_validate(passage))
    return tuple(passages)


def _list_requests(debate: Debate) -> Iterator[tuple[Spoke, int, str]]:
    """(turn, number of the document in the set-up, words to search for)."""
    reader = debate.setup.reader
    assert reader is not None
    answered_keys = {(p.seat, p.slot_index) for p in debate.passages if p.round == debate.round}
    for turn in debate.round_turns(debate.round):
        if not debate.is_active(turn) or (turn.seat, turn.slot_index) in answered_keys:
            continue
        requests = ((int(match[1]), clean_line(match[2])) for match in _REQUEST.finditer(turn.text))
        for document, query in requests:
            if reader.has_digest(document) and query:
                yield turn, document, query
                break


def find_passage_problem(debate: Debate, event: PassageRead) -> str:
    """Why nobody can have requested or read this passage; "" if somebody can."""
    if not debate.round or debate.setup.reader is None:
        return "no such passage can be read now"
    requests = {
        (turn.round, turn.seat, turn.slot_index, document, query)
        for turn, document, query in _list_requests(debate)
    }
    if (event.round, event.seat, event.slot_index, event.document, event.query) not in requests:
        return "nobody asked for it"
    text = debate.setup.documents[event.document - 1].text
    is_piece = (
        event.start < event.end <= len(text) if event.found == "passage" else event.end == event.start == 0
    )
    return "" if is_piece else "it is not in the document"
