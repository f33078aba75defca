"""What points do to others, by the ids that they cite.

A word before an id, inside the brackets, says what one does to it: "[attacks K73 2.1]". An id alone only names a point,
in brackets or not. Nothing is inferred from sentences.

Where an analyst read the round, its links are added. They rank below what a debater says in a word, and above an id
alone.
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
"""`same_as`: another debater makes the same claim. `cites`: only named."""

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
"""Words inside the brackets of a citation, by their beginnings."""

_BRACKETS = re.compile(r"[\[\uff3b\u3010]([^\[\]\uff3b\uff3d\u3010\u3011\n]{3,300})[\]\uff3d\u3011]")
_PART = re.compile(
    r"(?:(?P<word>(?:support|attack|rebut|undercut|repeat|conced|cite)[a-z]{0,4}|changed by)[\s:]{1,3})?"
    r"(?:(?P<who>[^\W\d_].{0,100}?)(?:['\u2019]s)?[\s#:]{1,3})?(?P<round>\d{1,6})\.(?P<point>\d{1,6})(?![\w.%])",
    re.IGNORECASE,
)
_DOCUMENTS = re.compile(
    r"\(\s?doc(?:ument)?s?\.?\s?(\d{1,3}(?:\s?(?:,|;|&|and)\s?\d{1,3}){0,20})", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Link:
    """The relation of a point to another."""

    source: Citation
    target: Citation
    relation: Relation
    is_read: bool = False  # by the analyst, not said by the debater


class Reference(NamedTuple):
    """The id of a point in a text, and what is said of it."""

    target: Citation
    relation: Relation


@dataclass(frozen=True, slots=True)
class Citations:
    """What a point cites: its links, documents and research results by number, and how many unknown ids."""

    links: tuple[Link, ...] = ()
    documents: tuple[int, ...] = ()
    unknown: int = 0


def find_references(text: str, seats: Mapping[str, str]) -> tuple[list[Reference], int]:
    """(the ids in a text, how many unknown ids it has). `seats`: debaters by their labels and names."""
    references, unknown_count, inside = list[Reference](), 0, list[tuple[int, int]]()
    seats_by_folded_word = {word.casefold(): seat for word, seat in reversed(list(seats.items()))}
    for brackets in _BRACKETS.finditer(text):
        relation: Relation = "cites"
        seat = ""
        for part in re.split(r"[,;&/]|\band\b", brackets[1]):
            match = _PART.match(part.strip())
            if match is None:
                continue
            if match["word"]:
                relation = parse_relation(match["word"])
            if match["who"]:
                seat = seats.get(match["who"]) or seats_by_folded_word.get(match["who"].casefold(), "")
                unknown_count += not seat and bool(match["word"] or is_label(match["who"].upper()))
            if seat:
                references.append(Reference(build_citation(seat, match), relation))
        inside.append(brackets.span())
    plain_ids = compile_ids(tuple(word for word in seats if len(word) > 1)).finditer(text)
    for plain_id in plain_ids:
        if not any(start <= plain_id.start() < end for start, end in inside):
            seat = seats.get(plain_id["who"]) or seats_by_folded_word[plain_id["who"].casefold()]
            references.append(Reference(build_citation(seat, plain_id), "cites"))
    return references, unknown_count


def find_cited_points(debate: Debate, texts: Iterable[str], reading: int) -> tuple[tuple[Citation, ...], int]:
    """(the points that a reader's texts name, each once; how many unknown ids they have).

    Points of retracted turns count as unknown.
    """
    points, seats = list_points(debate), name_seats(debate, reading)
    targets, unknown_count = dict[Citation, None](), 0
    for text in texts:
        references, unknown_in_text = find_references(text, seats)
        unknown_count += unknown_in_text
        for target, _ in references:
            point = points.get(target)
            if point and debate.is_active(point.turn):
                targets[target] = None
            else:
                unknown_count += 1
    return tuple(targets), unknown_count


def parse_relation(word: str) -> Relation:
    return next(means for stem, means in RELATION_STEMS.items() if word.lower().startswith(stem))


def build_citation(seat: str, match: re.Match[str]) -> Citation:
    return Citation(seat=seat, round=int(match["round"]), point=int(match["point"]))


@lru_cache(maxsize=256)
def compile_ids(words: tuple[str, ...]) -> re.Pattern[str]:
    """Matches ids with one of these labels or names, anywhere."""
    names = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"
    numbers = r"(?P<round>\d{1,6})\.(?P<point>\d{1,6})"
    return re.compile(rf"(?<!\w)(?P<who>{names})[ \t]{numbers}(?![\w%]|\.\d)", re.IGNORECASE)


def name_seats(debate: Debate, reading: int = 1) -> dict[str, str]:
    """Debaters by the words for them in a text: their labels in that reading, and their names."""
    labels = side_labels(debate, reading)
    return {**{name: name for name in debate.names}, **{label: name for name, label in labels.items()}}


@by_round
def find_citations(debate: Debate, round_number: int) -> dict[Citation, Citations]:
    """What each point cites, by its id. Points that a debater had not read count as unknown."""
    points, seats = list_points(debate), name_seats(debate)
    turns = debate.transcript_turns(round_number)
    points_of_round = (point for turn in turns for point in split_turn(debate, turn).points)
    return {point.id: find_point_citations(debate, point, points, seats) for point in points_of_round}


def find_point_citations(
    debate: Debate, point: Point, points: Mapping[Citation, Point], seats: Mapping[str, str]
) -> Citations:
    references, unknown_count = find_references(point.text, seats)
    analyst_links = list_read_links(point, points)
    linked_targets = {link.target for link in analyst_links}
    links: dict[Link, None] = {}  # in order, each once
    stated_targets = set[Citation]()
    for target, relation in references:
        if (
            target == point.id
            or target not in points
            or not could_read(debate, point.turn, points[target].turn)
        ):
            unknown_count += 1
        elif relation != "cites" or target not in linked_targets:
            links[Link(point.id, target, relation)] = None
            stated_targets.add(target)
    links |= dict.fromkeys(link for link in analyst_links if link.target not in stated_targets)
    number_lists = (re.findall(r"\d+", match[1]) for match in _DOCUMENTS.finditer(point.text))
    numbers = dict.fromkeys(int(number) for numbers_of_list in number_lists for number in numbers_of_list)
    version = point.turn.seen
    documents = tuple(number for number in numbers if find_source(debate, number, version))
    return Citations(tuple(links), documents, unknown_count)


def list_read_links(point: Point, points: Mapping[Citation, Point]) -> list[Link]:
    """The links of a point in the analyst's reading."""
    links = list[Link]()
    for claim in point.claims:
        links += (Link(point.id, link.to, link.relation, is_read=True) for link in claim.links)
        links += (Link(point.id, target, "same_as", is_read=True) for target in claim.same_as)
    return [link for link in links if link.target in points and link.target != point.id]


def could_read(debate: Debate, turn: Spoke, cited: Spoke) -> bool:
    """Whether the author of a turn knew another: it is from an earlier round, was said before, or is the same turn."""
    if cited.act != "argument" and turn.seat not in (cited.seat, cited.to):
        return False
    if cited is turn or cited.round != turn.round:
        return cited.round <= turn.round
    if turn.act == "answer":
        return cited.act == "argument" or (cited.act != "answer" and cited.seat == turn.to)
    if cited.act != "argument" or debate.round_phase(turn.round).is_written_together:
        return False
    turns = (earlier for earlier in debate.round_events(turn.round) if isinstance(earlier, Spoke))
    return next(earlier for earlier in turns if earlier is cited or is_or_carries(earlier, turn)) is cited


def is_or_carries(earlier: Spoke, turn: Spoke) -> bool:
    """Whether a turn is this one, or carried this message."""
    return earlier is turn or (
        turn.act != "argument" and earlier.message is not None and earlier.seat == turn.seat
    )
