"""Passages of long documents that debaters ask for in their turns: [read doc 1: what to look for].

The server searches the document when the round is over, and records what it found. Everybody reads it from then on.
"""

import re
from collections.abc import Iterator

from server.debate.documents.sections import search_passage
from server.debate.facts.answers import PassageRead
from server.debate.facts.events import Spoke
from server.debate.facts.text import clean_line
from server.debate.state.debate import Debate

MAX_QUERY_LENGTH = 200

_REQUEST = re.compile(
    r"[\[［【]\s*read\s+doc(?:ument)?\.?\s*(\d{1,4})\s*[:,]\s*([^\[\]［］【】\n]{1,200})[\]］】]",
    re.IGNORECASE,
)


def build_passages(debate: Debate) -> tuple[PassageRead, ...]:
    """What this round's turns ask for, the first request of each, as far as it is not recorded yet."""
    reader = debate.setup.reader
    if reader is None or not debate.round:
        return ()
    left = reader.passage_characters - sum(passage.end - passage.start for passage in debate.passages)
    found = []
    known = {(passage.document, passage.start) for passage in debate.passages if passage.end}
    for turn, document, query in _list_requests(debate):
        passage = _read(debate, turn, document, query, left)
        if passage.end and (document, passage.start) in known:
            passage = passage.model_copy(update={"found": "known", "start": 0, "end": 0})
        known.add((document, passage.start))
        left -= passage.end - passage.start
        found.append(passage)
    return tuple(found)


def _list_requests(debate: Debate) -> Iterator[tuple[Spoke, int, str]]:
    """(turn, place of the document among those of the set-up, words to search)."""
    reader = debate.setup.reader
    assert reader is not None
    known = {(p.seat, p.slot_index) for p in debate.passages if p.round == debate.round}
    for turn in debate.round_turns(debate.round):
        if not debate.is_active(turn) or (turn.seat, turn.slot_index) in known:
            continue
        requests = ((int(found[1]), clean_line(found[2])) for found in _REQUEST.finditer(turn.text))
        for document, query in requests:
            if reader.has_digest(document) and query:
                yield turn, document, query
                break


def _read(debate: Debate, turn: Spoke, document: int, query: str, left: int) -> PassageRead:
    made = PassageRead(
        round=turn.round,
        seat=turn.seat,
        slot_index=turn.slot_index,
        document=document,
        query=query,
        found="nothing",
    )
    place = search_passage(debate.setup.documents[document - 1].text, query)
    if place is None:
        return made
    if place[1] - place[0] > left:
        return made.model_copy(update={"found": "no_room"})
    return made.model_copy(update={"found": "passage", "start": place[0], "end": place[1]})


def find_passage_problem(debate: Debate, event: PassageRead) -> str:
    """Why nobody can have asked for this passage, or read it; "" where somebody can."""
    if not debate.round or debate.setup.reader is None:
        return "no such passage can be read now"
    asked = {
        (turn.round, turn.seat, turn.slot_index, document, query)
        for turn, document, query in _list_requests(debate)
    }
    if (event.round, event.seat, event.slot_index, event.document, event.query) not in asked:
        return "nobody asked for it"
    text = debate.setup.documents[event.document - 1].text
    is_piece = (
        event.start < event.end <= len(text) if event.found == "passage" else event.end == event.start == 0
    )
    return "" if is_piece else "it is not in the document"
