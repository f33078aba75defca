"""What the page draws beside the recorded words: points, links, names, checked quotes, and what the rules made of it.

Words stay where they were recorded: all that is drawn upon them are places in the entries, in characters. So what a
reader sees of a turn is what the chain of hashes covers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from server.debate.analysis.claims import (
    MOST_LISTED,
    find_graph,
    id_of,
    list_common_ground,
    list_differences,
    list_readings,
    rank_objections,
    rank_support,
)
from server.debate.arguments.graph import Graph
from server.debate.arguments.points import Point
from server.debate.documents.evidence import weigh_evidence
from server.debate.documents.marks import CHECKED, CHECKED_WITH_GAPS, CheckedQuote, check_quotes
from server.debate.facts.answers import MESSAGE_SLOT, Answer
from server.debate.facts.beliefs import Citation
from server.debate.facts.events import Concluded, Recorded, Spoke
from server.debate.facts.fact import Fact
from server.debate.facts.quoting import unescape_markup
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.labels import locate_labels
from server.debate.state.seats import current_model
from server.debate.views.awaited import awaited_seats
from server.debate.views.catalog import ViewSource
from server.debate.views.compare import find_differences
from server.debate.views.names import MODEL_PARTS, MODEL_TEXTS, is_reading
from server.debate.views.progress import build_progress
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import framing_line, known_debaters, origin_line
from server.debate.views.verdict import build_report
from server.debate.views.visibility import hide_answers, is_visible

Row = dict[str, Any]
Place = tuple[int, str]
"""The number of an entry, and the field of its body with the text."""


def build_drawing(source: ViewSource, shown: Iterable[Recorded]) -> Row:
    """`shown`: the entries that readers may see whole."""
    entries, debate = tuple(shown), source.debate
    setup, visible = debate.setup, hide_answers(debate)
    graph, places = find_graph(visible), locate_turns(entries)
    progress = build_progress(debate)
    return {
        "positions": [
            {
                "name": seat.name,
                "stance": seat.stance,
                "role": seat.role,
                "model": current_model(debate, seat.name),
            }
            for seat in known_debaters(setup)
        ],
        "judges": [{"seat": seat, "model": current_model(debate, seat)} for seat in judge_seats(setup)],
        "report": build_report(debate).model_dump(exclude={"question", "positions", "claims"}),
        "claims": build_claim_rows(visible, graph),
        "points": build_points(visible, graph, places),
        "links": build_links(graph),
        "marks": build_marks(debate, entries),
        "retracted": [list(turn) for turn in sorted(debate.retracted_turns)],
        "inherited": setup.forked_at_round,
        "awaiting": awaited_seats(debate),
        "progress": {"done": progress.done, "expected": progress.expected, "asked": list(progress.asked)},
        "framing": framing_line(setup),
        "origin": origin_line(setup.mirror_of, setup.forked_from, setup.forked_at_round),
    }


def locate_turns(entries: Iterable[Recorded]) -> dict[tuple[str, int, int], Place]:
    """Where the words of each turn and message were recorded, by seat, round and slot."""
    places: dict[tuple[str, int, int], Place] = {}
    for entry in entries:
        if isinstance(entry.event, Spoke):
            said = entry.event
            places[said.seat, said.round, said.slot_index] = (entry.seq, "text")
            if said.message:
                places[said.seat, said.round, MESSAGE_SLOT] = (entry.seq, "message.text")
    return places


def build_points(debate: Debate, graph: Graph, places: dict[tuple[str, int, int], Place]) -> list[Row]:
    """A row for each point, with the place of its words."""
    cited = Counter(chain.from_iterable(judged.cited for judged in list_readings(debate)))
    weighed = {one.point.id: one for one in weigh_evidence(debate)} if graph.points else {}
    rows = []
    for point in graph.points.values():
        seq, field = places[point.turn.seat, point.turn.round, point.turn.slot_index]
        evidence = weighed.get(point.id)
        marks = Counter(find_mark(quote) for quote in evidence.quotes) if evidence else Counter[str]()
        rows.append(
            {
                "id": id_of(point.id),
                "debater": point.id.seat,
                "round": point.id.round,
                "number": point.id.point,
                "seq": seq,
                "field": field,
                **build_extent(point),
                "kind": point.kind,
                "standing": graph.standing[point.id],
                "cited": cited[point.id],
                "quotes": [marks[CHECKED], marks[CHECKED_WITH_GAPS], marks[""]],
            }
        )
    return rows


def find_mark(quote: CheckedQuote) -> str:
    """The mark of a quote that was found; "" of another."""
    return quote.mark if quote.span else ""


def build_extent(point: Point) -> Row:
    return {"start": point.span.start, "end": point.span.end}


def build_links(graph: Graph) -> list[Row]:
    never, late = frozenset(graph.open_attacks), frozenset(graph.late_attacks)
    return [
        {
            "from": id_of(link.source),
            "to": id_of(link.target),
            "relation": link.relation,
            "answer": "never" if link in never else "late" if link in late else "",
        }
        for link in graph.links
    ]


def build_claim_rows(debate: Debate, graph: Graph) -> Row:
    """What the verdict hangs on, what speaks against it, and what lies between the positions."""
    if not is_visible(debate, "debaters"):
        return {"hangs_on": [], "against": [], "common_ground": [], "between": []}

    def list_rows(ranked: Iterable[tuple[Citation, str]]) -> list[Row]:
        return [{"point": id_of(point), "why": why} for point, why in islice(ranked, MOST_LISTED)]

    return {
        "hangs_on": list_rows(rank_support(debate, graph)),
        "against": list_rows(rank_objections(debate, graph)),
        "common_ground": list(map(unescape_markup, list_common_ground(debate, graph)[:MOST_LISTED])),
        "between": list(map(unescape_markup, list_differences(debate, graph))),
    }


def build_marks(debate: Debate, entries: Iterable[Recorded]) -> dict[str, dict[str, list[list[Any]]]]:
    """Names in place of labels, and checked quotes, by the number of the entry and the field with the text.

    [start, end, "name", name], [start, end, "quote", number of the document, its mark if it was found, else ""].
    """
    marks: dict[str, dict[str, list[list[Any]]]] = {}
    for entry in entries:
        for field, text in list_texts(entry.event):
            if found := mark_text(debate, entry, text):
                marks.setdefault(str(entry.seq), {})[field] = found
    return marks


def list_texts(fact: Fact, path: str = "") -> Iterator[tuple[str, str]]:
    """The texts of models in an event or a part of one, each by its path: `text`, `marks.0.said.quote`."""
    for field in MODEL_TEXTS.get(type(fact), ()):
        yield f"{path}{field}", getattr(fact, field)
    for field in MODEL_PARTS.get(type(fact), ()):
        part = getattr(fact, field)
        if isinstance(part, Fact):
            yield from list_texts(part, f"{path}{field}.")
        for index, one in enumerate(part if isinstance(part, tuple) else ()):
            yield from list_texts(one, f"{path}{field}.{index}.")


def mark_text(debate: Debate, entry: Recorded, text: str) -> list[list[Any]]:
    event = entry.event
    found: list[list[Any]] = []
    if isinstance(event, Concluded):  # it is in names already
        seen: int = debate.version
    else:
        reading = getattr(event, "slot_index", 1) if is_reading(event) else 1
        found = [[start, end, "name", name] for start, end, name in locate_labels(debate, text, reading)]
        seen = event.seen if isinstance(event, Answer) else 0
    if seen:
        found += [
            [one.quote.start, one.quote.end, "quote", one.quote.document, find_mark(one).strip("[]")]
            for one in check_quotes(debate, text, seen)
        ]
    return sorted(found)


def build_relative(this: ViewSource, other: ViewSource) -> Row:
    """A fork, or what this debate was forked from, in a row. `differences`: of the set-ups, from this one's."""
    debate = other.debate
    found = build_report(debate)
    return {
        "debate_id": other.id,
        "status": other.status,
        "tags": list(debate.tags),
        "forked_from": debate.setup.forked_from,
        "forked_at_round": debate.setup.forked_at_round,
        "rounds": [entered.phase for entered in debate.rounds],
        "outcome": found.outcome,
        "winner": found.winner,
        "winner_stance": found.winner_stance,
        "votes": [vote.model_dump() for vote in debate.verdict.votes] if debate.verdict else [],
        "names": list(debate.names),
        "cost_usd": found.cost_usd,
        "differences": find_differences(this.debate.setup, debate.setup),
        "recorded": describe_provenance(other.provenance, len(other.entries)),
    }
