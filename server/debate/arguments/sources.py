"""What debaters may quote: the documents of a debate and its research results, numbered together.

A source keeps its number: research results follow the documents in the order of recording, and documents that a fork
adds follow the research of the rounds that it inherits.
"""

import dataclasses
from dataclasses import dataclass

from server.debate.facts.answers import Researched
from server.debate.facts.setup.documents import Reliability
from server.debate.state.debate import Debate, replace
from server.debate.state.memo import once


@dataclass(frozen=True, slots=True)
class Source:
    title: str
    text: str
    url: str = ""
    number: int = 0  # (doc 1) is the first
    version: int = 1  # of the debate, from which on it can be quoted
    published: str = ""  # as declared, in ISO 8601
    reliability: Reliability = "unknown"  # as declared
    document: int = 0  # its place among the documents of the set-up, from 1; 0 for a result
    lookup: tuple[int, int] | None = None
    """Of a result: the index of its research in the debate, and its index there. None for a document."""


DECLARED = {"title", "text", "url", "published", "reliability"}
"""The fields of a document that its source has as well."""


@once
def list_sources(debate: Debate) -> tuple[Source, ...]:
    rows: list[tuple[tuple[int, bool], Source]] = [
        ((document.after_round, True), Source(**document.model_dump(include=DECLARED), document=index))
        for index, document in enumerate(debate.setup.documents, start=1)
    ]
    research_versions = zip(debate.research, debate.research_versions, strict=True)
    for index, (research, version) in enumerate(research_versions):
        rows += [
            (
                (research.round, False),
                Source(lookup.tool, lookup.result, version=version, lookup=(index, place)),
            )
            for place, lookup in enumerate(research.lookups)
            if lookup.result
        ]
    in_order = [source for _, source in sorted(rows, key=lambda row: row[0])]
    return tuple(
        dataclasses.replace(source, number=number) for number, source in enumerate(in_order, start=1)
    )


def find_source(debate: Debate, number: int, version: int) -> Source | None:
    """The source with a number, if it was in this version of the debate."""
    sources = list_sources(debate)
    source = sources[number - 1] if 1 <= number <= len(sources) else None
    return source if source and source.version <= version else None


def add_research(debate: Debate, event: Researched) -> Debate:
    """The debate with new results, which can be quoted from now on."""
    versions = (*debate.research_versions, debate.version + 1)
    return replace(debate, research=(*debate.research, event), research_versions=versions)
