"""The points of turns.

Debaters number their points in prose, with [1], [2] and so on. Each point has an id of ours: who made it, in which
round, and the how manieth of that debater in that round it is ("Amber 2.1" in prompts, "Ada 2.1" for people). So an id
does not depend on what number a debater wrote: gaps, repetitions and other scripts do no harm. A turn without numbers
is one point, and so are a message and a text with numbered notes below it. Where an analyst read the round, such a turn
has a point for each of its claims, which begins where the claim does; the first keeps its id.

Ids follow from the record alone, and are stored nowhere: they are the same in a fork, an import or a replay.
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
"""Points of a turn. What follows the last mark that counts belongs to the last point."""

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
"""Greater than any place in a turn."""

MAX_PREFACE = 200
"""Characters before the first mark that are no point by themselves."""


TurnKey = tuple[str, int, int]  # seat, round, slot index


class Span(NamedTuple):
    """Where a point stands in the text of its turn, without its mark."""

    start: int
    end: int
    kind: PointKind | Literal[""] = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a turn. `text` has the labels or names that its debater wrote."""

    id: Citation
    span: Span
    text: str
    turn: Spoke
    claims: tuple[Claim, ...] = ()  # what the analyst found in it

    @property
    def kind(self) -> PointKind | Literal[""]:
        """What it says that it is, else what the analyst says; "" where the turn has no numbers and nobody does."""
        declared = self.span.kind
        return self.claims[0].kind if self.claims and declared in ("", "fact") else declared


@dataclass(frozen=True, slots=True)
class TurnParts:
    """A turn as its points, and what stands before the first of them."""

    before: str
    points: tuple[Point, ...]


def split_turn(debate: Debate, turn: Spoke) -> TurnParts:
    """The points of a turn. The first number follows the last of what its debater said before in that round.

    `debate`: as it is recorded, since places of claims are those in the turn as it was said.
    """
    claims = find_claims(debate).get((turn.seat, turn.round, turn.slot_index), ())
    if turn.act != "argument":
        whole = Span(0, len(turn.text))
        number = turn.slot_index + 1  # whatever order answers arrive in
        return TurnParts("", share_claims([build_point(turn, number, whole)], claims))
    before, spans = find_spans(debate, turn)
    first = 1 + count_points_before(debate, turn)
    points = [build_point(turn, first + index, span) for index, span in enumerate(spans)]
    return TurnParts(before, share_claims(points, claims))


def share_claims(points: Sequence[Point], claims: Sequence[Claim]) -> tuple[Point, ...]:
    """The points of a turn, each with the claims that begin in it; the first also with those before it."""
    if not claims:
        return tuple(points)
    starts = [0, *(point.span.start for point in points[1:]), MAX_PLACE]
    return tuple(
        replace(point, claims=tuple(c for c in claims if start <= c.said.start < end))
        for point, start, end in zip(points, starts, starts[1:], strict=False)
    )


def build_point(turn: Spoke, number: int, span: Span) -> Point:
    cited = Citation(seat=turn.seat, round=turn.round, point=number)
    return Point(id=cited, span=span, text=turn.text[span.start : span.end], turn=turn)


def count_points_before(debate: Debate, turn: Spoke) -> int:
    """Points of the turns that this debater made earlier in the same round, where a debater has several."""
    count = 0
    for said in debate.round_events(turn.round) if turn.slot_index else ():
        if isinstance(said, Spoke) and said.seat == turn.seat:
            if said.slot_index == turn.slot_index:
                break
            count += len(find_spans(debate, said)[1])
    return count


def find_spans(debate: Debate, turn: Spoke) -> tuple[str, tuple[Span, ...]]:
    """(what stands before the first point of an argument, its points): by its numbers, else by its claims."""
    before, spans = split_argument(turn.text, find_words(debate, turn.seat), turn.round)
    claims = find_claims(debate).get((turn.seat, turn.round, turn.slot_index), ())
    if claims and len(spans) == 1 and not spans[0].kind:
        return "", split_by_claims(turn.text, claims)
    return before, spans


def split_by_claims(text: str, claims: Sequence[Claim]) -> tuple[Span, ...]:
    """The parts of a text that begin with a claim each; the first with what stands before it."""
    starts = [0, *sorted({claim.said.start for claim in claims})[1:MAX_POINTS]]
    parts = zip(starts, [*starts[1:], len(text)], strict=True)
    return tuple(Span(start, start + len(text[start:end].rstrip())) for start, end in parts)


@by_round
def find_claims(debate: Debate, round_number: int) -> dict[TurnKey, tuple[Claim, ...]]:
    """What the analyst found in each turn, in the order of places."""
    found: dict[TurnKey, list[Claim]] = {}
    read = (extracted for extracted in debate.extractions if extracted.round == round_number)
    for claim in (claim for extracted in read for claim in extracted.claims):
        found.setdefault((claim.said.seat, claim.said.round, claim.said.slot_index), []).append(claim)
    return {turn: tuple(sorted(claims, key=lambda claim: claim.said.start)) for turn, claims in found.items()}


def find_turn(debate: Debate, span: answers.Span) -> Spoke | None:
    """The turn that words are said to be of."""
    turns = debate.transcript_turns(span.round) if 0 < span.round <= debate.round else ()
    return next((t for t in turns if (t.seat, t.slot_index) == (span.seat, span.slot_index)), None)


def is_in_turn(debate: Debate, span: answers.Span) -> bool:
    """Whether a turn has these words at this place."""
    turn = find_turn(debate, span)
    return turn is not None and bool(span.quote) and turn.text[span.start : span.end] == span.quote


def find_words(debate: Debate, seat: str) -> tuple[str, ...]:
    """The labels and names of all debaters, those of this one first."""
    labels = side_labels(debate)
    own = (labels[seat], seat)
    return (*own, *(word for word in (*labels.values(), *labels) if word not in own))


@lru_cache(maxsize=4096)  # the same turns stand in prompt after prompt
def split_argument(text: str, words: tuple[str, ...], round_number: int) -> tuple[str, tuple[Span, ...]]:
    """(what stands before the first point, the points). `words`: as `find_words` has them."""
    marks = find_marks(text, words[:2], round_number)
    if not marks or are_notes(text, marks):
        return "", (Span(0, len(text)),)
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    spans = []
    for mark, end in zip(marks, ends, strict=True):
        body = text[mark.end() : end]
        if not body.strip():
            continue  # a number without a point
        start = mark.end() + len(body) - len(body.lstrip())
        spans.append(Span(start, mark.end() + len(body.rstrip()), find_kind(mark)))
    if not spans:
        return "", (Span(0, len(text)),)
    before = text[: marks[0].start()].rstrip()
    if len(compile_words(words).sub("", before)) > MAX_PREFACE:
        return "", (Span(0, len(before)), *spans)
    return before, tuple(spans)


def are_notes(text: str, marks: Sequence[re.Match[str]]) -> bool:
    """Whether the numbers are those of notes to the text before them.

    It refers to each of them, at the end of a clause, or with more words than any note has. A list of the numbers, such
    as "[1] and [2]", announces points.
    """
    before, ends = text[: marks[0].start()].strip(), [mark.start() for mark in marks[1:]] + [len(text)]
    referred = {found["number"]: found["closing"] is not None for found in _REFERENCE.finditer(before)}
    numbers = [mark["number"] for mark in marks]
    if not all(number in referred for number in numbers):
        return False
    if all(referred[number] for number in numbers) and not _ENUMERATION.search(before):
        return True
    notes = (text[mark.end() : end] for mark, end in zip(marks, ends, strict=True))
    return all(len(_ADDRESS.sub("", note).strip()) <= len(before) for note in notes)


def find_kind(mark: re.Match[str]) -> PointKind:
    """What a mark says that its point is: a statement of fact if it says nothing."""
    groups = mark.groupdict()
    written = (groups.get("kind") or groups.get("kind_inline") or "fact").lower()
    return next(kind for kind in get_args(PointKind) if kind == written)


def find_marks(text: str, own: tuple[str, ...], round_number: int) -> list[re.Match[str]]:
    """The marks with which points begin: at the start of a line, or in sequence after a sentence; else list items."""
    found = list[re.Match[str]]()
    number = 0
    for mark in find_own_marks(text, own, round_number):
        written = mark["inline"]
        if written is not None and not (found and int(written) == number + 1):
            continue
        number = int(written or (mark["number"] if (mark["number"] or "").isdecimal() else 0) or number + 1)
        found.append(mark)
    if not found:
        listed = list(_LISTED.finditer(text))
        in_order = [int(item["number"]) for item in listed] == list(range(1, len(listed) + 1))
        found = listed if in_order and len(listed) >= LEAST_LISTED else []
    return found[:MAX_POINTS]


def find_own_marks(text: str, own: tuple[str, ...], round_number: int) -> Iterator[re.Match[str]]:
    """The marks of a text, without ids of other debaters and rounds."""
    names, start = {name.casefold() for name in own}, 0
    while mark := compile_marks().search(text, start):
        if mark["who"] and (mark["who"].casefold() not in names or int(mark["round"]) != round_number):
            start = mark.start() + 1  # it may end with the beginning of another
        else:
            start = mark.end()
            yield mark


@lru_cache(maxsize=64)
def compile_words(words: tuple[str, ...]) -> re.Pattern[str]:
    """Labels and names, so that a text has one length in both."""
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))), re.IGNORECASE)


@cache
def compile_marks() -> re.Pattern[str]:
    """Marks of any debater, which takes 7 ms. Some write the id that the point will get in place of its number."""
    future_id = rf"(?P<who>[^\[\]\n]{{1,{MAX_LABEL}}}?)[ \t]+(?P<round>\d{{1,4}})\.\d{{1,4}}"
    whole = rf"{_OPEN}(?:(?P<number>{_NUMBER})|{future_id}){_KIND}{_CLOSE}"
    at_start = rf"{_LINE_START}(?:{whole}|{_HALF})"
    inline = rf"{_AFTER_SENTENCE}{_OPEN}(?P<inline>\d{{1,4}}){_KIND.replace('kind>', 'kind_inline>')}{_CLOSE}"
    return re.compile(rf"(?:{at_start}|{inline}){_MARK_END}", re.MULTILINE | re.IGNORECASE)


@by_round
def list_points(debate: Debate, round_number: int) -> dict[Citation, Point]:
    """All points by id, those of retracted turns included, in the order of rounds and of reading."""
    turns = debate.transcript_turns(round_number)
    return {point.id: point for turn in turns for point in split_turn(debate, turn).points}


def has_said(debate: Debate, cited: Citation) -> bool:
    """Whether there is such a point, or, of an id without one, such a turn."""
    if cited.point:
        return cited in list_points(debate)
    return any((turn.seat, turn.round) == (cited.seat, cited.round) for turn in debate.turns)


def format_id(cited: Citation, who: str) -> str:
    """The id of a point, or of a whole turn, with the label or name of its debater."""
    return f"{who} {cited.round}.{cited.point}" if cited.point else f"{who} {cited.round}"
