"""What an analyst says that turns claim: whether it could say so, and how people read it."""

from collections.abc import Iterator, Mapping
from typing import Any

from server.debate.arguments.citations import could_read
from server.debate.arguments.points import Point, find_turn, format_id, is_in_turn, list_points
from server.debate.facts.answers import Claim, ClaimLink, Extracted, LeftOut
from server.debate.facts.beliefs import Citation
from server.debate.facts.quoting import quote, quote_heading
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate, replace

MAX_CLAIMS = 600
"""Of one round: enough for 26 debaters with 20 claims each."""


def add_extraction(debate: Debate, event: Extracted) -> Debate:
    """The debate with these claims, by which turns without numbers are divided."""
    return replace(debate, extractions=(*debate.extractions, event))


def find_extraction_problem(debate: Debate, event: Extracted) -> str:
    """Why an extraction is not possible; "" where its words and links stand where it says."""
    parts: tuple[Claim | LeftOut, ...] = (*event.claims, *event.left_out)
    if any(not is_in_turn(debate, part.said) for part in parts):
        return "its words are not in the turn that it names"
    if any(part.said.round != event.round for part in parts):
        return "it is about another round"
    if len(parts) > MAX_CLAIMS:
        return "there are too many claims"
    after = add_extraction(debate, event)
    points = list_points(after)
    is_possible = all(
        all(can_link(after, points, claim, link) for link in claim.links)
        and all(can_be_same(after, points, claim, target) for target in claim.same_as)
        for claim in event.claims
    )
    return "" if is_possible else "it links a claim to what its author had not read"


def can_link(debate: Debate, points: Mapping[Citation, Point], claim: Claim, link: ClaimLink) -> bool:
    """Whether a claim can act on a point: its author had read that point, and the claim is not part of it."""
    turn, target = find_turn(debate, claim.said), points.get(link.to)
    if turn is None or target is None or claim in target.claims:
        return False
    return could_read(debate, turn, target.turn)


def can_be_same(debate: Debate, points: Mapping[Citation, Point], claim: Claim, target: Citation) -> bool:
    """Whether a point of another debater, of this round or an earlier one, can be the same as a claim."""
    known = points.get(target)
    return known is not None and target.seat != claim.said.seat and debate.is_active(known.turn)


def list_unread_rounds(debate: Debate) -> list[int]:
    """The rounds whose turns the analyst was to read and has not; [] without an analyst.

    The current round counts only after the end of the debate.
    """
    if debate.setup.analyst is None:
        return []
    read = {extracted.round for extracted in debate.extractions if extracted.informative}
    held = {
        turn.round for turn in debate.turns if debate.ended or debate.verdict or turn.round < debate.round
    }
    return sorted(held - read)


def name_claims(debate: Debate, round_number: int) -> Iterator[tuple[Citation, Claim]]:
    """The claims of a round in reading order, each with the point that it is of."""
    for point in list_points(debate).values():
        if point.id.round == round_number and debate.is_active(point.turn):
            yield from ((point.id, claim) for claim in point.claims)


def list_claim_rows(recorded: Debate, named: Debate, round_number: int) -> list[dict[str, Any]]:
    """The claims of a round as data. `named`: the same debate as people read it."""
    shown = show_claims(recorded, named)
    return [
        {
            "point": format_id(point, point.seat),
            **shown[claim].model_dump(include={"said", "wording", "kind", "evidence"}),
            "links": [
                {"relation": link.relation, "to": format_id(link.to, link.to.seat)} for link in claim.links
            ],
            "same_as": [format_id(one, one.seat) for one in claim.same_as],
            "according_to": "analyst",
        }
        for point, claim in name_claims(recorded, round_number)
    ]


def show_claims(recorded: Debate, named: Debate) -> dict[Claim, Claim]:
    """Each claim as people read it, by the claim as it is recorded."""
    pairs = zip(recorded.extractions, named.extractions, strict=True)
    return {
        claim: shown for one, other in pairs for claim, shown in zip(one.claims, other.claims, strict=True)
    }


def describe_extraction(recorded: Debate, named: Debate, round_number: int) -> str:
    """What the analyst read in a round: a line for each claim, and what it left out."""
    lines = [describe_claim(row) for row in list_claim_rows(recorded, named, round_number)]
    parts = ["\n".join(lines)] if lines else ["The analyst found no claim."]
    for extracted in (one for one in named.extractions if one.round == round_number):
        for left in extracted.left_out:
            why = f": {quote_heading(left.why)}" if left.why else ""
            parts.append(f"Left out, of {left.said.seat}{why}\n\n{quote(left.said.quote)}")
        if extracted.dropped:
            lost = format_count(extracted.dropped, "row")
            parts.append(f"Not counted: {lost} whose words are not in the turns named.")
    return "\n\n".join(parts)


def describe_claim(row: Mapping[str, Any]) -> str:
    """A claim in a line: its point, its wording, what it is, and what it does."""
    does = [f"{link['relation']} [{link['to']}]" for link in row["links"]]
    does += [f"same as [{other}]" for other in row["same_as"]]
    source = [f"by {quote_heading(row['evidence'])}"] if row["evidence"] else []
    return f"- [{row['point']}] {quote_heading(row['wording'])} ({', '.join([row['kind'], *source, *does])})"


def find_same_seats(debate: Debate, round_number: int) -> frozenset[frozenset[str]]:
    """The pairs of debaters who made the same point in this round, as the analyst reads it."""
    pairs = (
        (claim.said.seat, target)
        for extracted in debate.extractions
        if extracted.round == round_number
        for claim in extracted.claims
        for target in claim.same_as
    )
    return frozenset(frozenset((seat, target.seat)) for seat, target in pairs if target.round == round_number)
