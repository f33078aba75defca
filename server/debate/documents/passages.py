"""Passages of long documents that debaters request in their turns: [read doc 1: what to look for].

The server searches the document at the end of the round and records what it found. From then on everybody reads it.
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
    """The passages for this round's requests that are not recorded yet; each turn may make one request."""
    reader = debate.setup.reader
    if reader is None or not debate.round:
        return ()
    room = reader.passage_characters - sum(passage.end - passage.start for passage in debate.passages)
    passages = []
    known_starts = {(passage.document, passage.start) for passage in debate.passages if passage.end}
    for turn, document, query in _list_requests(debate):
        passage = _search(debate, turn, document, query, room)
        if passage.end and (document, passage.start) in known_starts:
            passage = passage.model_copy(update={"found": "known", "start": 0, "end": 0})
        known_starts.add((document, passage.start))
        room -= passage.end - passage.start
        passages.append(passage)
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


def _search(debate: Debate, turn: Spoke, document: int, query: str, room: int) -> PassageRead:
    passage = PassageRead(
        round=turn.round,
        seat=turn.seat,
        slot_index=turn.slot_index,
        document=document,
        query=query,
        found="nothing",
    )
    place = search_passage(debate.setup.documents[document - 1].text, query)
    if place is None:
        return passage
    if place[1] - place[0] > room:
        return passage.model_copy(update={"found": "no_room"})
    return passage.model_copy(update={"found": "passage", "start": place[0], "end": place[1]})


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
