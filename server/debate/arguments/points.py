"""The points of turns.

Debaters number their points in prose, with [1], [2] and so on. The server gives each point its own id: who made it, in
which round, and its place among that debater's points of the round ("K73 2.1" in prompts, "Ada 2.1" for people). So
an id does not depend on the number that a debater wrote: gaps, repetitions and other scripts do no harm. What stands
before the first number is an introduction, however long. A turn without numbers is one point; so are a message, and a
text with numbered notes below it. Where an analyst read the round, such a turn has a point for each claim, from where
the claim begins; the first point keeps its id.

Ids follow from the record alone and are stored nowhere: they are the same in a fork, an import or a replay.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, NamedTuple, get_args

from server.debate.facts import answers
from server.debate.facts.answers import Claim, PointKind
from server.debate.facts.beliefs import Citation
from server.debate.facts.events import Spoke
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels
from server.debate.state.memo import by_round

MAX_LABEL = 60  # characters of a label or name in a mark

MAX_POINTS = 40
"""Of a turn. Text after the last mark that counts belongs to the last point."""

_NUMBER = r"(?:\d{1,6}|[\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341\u767e]{1,4})"
_KIND = r"(?:[\s,;:|/\u2013-]{1,3}(?P<kind>fact|value|forecast)s?)?"
_OPEN, _CLOSE = r"[\[\uff3b\u3010\u3014]\s?", r"\s?[\]\uff3d\u3011\u3015]"
_LINE_START = r"^[ \t]*(?:(?:[-*+\u2022>]|\#{1,6})[ \t]+)?[*_]{0,3}"
_HALF = r"(?:\[\d{1,2}(?=[ \t]\S)(?![^\n]*\])|\d{1,2}\])"  # with one of its brackets only
_AFTER_SENTENCE = (
    r"(?:(?<=[.!?:;\u2026\"'\u201d\u2019)\]])[ \t]+"
    r"|(?<=[\u3002\uff01\uff1f\uff1b\u300d\u300f\uff09])[ \t\u3000]*)"  # Chinese has no blank behind a sentence
    r"[*_]{0,3}"
)
_MARK_END = r"(?!\()[*_]{0,3}[:.]?[*_]{0,3}[ \t]*"  # "[1](address)" is a link

_LISTED = re.compile(rf"{_LINE_START}\(?(?P<number>\d{{1,3}})[.)][*_]{{0,3}}[ \t]+", re.MULTILINE)
"""Items of a list such as "1. …", which some models write in place of marks."""

_REFERENCE = re.compile(r"\[(?P<number>\d{1,3})\](?P<closing>[ \t]*(?:[.,;:!?)\n]|$))?")
_ENUMERATION = re.compile(r"\d\][ \t]*[,;&\u2013-]?[ \t]*(?:and|or|to)?[ \t]*\[\d")
_ADDRESS = re.compile(r"https?://\S+")

LEAST_LISTED = 2

MAX_PLACE = 10**9
"""Greater than any position in a turn."""


TurnKey = tuple[str, int, int]  # seat, round, slot index


class Span(NamedTuple):
    """The position of a point in the text of its turn, without its mark."""

    start: int
    end: int
    kind: PointKind | Literal[""] = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a turn. `text` has labels or names as its debater wrote them."""

    id: Citation
    span: Span
    text: str
    turn: Spoke
    claims: tuple[Claim, ...] = ()  # what the analyst found in it

    @property
    def kind(self) -> PointKind | Literal[""]:
        """What the debater declares it to be, else what the analyst says; "" without either."""
        declared = self.span.kind
        return self.claims[0].kind if self.claims and declared in ("", "fact") else declared


@dataclass(frozen=True, slots=True)
class TurnParts:
    """A turn as points, and the text before the first one."""

    before: str
    points: tuple[Point, ...]


def split_turn(debate: Debate, turn: Spoke) -> TurnParts:
    """The points of a turn. Numbering goes on from what its debater said before in that round.

    `debate`: as recorded, because positions of claims are those in the turn as it was said.
    """
    claims = find_claims(debate).get((turn.seat, turn.round, turn.slot_index), ())
    if turn.act != "argument":
        span = Span(0, len(turn.text))
        number = turn.slot_index + 1  # independent of the order in which answers arrive
        return TurnParts("", share_claims([build_point(turn, number, span)], claims))
    before, spans = find_spans(debate, turn)
    first_number = 1 + count_points_before(debate, turn)
    points = [build_point(turn, first_number + index, span) for index, span in enumerate(spans)]
    return TurnParts(before, share_claims(points, claims))


def share_claims(points: Sequence[Point], claims: Sequence[Claim]) -> tuple[Point, ...]:
    """The points of a turn, each with the claims that begin in it; the first also gets the claims before it."""
    if not claims:
        return tuple(points)
    starts = [0, *(point.span.start for point in points[1:]), MAX_PLACE]
    return tuple(
        replace(point, claims=tuple(c for c in claims if start <= c.said.start < end))
        for point, start, end in zip(points, starts, starts[1:], strict=False)
    )


def build_point(turn: Spoke, number: int, span: Span) -> Point:
    point_id = Citation(seat=turn.seat, round=turn.round, point=number)
    return Point(id=point_id, span=span, text=turn.text[span.start : span.end], turn=turn)


def count_points_before(debate: Debate, turn: Spoke) -> int:
    """How many points this debater made in earlier turns of the same round."""
    count = 0
    for earlier in debate.round_events(turn.round) if turn.slot_index else ():
        if isinstance(earlier, Spoke) and earlier.seat == turn.seat:
            if earlier.slot_index == turn.slot_index:
                break
            count += len(find_spans(debate, earlier)[1])
    return count


def find_spans(debate: Debate, turn: Spoke) -> tuple[str, tuple[Span, ...]]:
    """(the text before the first point of an argument, its points): by its numbers, else by its claims."""
    before, spans = split_argument(turn.text, (side_labels(debate)[turn.seat], turn.seat), turn.round)
    claims = find_claims(debate).get((turn.seat, turn.round, turn.slot_index), ())
    if claims and len(spans) == 1 and not spans[0].kind:
        return "", split_by_claims(turn.text, claims)
    return before, spans


def split_by_claims(text: str, claims: Sequence[Claim]) -> tuple[Span, ...]:
    """The parts of a text, one for each claim; the first includes the text before it."""
    starts = [0, *sorted({claim.said.start for claim in claims})[1:MAX_POINTS]]
    parts = zip(starts, [*starts[1:], len(text)], strict=True)
    return tuple(Span(start, start + len(text[start:end].rstrip())) for start, end in parts)


@by_round
def find_claims(debate: Debate, round_number: int) -> dict[TurnKey, tuple[Claim, ...]]:
    """What the analyst found in each turn, in the order of positions."""
    claims_by_turn: dict[TurnKey, tuple[Claim, ...]] = {}
    readings = debate.find_readings(answers.Extracted)
    claims = [claim for reading in readings if reading.round == round_number for claim in reading.claims]
    for claim in sorted(claims, key=lambda claim: claim.said.start):
        turn = (claim.said.seat, claim.said.round, claim.said.slot_index)
        claims_by_turn[turn] = (*claims_by_turn.get(turn, ()), claim)
    return claims_by_turn


def find_turn(debate: Debate, span: answers.Span) -> Spoke | None:
    """The turn that a quotation is said to come from."""
    turns = debate.transcript_turns(span.round) if 0 < span.round <= debate.round else ()
    return next((t for t in turns if (t.seat, t.slot_index) == (span.seat, span.slot_index)), None)


def is_in_turn(debate: Debate, span: answers.Span) -> bool:
    """Whether a turn has these words at this position."""
    turn = find_turn(debate, span)
    return turn is not None and bool(span.quote) and turn.text[span.start : span.end] == span.quote


@lru_cache(maxsize=4096)  # the same turns stand in prompt after prompt
def split_argument(text: str, words: tuple[str, ...], round_number: int) -> tuple[str, tuple[Span, ...]]:
    """(the text before the first point, the points). `words`: the label and the name of the debater."""
    marks = find_marks(text, words, round_number)
    if not marks or are_notes(text, marks):
        return "", (Span(0, len(text)),)
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    spans = []
    for mark, end in zip(marks, ends, strict=True):
        body = text[mark.end() : end]
        if not body.strip():
            continue  # a number without a point
        start = mark.end() + len(body) - len(body.lstrip())
        spans.append(Span(start, mark.end() + len(body.rstrip()), parse_kind(mark)))
    if not spans:
        return "", (Span(0, len(text)),)
    return text[: marks[0].start()].rstrip(), tuple(spans)


def are_notes(text: str, marks: Sequence[re.Match[str]]) -> bool:
    """Whether the numbers belong to notes on the text before them.

    They do if that text refers to each of them, at the end of a clause or with more words than any note has. A list
    of the numbers, such as "[1] and [2]", announces points.
    """
    before, ends = text[: marks[0].start()].strip(), [mark.start() for mark in marks[1:]] + [len(text)]
    references = {found["number"]: found["closing"] is not None for found in _REFERENCE.finditer(before)}
    numbers = [mark["number"] for mark in marks]
    if not all(number in references for number in numbers):
        return False
    if all(references[number] for number in numbers) and not _ENUMERATION.search(before):
        return True
    notes = (text[mark.end() : end] for mark, end in zip(marks, ends, strict=True))
    return all(len(_ADDRESS.sub("", note).strip()) <= len(before) for note in notes)


def parse_kind(mark: re.Match[str]) -> PointKind:
    """The declared kind of a point; a fact if its mark declares none."""
    groups = mark.groupdict()
    kind_text = (groups.get("kind") or groups.get("kind_inline") or "fact").lower()
    return next(kind for kind in get_args(PointKind) if kind == kind_text)


def find_marks(text: str, words: tuple[str, ...], round_number: int) -> list[re.Match[str]]:
    """The marks that begin points: at the start of a line, or in sequence after a sentence; else list items."""
    marks = list[re.Match[str]]()
    number = 0
    for mark in find_own_marks(text, words, round_number):
        inline_number = mark["inline"]
        if inline_number is not None and not (marks and int(inline_number) == number + 1):
            continue
        number = int(
            inline_number or (mark["number"] if (mark["number"] or "").isdecimal() else 0) or number + 1
        )
        marks.append(mark)
    if not marks:
        items = list(_LISTED.finditer(text))
        in_order = [int(item["number"]) for item in items] == list(range(1, len(items) + 1))
        marks = items if in_order and len(items) >= LEAST_LISTED else []
    return marks[:MAX_POINTS]


def find_own_marks(text: str, words: tuple[str, ...], round_number: int) -> Iterator[re.Match[str]]:
    """The marks of a text, without ids of other debaters and rounds."""
    names, start = {name.casefold() for name in words}, 0
    while mark := compile_marks().search(text, start):
        if mark["who"] and (mark["who"].casefold() not in names or int(mark["round"]) != round_number):
            start = mark.start() + 1  # another mark may begin inside it
        else:
            start = mark.end()
            yield mark


@cache
def compile_marks() -> re.Pattern[str]:
    """Matches the marks of any debater; compiling takes 7 ms. Some debaters write the future id instead of a number."""
    future_id = rf"(?P<who>[^\[\]\n]{{1,{MAX_LABEL}}}?)[ \t]+(?P<round>\d{{1,4}})\.\d{{1,4}}"
    bracketed = rf"{_OPEN}(?:(?P<number>{_NUMBER})|{future_id}){_KIND}{_CLOSE}"
    at_start = rf"{_LINE_START}(?:{bracketed}|{_HALF})"
    inline = rf"{_AFTER_SENTENCE}{_OPEN}(?P<inline>\d{{1,4}}){_KIND.replace('kind>', 'kind_inline>')}{_CLOSE}"
    return re.compile(rf"(?:{at_start}|{inline}){_MARK_END}", re.MULTILINE | re.IGNORECASE)


@by_round
def list_points(debate: Debate, round_number: int) -> dict[Citation, Point]:
    """All points by id, also those of retracted turns, in the order of rounds and of reading."""
    turns = debate.transcript_turns(round_number)
    return {point.id: point for turn in turns for point in split_turn(debate, turn).points}


def has_said(debate: Debate, point_id: Citation) -> bool:
    """Whether this point exists; for an id without a point, whether the turn does."""
    if point_id.point:
        return point_id in list_points(debate)
    return any((turn.seat, turn.round) == (point_id.seat, point_id.round) for turn in debate.turns)


def format_id(point_id: Citation, name: str) -> str:
    """The id of a point, or of a whole turn, with the label or name of its debater."""
    return f"{name} {point_id.round}.{point_id.point}" if point_id.point else f"{name} {point_id.round}"
