"""What a verdict depends on, what speaks against it, and what divides the positions, by the points of the debate.

Everything here is counted or computed from recorded turns, ballots and readings; nothing is decided.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Annotated, Any

from pydantic import BaseModel, Field

from server.debate.arguments.citations import Link
from server.debate.arguments.graph import Graph, Status, build_graph
from server.debate.arguments.points import Point, format_id
from server.debate.ballots.convergence import find_last_ballots
from server.debate.documents.evidence import count_quotes
from server.debate.documents.marks import disarm_marks, mark_quotes
from server.debate.facts.beliefs import Citation
from server.debate.facts.events import Balloted, Judged, Spoke
from server.debate.facts.quoting import quote_inline
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate, replace
from server.debate.state.labels import name_sides
from server.debate.state.seats import hides, hides_any

MOST_LISTED = 4
"""Lines of each list in a verdict; the view `analysis` has all."""

TEXT_BYTES = 160
"""Of a point in a line."""

STATUS_WORDS: dict[Status, str] = {
    "conceded": "conceded",
    "unanswered": "unanswered",
    "answered": "answered",
    "late": "too late for an answer",
}
"""What other sides made of a point, in words; what a winner can rest on comes first."""


class Claims(BaseModel):
    """The points of the debate, and what they mean for the verdict."""

    total: int = 0
    open_attacks: Annotated[int, Field(description="Never answered, those of the last round included")] = 0
    late_attacks: Annotated[int, Field(description="Of these, too late for an answer")] = 0
    checked_quotes: int = 0
    failed_quotes: int = 0
    hangs_on: list[str] = []
    against: list[str] = []
    common_ground: list[str] = []
    between: Annotated[list[str], Field(description="Disputes, shared sources, what would settle it")] = []


def build_claims(debate: Debate) -> Claims:
    """The claims of a verdict. `debate`: without what readers may not see yet."""
    graph = find_graph(debate)
    quote_count, failed_count = count_quotes(debate)
    return Claims(
        total=len(graph.points),
        open_attacks=len(graph.unanswered),
        late_attacks=len(graph.late_attacks),
        checked_quotes=quote_count,
        failed_quotes=failed_count,
        hangs_on=quote_points(debate, graph, rank_support(debate, graph)),
        against=quote_points(debate, graph, rank_objections(debate, graph)),
        common_ground=list_common_ground(debate, graph)[:MOST_LISTED],
        between=list_differences(debate, graph),
    )


def find_graph(debate: Debate) -> Graph:
    """The graph of what clients may see."""
    if hides_any(debate.setup, debate.setup.hidden_from_client, "debaters"):
        debate = replace(debate, turns=(), transcript_events=(), round_starts=(0,) * debate.round)
    return build_graph(debate)


def list_readings(debate: Debate) -> list[Judged]:
    """The informative judgments that clients may see."""
    hidden = debate.setup.hidden_from_client
    informative = (judgment for judgment in debate.judgments if judgment.informative)
    return [reading for reading in informative if not hides(debate.setup, hidden, reading.seat)]


def find_shown_ballots(debate: Debate) -> dict[str, Balloted]:
    """The last private ballots of the debaters that clients may see, by name."""
    is_hidden = hides_any(debate.setup, debate.setup.hidden_from_client, "debaters")
    return {} if is_hidden else find_last_ballots(debate)


def rank_support(debate: Debate, graph: Graph) -> list[tuple[Citation, str]]:
    """The winner's points that readings for it cite, the most cited first; else its points, those conceded first.

    Each with the reason why it is listed.
    """
    winner = debate.verdict.winner if debate.verdict else ""
    if not winner:
        return []
    found_for = [reading for reading in list_readings(debate) if reading.winner == winner]
    citations = Counter(chain.from_iterable(reading.cited for reading in found_for))
    points_of_winner = [point for point in graph.points if graph.side(point) == graph.sides[winner]]
    if ranked := sorted(
        (point for point in points_of_winner if citations[point]), key=lambda point: -citations[point]
    ):
        of = format_count(len(found_for), "reading")
        return [(point, f"(cited in {citations[point]} of {of})") for point in ranked]
    ranks = [*STATUS_WORDS]
    ranked = sorted(points_of_winner, key=lambda point: ranks.index(graph.statuses[point]))
    return [(point, f"({STATUS_WORDS[graph.statuses[point]]})") for point in ranked]


def rank_objections(debate: Debate, graph: Graph) -> list[tuple[Citation, str]]:
    """Unanswered attacks on the winner's points, and what readings for others cite; each with the reason."""
    winner = debate.verdict.winner if debate.verdict else ""
    side = graph.sides.get(winner, "")
    objections = [
        (link.source, f"{link.relation} [{id_of(link.target)}], never answered")
        for link in graph.open_attacks
        if graph.side(link.target) == side
    ]
    against = [reading for reading in list_readings(debate) if winner and reading.winner not in ("", winner)]
    citations = Counter(chain.from_iterable(dict.fromkeys(reading.cited) for reading in against))
    objections += [
        (point, f"(cited in {format_count(count, 'reading')} against it)")
        for point, count in citations.most_common()
        if point in graph.points and graph.side(point) != side
    ]
    objections += [
        (link.source, f"{link.relation} [{id_of(link.target)}], too late for an answer")
        for link in graph.late_attacks
        if graph.side(link.target) == side
    ]
    return objections


def list_common_ground(debate: Debate, graph: Graph) -> list[str]:
    """Points that other sides accept and nobody attacks; and a position that all hold in private."""
    by_sides = sorted(
        graph.find_agreement().items(), key=lambda item: -len({graph.side(link.source) for link in item[1]})
    )
    lines = [
        f"{quote_point(debate, graph, point)} ({describe_agreement(links)})" for point, links in by_sides
    ]
    ballots = find_shown_ballots(debate)
    choices = {ballot.choice for ballot in ballots.values()}
    if len(ballots) == len(debate.names) and len(choices) == 1 and "" not in choices:
        lines.append(f"in private all debaters hold {choices.pop()}'s position the likeliest")
    return lines


def describe_agreement(links: Sequence[Link]) -> str:
    """Who accepts a point, and who does so only in the analyst's reading."""
    by_word = [link.source.seat for link in links if not link.is_read]
    same_claims = [link.source.seat for link in links if link.relation == "same_as"]
    by_analyst = [link.source.seat for link in links if link.is_read and link.relation != "same_as"]
    parts = [f"accepted by {', '.join(by_word)}"] if by_word else []
    parts += [f"claimed by {', '.join(same_claims)} too, as the analyst reads it"] if same_claims else []
    parts += [f"accepted by {', '.join(by_analyst)}, as the analyst reads it"] if by_analyst else []
    return "; ".join(parts)


def list_differences(debate: Debate, graph: Graph) -> list[str]:
    """What divides the positions: points in dispute, attacks, shared sources, what would settle it."""
    lines = [
        f"in dispute: {quote_point(debate, graph, point)} ({format_count(count, 'attack')})"
        for point, count in graph.rank_cruxes()[:2]
    ]
    for pair, (count, open_count) in list(graph.count_attacks().items())[:2]:
        side, other_side = (name_side(graph, name) for name in pair)
        lines.append(f"{side} and {other_side}: {format_count(count, 'attack')}, {open_count} never answered")
    for number, names in list(graph.find_shared_documents().items())[:2]:
        lines.append(f"doc {number} is cited by {', '.join(names)}")
    return [*lines, *(f"would settle it, says {line}" for line in list_settling(debate)[:2])]


def list_settling(debate: Debate) -> list[str]:
    """What judges and voters say would change their mind, each text once."""
    readings = sorted(list_readings(debate), key=lambda reading: (reading.slot_index, reading.seat))
    statements = [
        (reading.seat, name_sides(debate, reading.would_change, reading.slot_index)) for reading in readings
    ]
    ballots = find_shown_ballots(debate)
    statements += [
        (name, name_sides(debate, ballots[name].would_check)) for name in debate.names if name in ballots
    ]
    first_speaker = {text: seat for seat, text in reversed(statements) if text}
    return [
        f"{first_speaker[text]}: {quote_inline(text, TEXT_BYTES)}"
        for text in dict.fromkeys(t for _, t in statements if t)
    ]


def list_private_concessions(debate: Debate, graph: Graph) -> list[dict[str, str]]:
    """Points of another side that moved a debater, by its last private ballot."""
    rows = []
    for name, ballot in find_shown_ballots(debate).items():
        point = ballot.moved_by
        if point and point in graph.points and graph.side(point) != graph.sides[name]:
            rows.append({"point": id_of(point), "by": name, "holds": ballot.choice})
    return rows


def build_analysis(debate: Debate) -> dict[str, Any]:
    """All that the claims of a verdict are taken from. `debate`: without what readers may not see yet."""
    graph = find_graph(debate)
    statuses = Counter(graph.statuses.values())
    concessions = [link for link in graph.links if link.relation == "concedes"]
    return {
        "total": len(graph.points),
        "unknown_citations": graph.unknown
        + sum(reading.unknown_citations for reading in list_readings(debate)),
        "statuses": {status: statuses[status] for status in STATUS_WORDS},
        "open_attacks": build_links(graph.open_attacks),
        "late_attacks": build_links(graph.late_attacks),
        "conceded": build_links(concessions),
        "conceded_in_private": list_private_concessions(debate, graph),
        "cruxes": [{"point": id_of(point), "attacks": count} for point, count in graph.rank_cruxes()],
        "common_ground": [
            {
                "point": id_of(point),
                "accepted_by": [link.source.seat for link in links if not link.is_read],
                "according_to_analyst": [link.source.seat for link in links if link.is_read],
            }
            for point, links in graph.find_agreement().items()
        ],
        "contradictions": [
            {"between": [name_side(graph, side) for side in pair], "attacks": count, "open": open_count}
            for pair, (count, open_count) in graph.count_attacks().items()
        ],
        "shared_documents": [
            {"doc": number, "cited_by": names} for number, names in graph.find_shared_documents().items()
        ],
        "would_settle": list_settling(debate),
    }


def build_graph_data(debate: Debate) -> dict[str, Any]:
    """The graph as data: a row for each point and each link. `debate`: without what readers may not see yet."""
    graph = find_graph(debate)
    citations = Counter(chain.from_iterable(reading.cited for reading in list_readings(debate)))
    points = [
        {
            "id": id_of(point.id),
            "debater": point.id.seat,
            "round": point.id.round,
            "kind": point.kind,
            "text": show_point(debate, point),
            "status": graph.statuses[point.id],
            "documents": list(graph.documents.get(point.id, ())),
            "cited_in_readings": citations[point.id],
            "claims": build_claim_rows(debate, point),
        }
        for point in graph.points.values()
    ]
    return {"points": points, "links": build_links(graph.links)}


def build_claim_rows(debate: Debate, point: Point) -> list[dict[str, Any]]:
    """What the analyst reads in a point, where clients may see it."""
    if "analyst" in debate.setup.hidden_from_client:
        return []
    return [
        {
            "wording": show_text(debate, claim.wording),
            "kind": claim.kind,
            "evidence": show_text(debate, claim.evidence),
            "start": claim.said.start,
            "end": claim.said.end,
            "words": show_part(debate, point.turn, claim.said.start, claim.said.end),
        }
        for claim in point.claims
    ]


def build_links(links: Iterable[Link]) -> list[dict[str, str]]:
    return [
        {
            "from": id_of(link.source),
            "to": id_of(link.target),
            "relation": link.relation,
            "according_to": "analyst" if link.is_read else "debater",
        }
        for link in links
    ]


def id_of(point: Citation) -> str:
    """The id of a point as people read it."""
    return format_id(point, point.seat)


def name_side(graph: Graph, side: str) -> str:
    return ", ".join(name for name, side_of_name in graph.sides.items() if side_of_name == side)


def quote_point(debate: Debate, graph: Graph, point: Citation) -> str:
    """A point in a line: its id, and the beginning of its words between quotation marks."""
    return f"[{id_of(point)}] {quote_inline(show_point(debate, graph.points[point]), TEXT_BYTES)}"


def quote_points(debate: Debate, graph: Graph, ranking: Iterable[tuple[Citation, str]]) -> list[str]:
    """The first points of a ranking in lines, each with its reason."""
    return [f"{quote_point(debate, graph, point)} {why}" for point, why in islice(ranking, MOST_LISTED)]


def show_point(debate: Debate, point: Point) -> str:
    return show_part(debate, point.turn, point.span.start, point.span.end)


def show_part(debate: Debate, turn: Spoke, start: int, end: int) -> str:
    """A part of a turn with names, and the server's marks after its quotes."""
    return mark_quotes(debate, turn.text, turn.seen, lambda part: name_sides(debate, part), start, end)


def show_text(debate: Debate, text: str) -> str:
    """The analyst's words with names. Nothing in them can pass for a mark of ours."""
    return disarm_marks(name_sides(debate, text))
