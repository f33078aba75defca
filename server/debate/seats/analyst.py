"""The analyst: it lists what the turns of each round claim, each claim with its position in the turn.

Its claims divide turns into points (`arguments.points`), so its fact is among those that all packages know.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, get_args

from pydantic import BaseModel, BeforeValidator, Field

from server.debate.arguments.citations import RELATION_STEMS, could_read, find_references, name_seats
from server.debate.arguments.points import Point, find_turn, format_id, is_in_turn, list_points
from server.debate.commands.inputs import Input, OfficerInput
from server.debate.facts.answers import Claim, ClaimLink, ClaimRelation, Extracted, LeftOut, PointKind, Usage
from server.debate.facts.beliefs import Citation
from server.debate.facts.errors import require
from server.debate.facts.quoting import quote, quote_heading
from server.debate.facts.setup.options import ClaimMode
from server.debate.facts.setup.seats import ANALYST
from server.debate.facts.text import format_count
from server.debate.prompts.response_schemas import (
    enum_schema,
    list_schema,
    nullable_schema,
    object_schema,
    text_schema,
)
from server.debate.prompts.transcript import format_rounds
from server.debate.replies.extract import (
    OptionalText,
    Reply,
    find_list,
    normalize_keys,
    take_list,
)
from server.debate.rules.calls import Call
from server.debate.seats.seat import MAX_WHY_LENGTH, Seat, locate_words, shorten_line
from server.debate.state.debate import Debate, replace

MAX_CLAIMS = 600
"""Of one round: enough for 26 debaters with 20 claims each."""

MAX_LINKS = 12
"""Of one claim."""


class AnalystOptions(Input):
    claims: Annotated[
        ClaimMode, Field(description="Where claims come from; extracted: an analyst, each round")
    ] = "asked"
    analyst: Annotated[OfficerInput | None, Field(description="Who extracts claims")] = None


STEPS = """\
You are the analyst. Say what the turns of this round claim, for people and programs that read the debate as data. You \
judge nothing, and no debater or judge reads it.
- A claim can be checked, or the outcome depends on it. Leave out what is neither.
- words: copied exactly from the turn, at most two sentences. claim: the same in a sentence that can be read on its \
own, with nouns in place of "it" and "they", and as strong as the turn has it: "may" stays "may".
- kind: fact, value or forecast. evidence: what the turn names as the source, else null.
- links: what it does to other points, by their ids, or as "#3" by the number of a row of yours. It supports, \
attacks, undercuts (even if that is true, it does not show what it is to show), repeats or concedes them.
- same_as: points of other debaters that claim the same in whatever words. A negation, or another number, is not the \
same.
- left_out: what can be read in two ways. It is no claim; say which two."""

TEMPLATE = (
    '{"claims": [{"speaker": "a label", "words": "copied", "claim": "in a sentence", "kind": "fact", '
    '"evidence": "text or null", "links": [{"relation": "attacks", "to": "an id or #row"}], '
    '"same_as": ["an id or #row"]}], "left_out": [{"speaker": "a label", "words": "copied", "why": "in short"}]}'
)


class Analyst(Seat[Extracted]):
    name = ANALYST
    title = "Analyst"
    task = "extraction"
    steps = STEPS
    template = TEMPLATE
    fact = Extracted
    texts = {
        Claim: dict.fromkeys(("wording", "evidence"), MAX_WHY_LENGTH),
        LeftOut: {"why": MAX_WHY_LENGTH},
    }
    event_names = ("claims",)
    answer_factor = 4  # for each claim: its words, its wording and their JSON

    def find_input(self, options: Any) -> OfficerInput | None:
        is_extracted = options.claims == "extracted"
        require(
            is_extracted or not options.analyst,
            "An analyst (options.analyst) needs options.claims=extracted.",
        )
        return options.analyst or (OfficerInput() if is_extracted else None)

    def build_schema(self, debate: Debate) -> dict[str, Any]:
        turn_words = {"speaker": enum_schema(debate.setup.labels), "words": text_schema(600)}
        link = object_schema(relation=enum_schema(get_args(ClaimRelation)), to=text_schema(60))
        claim = object_schema(
            **turn_words,
            claim=text_schema(400),
            kind=enum_schema(get_args(PointKind)),
            evidence=nullable_schema(text_schema(300)),
            links=list_schema(link, MAX_LINKS),
            same_as=list_schema(text_schema(60), MAX_LINKS),
        )
        left_out = object_schema(**turn_words, why=text_schema(300))
        return object_schema(claims=list_schema(claim, MAX_CLAIMS), left_out=list_schema(left_out, 40))

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        rows, fields = find_list(text, "claims")
        parsed_rows = [ClaimRow.model_validate(normalize_keys(row)) for row in rows[:MAX_CLAIMS]]
        claims = [read_claim(debate, row) for row in parsed_rows]
        left_out = [read_left_out(debate, row) for row in take_list(fields.get("left_out"))]
        room = MAX_CLAIMS - len(claims) + claims.count(None)
        unclear = tuple(dict.fromkeys(part for part in left_out if part))[:room]
        links, unknown = link_claims(debate, parsed_rows, claims)
        dropped = claims.count(None) + left_out.count(None) + max(len(rows) - MAX_CLAIMS, 0)
        return {"claims": links, "left_out": unclear, "dropped": dropped, "unknown": unknown}

    def find_problem(self, debate: Debate, reading: Extracted) -> str:
        parts: tuple[Claim | LeftOut, ...] = (*reading.claims, *reading.left_out)
        if any(not is_in_turn(debate, part.said) for part in parts):
            return "its words are not in the turn that it names"
        if any(part.said.round != reading.round for part in parts):
            return "it is about another round"
        if len(parts) > MAX_CLAIMS:
            return "there are too many claims"
        debate_after = add_extraction(debate, reading)
        points = list_points(debate_after)
        is_possible = all(
            all(can_link(debate_after, points, claim, link) for link in claim.links)
            and all(can_be_same(debate_after, points, claim, target) for target in claim.same_as)
            for claim in reading.claims
        )
        return "" if is_possible else "it links a claim to what its author had not read"

    def describe(self, debate: Debate, named: Debate, reading: Extracted) -> str:
        """A line for each claim, and what was left out."""
        lines = [describe_claim(row) for row in list_claim_rows(debate, named, reading.round)]
        parts = ["\n".join(lines)] if lines else ["The analyst found no claim."]
        for part in reading.left_out:
            why = f": {quote_heading(part.why)}" if part.why else ""
            parts.append(f"Left out, of {part.said.seat}{why}\n\n{quote(part.said.quote)}")
        if reading.dropped:
            lost_count = format_count(reading.dropped, "row")
            parts.append(f"Not counted: {lost_count} whose words are not in the turns named.")
        return "\n\n".join(parts)

    def build_round_fields(self, debate: Debate, named: Debate, round_number: int) -> dict[str, Any]:
        unclear = [row for row in list_unclear(named) if row["said"]["round"] == round_number]
        return {"claims": list_claim_rows(debate, named, round_number), "unclear": unclear}

    def build_analysis_fields(self, named: Debate) -> dict[str, Any]:
        """What it read and what it could not read."""
        readings = named.find_readings(Extracted)
        extraction = {
            "rounds": [reading.round for reading in readings if reading.informative],
            "unread_rounds": list_unread_rounds(named),
            "claims": sum(len(reading.claims) for reading in readings),
            "dropped": sum(reading.dropped for reading in readings),
            "unknown": sum(reading.unknown for reading in readings),
            "unclear": list_unclear(named),
        }
        return {"extraction": extraction}

    def list_cautions(self, debate: Debate) -> list[str]:
        """A sentence if rounds were not read: their points are then the debaters' own."""
        if not (rounds := list_unread_rounds(debate)):
            return []
        return [f"The analyst did not read {format_rounds(rounds)}: the points there are the debaters' own."]


# How its reply is read.

_ROW = re.compile(r"#?\s{0,3}(\d{1,4})")
_RELATIONS = get_args(ClaimRelation)


class LinkRow(BaseModel):
    relation: OptionalText = ""
    to: Any = None


class ClaimRow(BaseModel):
    """A claim as the model writes it, with keys in any spelling."""

    speaker: OptionalText = ""
    words: OptionalText = ""
    claim: OptionalText = ""
    kind: OptionalText = ""
    evidence: OptionalText = ""
    why: OptionalText = ""
    links: Annotated[list[Any], BeforeValidator(take_list)] = []
    same_as: Annotated[list[Any], BeforeValidator(take_list)] = []


class References(NamedTuple):
    """What a row can refer to: points, debaters by their names, and the points of other rows."""

    points: Mapping[Citation, Point]
    seats: Mapping[str, str]
    rows: Mapping[int, Citation]

    def find(self, reference: Any) -> Citation | None:
        """The point behind an id, or behind the number of a row."""
        text = str(reference).strip(" []") if isinstance(reference, str | int) else ""
        if row := _ROW.fullmatch(text):
            return self.rows.get(int(row[1]))
        references = find_references(f"[{text}]", self.seats)[0]
        return references[0].target if references and references[0].target in self.points else None


def read_claim(debate: Debate, row: ClaimRow) -> Claim | None:
    """The claim in a row, without its links; None if its words are not in the turn that it names."""
    span = locate_words(debate, row.speaker, row.words)
    wording = shorten_line(row.claim)
    kind_text = row.kind.strip().casefold()
    kind: PointKind = next((kind for kind in get_args(PointKind) if kind_text.startswith(kind)), "fact")
    if not (span and wording):
        return None
    return Claim(said=span, wording=wording, kind=kind, evidence=shorten_line(row.evidence))


def read_left_out(debate: Debate, value: Any) -> LeftOut | None:
    row = ClaimRow.model_validate(normalize_keys(value))
    span = locate_words(debate, row.speaker, row.words)
    return LeftOut(said=span, why=shorten_line(row.why)) if span else None


def link_claims(
    debate: Debate, rows: Sequence[ClaimRow], claims: Sequence[Claim | None]
) -> tuple[tuple[Claim, ...], int]:
    """(the claims, each once, with their links to points; how many references have no target)."""
    distinct_claims = tuple(dict.fromkeys(claim for claim in claims if claim))
    event = Extracted(round=debate.round, seen=1, usage=Usage(model=""), claims=distinct_claims)
    debate_after = add_extraction(debate, event)
    points = list_points(debate_after)
    places = {claim: point.id for point in points.values() for claim in point.claims}
    numbers = {number: places[claim] for number, claim in enumerate(claims, start=1) if claim in places}
    references, unknown = References(points, name_seats(debate), numbers), 0
    claims_with_links: dict[Claim, Claim] = {}
    for row, claim in zip(rows, claims, strict=True):
        if claim is None:
            continue
        links = [read_link(references, reference) for reference in row.links[:MAX_LINKS]]
        targets = [references.find(reference) for reference in row.same_as[:MAX_LINKS]]
        possible_links = [link for link in links if link and can_link(debate_after, points, claim, link)]
        possible_targets = [
            target for target in targets if target and can_be_same(debate_after, points, claim, target)
        ]
        unknown += len(links) - len(possible_links) + len(targets) - len(possible_targets)
        before = claims_with_links.get(claim, claim)
        changes = {
            "links": tuple(dict.fromkeys((*before.links, *possible_links))),
            "same_as": tuple(dict.fromkeys((*before.same_as, *possible_targets))),
        }
        claims_with_links[claim] = before.model_copy(update=changes)
    return tuple(claims_with_links.values()), unknown


def read_link(references: References, link_row: Any) -> ClaimLink | None:
    row = LinkRow.model_validate(normalize_keys(link_row))
    target, word = references.find(row.to), row.relation.strip().lower()
    relation = next((means for stem, means in RELATION_STEMS.items() if word.startswith(stem)), None)
    return next(
        (ClaimLink(relation=choice, to=target) for choice in _RELATIONS if target and choice == relation),
        None,
    )


# What it may link.


def add_extraction(debate: Debate, event: Extracted) -> Debate:
    """The debate with these claims, which divide turns without numbers into points."""
    return replace(debate, readings=(*debate.readings, event))


def can_link(debate: Debate, points: Mapping[Citation, Point], claim: Claim, link: ClaimLink) -> bool:
    """Whether a claim may link to a point: its author had read the point, and the claim is not part of it."""
    turn, target = find_turn(debate, claim.said), points.get(link.to)
    if turn is None or target is None or claim in target.claims:
        return False
    return could_read(debate, turn, target.turn)


def can_be_same(debate: Debate, points: Mapping[Citation, Point], claim: Claim, target: Citation) -> bool:
    """Whether a point, of another debater in this or an earlier round, may be the same as a claim."""
    point = points.get(target)
    return point is not None and target.seat != claim.said.seat and debate.is_active(point.turn)


# What people read of it.


def list_unread_rounds(debate: Debate) -> list[int]:
    """The rounds whose turns the analyst should have read and has not; [] without an analyst.

    The current round counts only once the debate has ended.
    """
    if debate.setup.find_officer(ANALYST) is None:
        return []
    rounds_read = {reading.round for reading in debate.find_readings(Extracted) if reading.informative}
    rounds_with_turns = {
        turn.round for turn in debate.turns if debate.ended or debate.verdict or turn.round < debate.round
    }
    return sorted(rounds_with_turns - rounds_read)


def list_unclear(named: Debate) -> list[dict[str, Any]]:
    """Words that it could read in two ways, and why."""
    readings = named.find_readings(Extracted)
    return [part.model_dump() for reading in readings for part in reading.left_out]


def list_claim_rows(recorded: Debate, named: Debate, round_number: int) -> list[dict[str, Any]]:
    """The claims of a round as data, in reading order. `named`: the same debate as people read it."""
    shown = show_claims(recorded, named)
    return [
        {
            "point": format_id(point.id, point.id.seat),
            **shown[claim].model_dump(include={"said", "wording", "kind", "evidence"}),
            "links": [
                {"relation": link.relation, "to": format_id(link.to, link.to.seat)} for link in claim.links
            ],
            "same_as": [format_id(target, target.seat) for target in claim.same_as],
            "according_to": "analyst",
        }
        for point in list_points(recorded).values()
        if point.id.round == round_number and recorded.is_active(point.turn)
        for claim in point.claims
    ]


def show_claims(recorded: Debate, named: Debate) -> dict[Claim, Claim]:
    """Each claim as people read it, by the claim as recorded."""
    pairs = zip(recorded.find_readings(Extracted), named.find_readings(Extracted), strict=True)
    return {
        claim: shown
        for reading, shown_reading in pairs
        for claim, shown in zip(reading.claims, shown_reading.claims, strict=True)
    }


def describe_claim(row: Mapping[str, Any]) -> str:
    """A claim in a line: its point, wording, kind and links."""
    relations = [f"{link['relation']} [{link['to']}]" for link in row["links"]]
    relations += [f"same as [{point}]" for point in row["same_as"]]
    source = [f"by {quote_heading(row['evidence'])}"] if row["evidence"] else []
    return f"- [{row['point']}] {quote_heading(row['wording'])} ({', '.join([row['kind'], *source, *relations])})"
