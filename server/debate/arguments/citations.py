"""What points do to others, by the ids that they cite.

The rules that debaters get say what an id in brackets means: that of another side's point attacks it, that of the own
side builds on it, and a word in front of it, inside the brackets, says anything else. Nothing is read out of a
sentence: an id without brackets names a point and no more, and so does one right behind a word such as "concede".

Where an analyst read the round, its links are added. What a debater says in a word counts before them; an id alone, and
one that only names a point, after them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from server.debate.arguments.points import Point, list_points, split_turn
from server.debate.arguments.sources import find_source
from server.debate.facts.answers import ClaimRelation
from server.debate.facts.beliefs import Citation
from server.debate.facts.events import Spoke
from server.debate.state.debate import Debate
from server.debate.state.labels import is_label, side_labels
from server.debate.state.memo import by_round

Relation = ClaimRelation | Literal["same_as", "cites"]
"""`same_as`: another debater claims the same. `cites`: named, and no more said of it."""

RELATION_STEMS: dict[str, Relation] = {
    "support": "supports",
    "attack": "attacks",
    "rebut": "attacks",
    "undercut": "undercuts",
    "repeat": "repeats",
    "conced": "concedes",
    "changed by": "concedes",
    "cite": "cites",
}
"""Words inside the brackets of a citation, by how they begin."""

NEUTRAL = "neutral"

_BRACKETS = re.compile(r"[\[\uff3b\u3010]([^\[\]\uff3b\uff3d\u3010\u3011\n]{3,300})[\]\uff3d\u3011]")
_PART = re.compile(
    r"(?:(?P<word>(?:support|attack|rebut|undercut|repeat|conced|cite)[a-z]{0,4}|changed by)[\s:]{1,3})?"
    r"(?:(?P<who>[^\W\d_].{0,100}?)(?:['\u2019]s)?[\s#:]{1,3})?(?P<round>\d{1,6})\.(?P<point>\d{1,6})(?![\w.%])",
    re.IGNORECASE,
)
_RESERVED = re.compile(
    r"\b(?:conced|grant|accept|admit|agree|support|repeat|endors|echo)[a-z]{0,4}(?:\s(?:with|to))?\s$",
    re.IGNORECASE,
)
_DOCUMENTS = re.compile(
    r"\(\s?doc(?:ument)?s?\.?\s?(\d{1,3}(?:\s?(?:,|;|&|and)\s?\d{1,3}){0,20})", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Link:
    """What a point does to another one."""

    source: Citation
    target: Citation
    relation: Relation
    is_read: bool = False  # by the analyst; the debater did not say it


class Reference(NamedTuple):
    """The id of a point as a text has it. `relation`: "" where an id stands alone in brackets."""

    target: Citation
    relation: Relation | Literal[""]


@dataclass(frozen=True, slots=True)
class Citations:
    """What a point cites: its links, documents and research results by number, and how many ids of nothing it had."""

    links: tuple[Link, ...] = ()
    documents: tuple[int, ...] = ()
    unknown: int = 0


def find_references(text: str, seats: Mapping[str, str]) -> tuple[list[Reference], int]:
    """(the ids in a text, how many ids of nobody here it has). `seats`: debaters, by their labels and names."""
    found, unknown, inside = list[Reference](), 0, list[tuple[int, int]]()
    folded = {word.casefold(): seat for word, seat in reversed(list(seats.items()))}
    for brackets in _BRACKETS.finditer(text):
        relation: Relation | Literal[""] = ""
        if _RESERVED.search(text[max(brackets.start() - 30, 0) : brackets.start()]):
            relation = "cites"
        seat = ""
        for part in re.split(r"[,;&/]|\band\b", brackets[1]):
            cited = _PART.match(part.strip())
            if cited is None:
                continue
            if cited["word"]:
                relation = find_relation(cited["word"])
            if cited["who"]:
                seat = seats.get(cited["who"]) or folded.get(cited["who"].casefold(), "")
                unknown += not seat and bool(cited["word"] or is_label(cited["who"].title()))
            if seat:
                found.append(Reference(build_citation(seat, cited), relation))
        inside.append(brackets.span())
    bare = compile_ids(tuple(word for word in seats if len(word) > 1)).finditer(text)
    for named in bare:
        if not any(start <= named.start() < end for start, end in inside):
            seat = seats.get(named["who"]) or folded[named["who"].casefold()]
            found.append(Reference(build_citation(seat, named), "cites"))
    return found, unknown


def find_cited(debate: Debate, texts: Iterable[str], reading: int) -> tuple[tuple[Citation, ...], int]:
    """(the points that a reader's texts name, each once; how many ids of nothing they have).

    A point of a turn that was retracted is nothing.
    """
    points, seats = list_points(debate), name_seats(debate, reading)
    found, unknown = dict[Citation, None](), 0
    for text in texts:
        references, of_nobody = find_references(text, seats)
        unknown += of_nobody
        for target, _ in references:
            point = points.get(target)
            if point and debate.is_active(point.turn):
                found[target] = None
            else:
                unknown += 1
    return tuple(found), unknown


def find_relation(word: str) -> Relation:
    return next(means for stem, means in RELATION_STEMS.items() if word.lower().startswith(stem))


def build_citation(seat: str, written: re.Match[str]) -> Citation:
    return Citation(seat=seat, round=int(written["round"]), point=int(written["point"]))


@lru_cache(maxsize=256)
def compile_ids(words: tuple[str, ...]) -> re.Pattern[str]:
    """Ids with one of these labels or names, wherever they stand."""
    names = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"
    numbers = r"(?P<round>\d{1,6})\.(?P<point>\d{1,6})"
    return re.compile(rf"(?<!\w)(?P<who>{names})[ \t]{numbers}(?![\w%]|\.\d)", re.IGNORECASE)


def name_seats(debate: Debate, reading: int = 1) -> dict[str, str]:
    """Debaters by the words that stand for them in a text: their labels in that reading, and their names."""
    labels = side_labels(debate, reading)
    return {**{name: name for name in debate.names}, **{label: name for name, label in labels.items()}}


@by_round
def find_citations(debate: Debate, round_number: int) -> dict[Citation, Citations]:
    """What each point cites, by its id. What a debater had not read when it wrote does not exist for it."""
    points, seats = list_points(debate), name_seats(debate)
    turns = debate.transcript_turns(round_number)
    said = (point for turn in turns for point in split_turn(debate, turn).points)
    return {point.id: find_point_citations(debate, point, points, seats) for point in said}


def find_point_citations(
    debate: Debate, point: Point, points: Mapping[Citation, Point], seats: Mapping[str, str]
) -> Citations:
    references, unknown = find_references(point.text, seats)
    read = list_read_links(point, points)
    linked = {link.target for link in read}
    links: dict[Link, None] = {}  # in order, each once
    stated = set[Citation]()
    for target, written in references:
        if (
            target == point.id
            or target not in points
            or not could_read(debate, point.turn, points[target].turn)
        ):
            unknown += 1
        elif written not in ("", "cites") or target not in linked:
            links[Link(point.id, target, written or find_default(debate, point.id.seat, target.seat))] = None
            stated.add(target)
    links |= dict.fromkeys(link for link in read if link.target not in stated)
    listed = (re.findall(r"\d+", written[1]) for written in _DOCUMENTS.finditer(point.text))
    numbers = dict.fromkeys(int(number) for each in listed for number in each)
    seen = point.turn.seen
    documents = tuple(number for number in numbers if find_source(debate, number, seen))
    return Citations(tuple(links), documents, unknown)


def list_read_links(point: Point, points: Mapping[Citation, Point]) -> list[Link]:
    """What a point does to others as the analyst reads it."""
    found = list[Link]()
    for claim in point.claims:
        found += (Link(point.id, link.to, link.relation, is_read=True) for link in claim.links)
        found += (Link(point.id, target, "same_as", is_read=True) for target in claim.same_as)
    return [link for link in found if link.target in points and link.target != point.id]


def find_default(debate: Debate, seat: str, target: str) -> Relation:
    """What an id alone in brackets means: by whether both stand for the same thing."""
    own, other = (debate.debater(name).stance.casefold() for name in (seat, target))
    if own == NEUTRAL and seat != target:
        return "cites"
    return "supports" if own == other else "attacks"


def could_read(debate: Debate, turn: Spoke, cited: Spoke) -> bool:
    """Whether the author of a turn knew another: of an earlier round, or said before it; or it is the same turn."""
    if cited.act != "argument" and turn.seat not in (cited.seat, cited.to):
        return False
    if cited is turn or cited.round != turn.round:
        return cited.round <= turn.round
    if turn.act == "answer":
        return cited.act == "argument" or (cited.act != "answer" and cited.seat == turn.to)
    if cited.act != "argument" or debate.round_phase(turn.round).is_written_together:
        return False
    written = (said for said in debate.round_events(turn.round) if isinstance(said, Spoke))
    return next(said for said in written if said is cited or is_or_carries(said, turn)) is cited


def is_or_carries(said: Spoke, turn: Spoke) -> bool:
    """Whether a turn is this one, or the one with which this one, a message, was sent."""
    return said is turn or (turn.act != "argument" and said.message is not None and said.seat == turn.seat)
