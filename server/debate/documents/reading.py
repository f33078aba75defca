"""How much of the documents each seat has read, as data and in sentences."""

from typing import Any

from server.debate.arguments.sources import list_sources
from server.debate.documents.digests import list_section_digests
from server.debate.documents.sections import describe_section
from server.debate.facts.setup.opened import Opened
from server.debate.facts.text import clean_line, format_count
from server.debate.state.debate import Debate, judge_seats


def build_reading(debate: Debate) -> list[dict[str, Any]]:
    """A row for each document: how it was shown, to whom, and which parts anybody read."""
    return [
        build_row(debate, source.document, source.number)
        for source in list_sources(debate)
        if source.document
    ]


def build_row(debate: Debate, document: int, number: int) -> dict[str, Any]:
    document_text, reader = debate.setup.documents[document - 1], debate.setup.reader
    row: dict[str, Any] = {"doc": number, "title": document_text.title, "characters": len(document_text.text)}
    if reader is None or not reader.has_digest(document):
        return row | {"shown": "whole"}
    sections = list_section_digests(debate, document)
    unread_sections = [
        describe_section(document_text.text, s.section.start, s.section.end) for s in sections if not s.digest
    ]
    passages = [
        {
            "debater": passage.seat,
            "round": passage.round,
            "query": passage.query,
            "found": passage.found,
            "place": describe_section(document_text.text, passage.start, passage.end) if passage.end else "",
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
        "not_whole_for": list_readers(debate),
    }


def list_readers(debate: Debate) -> list[str]:
    """The seats that read documents in prompts: all but the reader, who read each section alone."""
    return [*debate.names, *judge_seats(debate.setup)]


def list_reading_cautions(debate: Debate) -> list[str]:
    """A sentence for each digested document: who could not read everything."""
    reader = debate.setup.reader
    lines = []
    for source in list_sources(debate):
        if reader is None or not reader.has_digest(source.document):
            continue
        row = build_row(debate, source.document, source.number)
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
