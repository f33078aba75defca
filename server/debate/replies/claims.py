"""What an analyst says that the turns of a round claim, each with its place in the turn."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, get_args

from pydantic import BaseModel, BeforeValidator, ValidationError

from server.debate.arguments.citations import RELATION_STEMS, find_references, name_seats
from server.debate.arguments.extraction import MAX_CLAIMS, add_extraction, can_be_same, can_link
from server.debate.arguments.points import Point, list_points
from server.debate.facts.answers import Claim, ClaimLink, ClaimRelation, Extracted, LeftOut, PointKind, Usage
from server.debate.facts.beliefs import Citation
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.replies.extract import Reply, find_debaters, find_list, normalize_keys
from server.debate.replies.observations import MAX_WHY_LENGTH, OptionalText, find_words
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate

MAX_LINKS = 12
"""Of one claim."""

_ROW = re.compile(r"#?\s{0,3}(\d{1,4})")
_RELATIONS = get_args(ClaimRelation)


def take_list(value: Any) -> Any:
    return value if isinstance(value, list) else [] if value is None else [value]


class LinkRow(BaseModel):
    relation: OptionalText = ""
    to: Any = None


class ClaimRow(BaseModel):
    """A claim as it comes in, with keys in any spelling."""

    speaker: OptionalText = ""
    words: OptionalText = ""
    claim: OptionalText = ""
    kind: OptionalText = ""
    evidence: OptionalText = ""
    why: OptionalText = ""
    links: Annotated[list[Any], BeforeValidator(take_list)] = []
    same_as: Annotated[list[Any], BeforeValidator(take_list)] = []


class References(NamedTuple):
    """What a row can refer to: the points there are, who is called what, and the points of the other rows."""

    points: Mapping[Citation, Point]
    seats: Mapping[str, str]
    rows: Mapping[int, Citation]

    def find(self, written: Any) -> Citation | None:
        """The point that is meant by an id, or by the number of a row."""
        text = str(written).strip(" []") if isinstance(written, str | int) else ""
        if row := _ROW.fullmatch(text):
            return self.rows.get(int(row[1]))
        found = find_references(f"[{text}]", self.seats)[0]
        return found[0].target if found and found[0].target in self.points else None


def parse_extraction(debate: Debate, _call: Call, text: str, reply: Reply) -> dict[str, Any]:
    """The fields of an `Extracted` event. What a model too small for it says is not read.

    Raises:
        ValueError: there is no list of claims.
    """
    if not reply.informative:
        return {}
    given, fields = find_list(text, "claims")
    read = [read_row(row) for row in given[:MAX_CLAIMS]]
    claims = [find_claim(debate, row) for row in read]
    left_out = [find_left_out(debate, read_row(row)) for row in take_list(fields.get("left_out"))]
    room = MAX_CLAIMS - len(claims) + claims.count(None)
    kept = tuple(dict.fromkeys(one for one in left_out if one))[:room]
    linked, unknown = link_claims(debate, read, claims)
    dropped = claims.count(None) + left_out.count(None) + max(len(given) - MAX_CLAIMS, 0)
    return {"claims": linked, "left_out": kept, "dropped": dropped, "unknown": unknown}


def read_row(row: Any) -> ClaimRow:
    return ClaimRow.model_validate(normalize_keys(row))


def shorten_line(text: str) -> str:
    return collapse_whitespace(clean(text))[:MAX_WHY_LENGTH].rstrip()


def find_claim(debate: Debate, row: ClaimRow) -> Claim | None:
    """The claim that a row is, without its links; None where its words are not in the turn that it names."""
    said = find_said(debate, row)
    wording = shorten_line(row.claim)
    written = row.kind.strip().casefold()
    kind: PointKind = next((kind for kind in get_args(PointKind) if written.startswith(kind)), "fact")
    if not (said and wording):
        return None
    return Claim(said=said, wording=wording, kind=kind, evidence=shorten_line(row.evidence))


def find_left_out(debate: Debate, row: ClaimRow) -> LeftOut | None:
    said = find_said(debate, row)
    return LeftOut(said=said, why=shorten_line(row.why)) if said else None


def find_said(debate: Debate, row: ClaimRow) -> Any:
    speakers = find_debaters(debate, row.speaker, prefer_names=True)
    turns = [turn for turn in debate.transcript_turns(debate.round) if {turn.seat} == speakers]
    return find_words(debate, turns, row.words)


def link_claims(
    debate: Debate, rows: Sequence[ClaimRow], claims: Sequence[Claim | None]
) -> tuple[tuple[Claim, ...], int]:
    """(the claims, each once, with what they do to points; how many references are to nothing)."""
    known = tuple(dict.fromkeys(claim for claim in claims if claim))
    event = Extracted(round=debate.round, seen=1, usage=Usage(model=""), claims=known)
    after = add_extraction(debate, event)
    points = list_points(after)
    places = {claim: point.id for point in points.values() for claim in point.claims}
    numbers = {number: places[claim] for number, claim in enumerate(claims, start=1) if claim in places}
    references, unknown = References(points, name_seats(debate), numbers), 0
    linked: dict[Claim, Claim] = {}
    for row, claim in zip(rows, claims, strict=True):
        if claim is None:
            continue
        links = [find_link(references, written) for written in row.links[:MAX_LINKS]]
        same = [references.find(written) for written in row.same_as[:MAX_LINKS]]
        good = [link for link in links if link and can_link(after, points, claim, link)]
        alike = [one for one in same if one and can_be_same(after, points, claim, one)]
        unknown += len(links) - len(good) + len(same) - len(alike)
        before = linked.get(claim, claim)
        changes = {
            "links": tuple(dict.fromkeys((*before.links, *good))),
            "same_as": tuple(dict.fromkeys((*before.same_as, *alike))),
        }
        linked[claim] = before.model_copy(update=changes)
    return tuple(linked.values()), unknown


def find_link(references: References, written: Any) -> ClaimLink | None:
    try:
        row = LinkRow.model_validate(written)
    except ValidationError:
        return None
    target, word = references.find(row.to), row.relation.strip().lower()
    relation = next((means for stem, means in RELATION_STEMS.items() if word.startswith(stem)), None)
    return next(
        (ClaimLink(relation=one, to=target) for one in _RELATIONS if target and one == relation), None
    )
