"""What a verdict hangs on, what speaks against it, and what lies between the positions, by the points of the debate.

Everything here is counted or computed from the recorded turns, ballots and readings; it decides nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, islice
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from server.debate.arguments.citations import Link
from server.debate.arguments.drawing import draw_graphml, draw_mermaid
from server.debate.arguments.graph import Graph, build_graph
from server.debate.arguments.points import Point, format_id
from server.debate.ballots.report import find_last_ballots
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
"""Of a point, in a line."""

SEMANTICS = (
    "standing: grounded extension (Dung 1995) over attacks and undercuts; strength: h-categorizer (Besnard and Hunter "
    "2001); influence: gradient of the lead of the winner's case, the sum of its strengths, by the weight of a point "
    "(Amgoud et al. 2017)"
)


class Claims(BaseModel):
    """The points of the debate, and what the verdict has to do with them."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    total: int = 0
    open_attacks: Annotated[int, Field(description="Never answered, though there was a turn for it")] = 0
    checked_quotes: int = 0
    failed_quotes: int = 0
    hangs_on: list[str] = []
    against: list[str] = []
    common_ground: list[str] = []
    between: Annotated[list[str], Field(description="Disputes, shared sources, what would settle it")] = []


def build_claims(debate: Debate) -> Claims:
    """The claims of a verdict. `debate`: without what readers are not to see yet."""
    graph = find_graph(debate)
    checked, failed = count_quotes(debate)
    return Claims(
        total=len(graph.points),
        open_attacks=len(graph.open_attacks),
        checked_quotes=checked,
        failed_quotes=failed,
        hangs_on=quote_points(debate, graph, rank_support(debate, graph)),
        against=quote_points(debate, graph, rank_objections(debate, graph)),
        common_ground=list_common_ground(debate, graph)[:MOST_LISTED],
        between=list_differences(debate, graph),
    )


def find_graph(debate: Debate) -> Graph:
    """The graph of what clients may see."""
    if hides_any(debate.setup.hidden_from_client, "debaters"):
        debate = replace(debate, turns=(), transcript_events=(), round_starts=(0,) * debate.round)
    return build_graph(debate)


def list_readings(debate: Debate) -> list[Judged]:
    """The judgments that clients may see and that mean anything."""
    hidden = debate.setup.hidden_from_client
    return [judged for judged in debate.judgments if judged.informative and not hides(hidden, judged.seat)]


def find_voters(debate: Debate) -> dict[str, Balloted]:
    """The last private ballots of the debaters that clients may see, by name."""
    return {} if hides_any(debate.setup.hidden_from_client, "debaters") else find_last_ballots(debate)


def find_leader(debate: Debate, graph: Graph) -> str:
    """The winner; without one the debater of the strongest case; "" where nobody stands for anything."""
    if debate.verdict and debate.verdict.winner:
        return debate.verdict.winner
    return max(debate.names, key=lambda name: graph.cases[graph.sides[name]], default="")


def rank_support(debate: Debate, graph: Graph) -> list[tuple[Citation, str]]:
    """The winner's points that its readings cite, the most cited first; else those that carry its case most.

    Each with why it is listed.
    """
    winner = debate.verdict.winner if debate.verdict else ""
    if not winner:
        return []
    found_for = [judged for judged in list_readings(debate) if judged.winner == winner]
    cited = Counter(chain.from_iterable(judged.cited for judged in found_for))
    own = [point for point in graph.points if graph.side(point) == graph.sides[winner]]
    if ranked := sorted((point for point in own if cited[point]), key=lambda point: -cited[point]):
        of = format_count(len(found_for), "reading")
        return [(point, f"(cited in {cited[point]} of {of})") for point in ranked]
    influence = graph.compute_influence(winner)
    ranked = sorted(own, key=lambda point: -influence[point])
    return [(point, f"({graph.standing[point]}, influence {influence[point]:.2f})") for point in ranked]


def rank_objections(debate: Debate, graph: Graph) -> list[tuple[Citation, str]]:
    """Attacks on the winner's points that were never answered, and what readings for others cite; each with why."""
    winner = debate.verdict.winner if debate.verdict else ""
    side = graph.sides.get(winner, "")
    found = [
        (link.source, f"{link.relation} {name_point(link.target)}, never answered")
        for link in graph.open_attacks
        if graph.side(link.target) == side
    ]
    against = [judged for judged in list_readings(debate) if winner and judged.winner not in ("", winner)]
    cited = Counter(chain.from_iterable(dict.fromkeys(judged.cited) for judged in against))
    found += [
        (point, f"(cited in {format_count(count, 'reading')} against it)")
        for point, count in cited.most_common()
        if point in graph.points and graph.side(point) != side
    ]
    found += [
        (link.source, f"{link.relation} {name_point(link.target)}, too late for an answer")
        for link in graph.late_attacks
        if graph.side(link.target) == side
    ]
    return found


def list_common_ground(debate: Debate, graph: Graph) -> list[str]:
    """What other sides support, repeat or concede, and nobody attacks; and where all hold the same in private."""
    agreed = sorted(
        graph.find_agreement().items(), key=lambda item: -len({graph.side(link.source) for link in item[1]})
    )
    lines = [f"{quote_point(debate, graph, point)} ({describe_agreement(links)})" for point, links in agreed]
    ballots = find_voters(debate)
    choices = {ballot.choice for ballot in ballots.values()}
    if len(ballots) == len(debate.names) and len(choices) == 1 and "" not in choices:
        lines.append(f"in private all debaters hold {choices.pop()}'s position the likeliest")
    return lines


def describe_agreement(links: Sequence[Link]) -> str:
    """Who accepts a point, and who only by the analyst's reading."""
    stated = [link.source.seat for link in links if not link.is_read]
    same = [link.source.seat for link in links if link.relation == "same_as"]
    read = [link.source.seat for link in links if link.is_read and link.relation != "same_as"]
    parts = [f"accepted by {', '.join(stated)}"] if stated else []
    parts += [f"claimed by {', '.join(same)} too, as the analyst reads it"] if same else []
    parts += [f"accepted by {', '.join(read)}, as the analyst reads it"] if read else []
    return "; ".join(parts)


def list_differences(debate: Debate, graph: Graph) -> list[str]:
    """What lies between the positions: points in dispute, attacks, shared sources, what would settle it."""
    lines = [
        f"in dispute: {quote_point(debate, graph, point)} ({graph.standing[point]}, influence {influence:.2f})"
        for point, influence in find_cruxes(debate, graph)[:2]
    ]
    for pair, (count, left) in list(graph.count_attacks().items())[:2]:
        one, other = (name_side(graph, side) for side in pair)
        lines.append(f"{one} and {other}: {format_count(count, 'attack')}, {left} never answered")
    for number, names in list(graph.find_shared_documents().items())[:2]:
        lines.append(f"doc {number} is cited by {', '.join(names)}")
    return [*lines, *(f"would settle it, says {line}" for line in list_settling(debate)[:2])]


def list_settling(debate: Debate) -> list[str]:
    """What judges and voters say would change their mind, each once."""
    readings = sorted(list_readings(debate), key=lambda judged: (judged.slot_index, judged.seat))
    said = [(judged.seat, name_sides(debate, judged.would_change, judged.slot_index)) for judged in readings]
    ballots = find_voters(debate)
    said += [
        (name, name_sides(debate, ballots[name].would_check)) for name in debate.names if name in ballots
    ]
    first = {text: seat for seat, text in reversed(said) if text}
    return [
        f"{first[text]}: {quote_inline(text, TEXT_BYTES)}" for text in dict.fromkeys(t for _, t in said if t)
    ]


def find_cruxes(debate: Debate, graph: Graph) -> list[tuple[Citation, float]]:
    leader = find_leader(debate, graph)
    return graph.find_cruxes(leader) if leader and graph.points else []


def list_private_concessions(debate: Debate, graph: Graph) -> list[dict[str, str]]:
    """Points of another side that moved a debater most, by its last private ballot."""
    rows = []
    for name, ballot in find_voters(debate).items():
        moved = ballot.moved_by
        if moved and moved in graph.points and graph.side(moved) != graph.sides[name]:
            rows.append({"point": id_of(moved), "by": name, "holds": ballot.choice})
    return rows


def build_analysis(debate: Debate) -> dict[str, Any]:
    """All that the claims of a verdict are taken from. `debate`: without what readers are not to see yet."""
    graph = find_graph(debate)
    standing = Counter(graph.standing.values())
    conceded = [link for link in graph.links if link.relation == "concedes"]
    return {
        "semantics": SEMANTICS,
        "total": len(graph.points),
        "unknown_citations": graph.unknown
        + sum(judged.unknown_citations for judged in list_readings(debate)),
        "standing": {word: standing[word] for word in ("stands", "falls", "open")},
        "cases": {name_side(graph, side): round(value, 2) for side, value in graph.cases.items()},
        "open_attacks": build_links(graph.open_attacks),
        "late_attacks": build_links(graph.late_attacks),
        "conceded": build_links(conceded),
        "conceded_in_private": list_private_concessions(debate, graph),
        "cruxes": [
            {"point": id_of(one), "influence": round(value, 4)} for one, value in find_cruxes(debate, graph)
        ],
        "common_ground": [
            {
                "point": id_of(point),
                "accepted_by": [link.source.seat for link in links if not link.is_read],
                "according_to_analyst": [link.source.seat for link in links if link.is_read],
            }
            for point, links in graph.find_agreement().items()
        ],
        "contradictions": [
            {"between": [name_side(graph, side) for side in pair], "attacks": count, "open": left}
            for pair, (count, left) in graph.count_attacks().items()
        ],
        "shared_documents": [
            {"doc": number, "cited_by": names} for number, names in graph.find_shared_documents().items()
        ],
        "would_settle": list_settling(debate),
    }


def build_graph_data(debate: Debate) -> dict[str, Any]:
    """The graph as data: a row for each point and each link. `debate`: without what readers are not to see yet."""
    graph = find_graph(debate)
    cited = Counter(chain.from_iterable(judged.cited for judged in list_readings(debate)))
    points = [
        {
            "id": id_of(point.id),
            "debater": point.id.seat,
            "round": point.id.round,
            "kind": point.kind,
            "text": show_point(debate, point),
            "standing": graph.standing[point.id],
            "strength": round(graph.strengths[point.id], 4),
            "documents": list(graph.documents.get(point.id, ())),
            "cited_in_readings": cited[point.id],
            "claims": build_claim_rows(debate, point),
        }
        for point in graph.points.values()
    ]
    return {"semantics": SEMANTICS, "points": points, "links": build_links(graph.links)}


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
            "from": id_of(one.source),
            "to": id_of(one.target),
            "relation": one.relation,
            "according_to": "analyst" if one.is_read else "debater",
        }
        for one in links
    ]


def id_of(cited: Citation) -> str:
    """The id of a point as people read it."""
    return format_id(cited, cited.seat)


def name_point(cited: Citation) -> str:
    return f"[{id_of(cited)}]"


def name_side(graph: Graph, side: str) -> str:
    """The debaters of a side."""
    return ", ".join(name for name, own in graph.sides.items() if own == side)


def quote_point(debate: Debate, graph: Graph, cited: Citation) -> str:
    """A point in a line: its id, and the beginning of its words between quotation marks."""
    return f"{name_point(cited)} {quote_inline(show_point(debate, graph.points[cited]), TEXT_BYTES)}"


def quote_points(debate: Debate, graph: Graph, ranked: Iterable[tuple[Citation, str]]) -> list[str]:
    """The first points of a ranking in lines, each with why it is listed."""
    return [f"{quote_point(debate, graph, point)} {why}" for point, why in islice(ranked, MOST_LISTED)]


def show_point(debate: Debate, point: Point) -> str:
    """A point with names, and with our marks behind its quotes."""
    return show_part(debate, point.turn, point.span.start, point.span.end)


def show_part(debate: Debate, turn: Spoke, start: int, end: int) -> str:
    return mark_quotes(debate, turn.text, turn.seen, lambda part: name_sides(debate, part), start, end)


def show_text(debate: Debate, text: str) -> str:
    """The analyst's words with names, in which nothing can pass for a mark of ours."""
    return disarm_marks(name_sides(debate, text))


def draw(debate: Debate, language: str) -> str:
    """The graph as `mermaid` or `graphml`. `debate`: without what readers are not to see yet."""
    graph, show = find_graph(debate), partial(show_point, debate)
    return draw_mermaid(graph, show) if language == "mermaid" else draw_graphml(graph, show)
