"""What the page draws beside the recorded words: points, links, names, checked quotes, and the results of the rules.

The words are shown as they were recorded, and everything drawn on them refers to places in the entries, in characters.
So a reader sees the text that the chain of hashes covers.
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
from server.debate.answer.debates import build_panel
from server.debate.answer.lines import list_lines
from server.debate.answer.mentions import tell_mentions
from server.debate.answer.panel import Panel
from server.debate.answer.texts import show_answer
from server.debate.arguments.graph import Graph
from server.debate.documents.evidence import weigh_evidence
from server.debate.documents.folding import fold
from server.debate.documents.marks import (
    CHECKED,
    CHECKED_WITH_GAPS,
    CheckedQuote,
    check_quotes,
    mark_quotes,
)
from server.debate.documents.quotes import find_span
from server.debate.facts.advice import MINE, AdviceEvent
from server.debate.facts.answers import MESSAGE_SLOT
from server.debate.facts.beliefs import Citation
from server.debate.facts.events import Recorded, Spoke
from server.debate.facts.fact import Fact
from server.debate.facts.quoting import unescape_markup
from server.debate.state.debate import Debate
from server.debate.state.labels import locate_labels, order_sides
from server.debate.state.seats import current_model
from server.debate.views.advice import describe_advice
from server.debate.views.catalog import ViewSource
from server.debate.views.compare import list_differences_of_setups
from server.debate.views.names import MODEL_TEXTS, find_version, is_reading, list_part_fields
from server.debate.views.progress import build_progress, describe_work
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import framing_line, known_debaters, origin_line
from server.debate.views.verdict import build_report
from server.debate.views.visibility import hide_answers, is_visible

Row = dict[str, Any]
Place = tuple[int, str]
"""The number of an entry, and the field of its body with the text."""


REPORT = {
    *("answer", "headline", "verdict", "reasoning", "outcome", "winner", "winner_stance", "deliverable"),
    *("deliverable_problem", "beliefs", "rounds_of_talk", "turn_count", "cost", "cost_usd"),
}
"""Fields of the report that the page draws."""


def build_drawing(source: ViewSource, visible_entries: Iterable[Recorded]) -> Row:
    """The drawing of a debate. `visible_entries`: those that readers may see in full."""
    entries, debate = tuple(visible_entries), source.debate
    setup, visible = debate.setup, hide_answers(debate)
    graph, places = find_graph(visible), locate_turns(entries)
    progress, report = build_progress(debate), build_report(debate)
    return {
        "positions": [
            {"name": seat.name, "stance": seat.stance, "model": current_model(debate, seat.name)}
            for seat in known_debaters(setup)
        ],
        "lines": [row._asdict() for row in list_lines(report.answer, source.id)],
        "answers": build_answers(visible) if setup.answering else [],
        "advice": {
            str(entry.seq): describe_advice(debate, entry.event)
            for entry in entries
            if isinstance(entry.event, AdviceEvent)
        },
        "report": report.model_dump(include=REPORT),
        "claims": build_claim_rows(visible, graph),
        "points": build_points(visible, graph, places),
        "links": build_links(graph),
        "marks": build_marks(debate, entries),
        "retracted": [list(turn) for turn in sorted(debate.retracted_turns)],
        "inherited": setup.forked_at_round,
        "progress": {
            "done": progress.done,
            "expected": progress.expected,
            "asked": list(progress.asked),
            "work": describe_work(progress) if source.status == "running" else "",
        },
        "framing": framing_line(setup),
        "origin": origin_line(setup.mirror_of, setup.forked_from, setup.forked_at_round),
    }


def build_answers(debate: Debate) -> list[Row]:
    """The answers that were given apart, each with what reviews found wrong in it, and where it says that.

    `parts`: [text, number of the correction of these words, or 0].
    """
    panel = build_panel(debate)
    rows = []
    for seat, answer in panel.answers.items():
        text = mark_quotes(debate, tell_mentions(panel, show_answer(answer)), debate.version, str)
        corrections = list_corrections(panel, seat)
        rows.append(
            {
                "title": "Your answer" if seat == MINE else seat,
                "model": panel.models.get(seat, ""),
                "parts": split_at_words(text, [row["words"] for row in corrections]),
                "corrections": corrections,
            }
        )
    return rows


def list_corrections(panel: Panel, seat: str) -> list[Row]:
    """What reviews found wrong in an answer; words that several quote stand once."""
    rows: dict[str, Row] = {}
    for reader in panel.readers:
        for error in chain.from_iterable(review.errors for review in panel.reviewed[reader]):
            if seat in error.answers:
                row = {"words": error.words, "right": tell_mentions(panel, error.right), "by": reader}
                rows.setdefault(fold(error.words) or error.right, row)
    return [*rows.values()]


def split_at_words(text: str, wanted: list[str]) -> list[tuple[str, int]]:
    """The text in parts: (words, their number in the list from 1 on), and what stands around them with 0."""
    spans = [
        (span, number) for number, words in enumerate(wanted, 1) if words and (span := find_span(words, text))
    ]
    parts, at = [], 0
    for span, number in sorted(spans, key=lambda row: row[0].start):
        if span.start >= at:
            parts += [(text[at : span.start], 0), (text[span.start : span.end], number)]
            at = span.end
    return [part for part in (*parts, (text[at:], 0)) if part[0]]


def locate_turns(entries: Iterable[Recorded]) -> dict[tuple[str, int, int], Place]:
    """The place of the words of each turn and message, by seat, round and slot."""
    places: dict[tuple[str, int, int], Place] = {}
    for entry in entries:
        if isinstance(entry.event, Spoke):
            turn = entry.event
            places[turn.seat, turn.round, turn.slot_index] = (entry.seq, "text")
            if turn.message:
                places[turn.seat, turn.round, MESSAGE_SLOT] = (entry.seq, "message.text")
    return places


def build_points(debate: Debate, graph: Graph, places: dict[tuple[str, int, int], Place]) -> list[Row]:
    """A row for each point, with the place of its words."""
    cited = Counter(chain.from_iterable(judged.cited for judged in list_readings(debate)))
    evidence_by_point = {row.point.id: row for row in weigh_evidence(debate)} if graph.points else {}
    rows = []
    for point in graph.points.values():
        seq, field = places[point.turn.seat, point.turn.round, point.turn.slot_index]
        evidence = evidence_by_point.get(point.id)
        marks = Counter(choose_mark(quote) for quote in evidence.quotes) if evidence else Counter[str]()
        rows.append(
            {
                "id": id_of(point.id),
                "debater": point.id.seat,
                "round": point.id.round,
                "number": point.id.point,
                "seq": seq,
                "field": field,
                "start": point.span.start,
                "end": point.span.end,
                "kind": point.kind,
                "status": graph.statuses[point.id],
                "cited": cited[point.id],
                "quotes": [marks[CHECKED], marks[CHECKED_WITH_GAPS], marks[""]],
            }
        )
    return rows


def choose_mark(quote: CheckedQuote) -> str:
    """The mark of a quote; "" for a quote that was not found."""
    return quote.mark if quote.span else ""


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
    """What the verdict depends on, what speaks against it, and what divides the positions."""
    if not is_visible(debate, "debaters"):
        return {"hangs_on": [], "against": [], "common_ground": [], "between": []}

    def list_rows(ranked: Iterable[tuple[Citation, str]]) -> list[Row]:
        return [{"point": id_of(point), "why": reason} for point, reason in islice(ranked, MOST_LISTED)]

    return {
        "hangs_on": list_rows(rank_support(debate, graph)),
        "against": list_rows(rank_objections(debate, graph)),
        "common_ground": list(map(unescape_markup, list_common_ground(debate, graph)[:MOST_LISTED])),
        "between": list(map(unescape_markup, list_differences(debate, graph))),
    }


def build_marks(debate: Debate, entries: Iterable[Recorded]) -> dict[str, dict[str, list[list[Any]]]]:
    """Names for labels, and checked quotes, by the number of the entry and the field with the text.

    [start, end, "name", name] or [start, end, "quote", number of the document, its mark or "" if it was not found].
    """
    marks: dict[str, dict[str, list[list[Any]]]] = {}
    for entry in entries:
        for field, text in list_texts(entry.event):
            if text_marks := mark_text(debate, entry, text):
                marks.setdefault(str(entry.seq), {})[field] = text_marks
    return marks


def list_texts(fact: Fact, path: str = "") -> Iterator[tuple[str, str]]:
    """The texts of models in an event or a part of one, each by its path: `text`, `marks.0.said.quote`."""
    for field in MODEL_TEXTS.get(type(fact), ()):
        yield f"{path}{field}", getattr(fact, field)
    for field in list_part_fields(type(fact)):
        part = getattr(fact, field)
        if isinstance(part, Fact):
            yield from list_texts(part, f"{path}{field}.")
        for index, inner in enumerate(part if isinstance(part, tuple) else ()):
            yield from list_texts(inner, f"{path}{field}.{index}.")


def mark_text(debate: Debate, entry: Recorded, text: str) -> list[list[Any]]:
    event = entry.event
    reading = getattr(event, "slot_index", 1) if is_reading(event) else 1
    names = order_sides(debate, reading)
    marks = [[start, end, "name", name] for start, end, name in locate_labels(text, names)]
    version = find_version(debate, event)
    if version:
        marks += [
            [row.quote.start, row.quote.end, "quote", row.quote.document, choose_mark(row).strip("[]")]
            for row in check_quotes(debate, text, version)
        ]
    return sorted(marks)


def build_relative(source: ViewSource, relative: ViewSource) -> Row:
    """A row for a related debate. `differences`: how its set-up differs from the one of `source`."""
    debate = relative.debate
    report = build_report(debate)
    return {
        "debate_id": relative.id,
        "status": relative.status,
        "tags": list(debate.tags),
        "forked_from": debate.setup.forked_from,
        "forked_at_round": debate.setup.forked_at_round,
        "rounds": [entered.phase for entered in debate.rounds],
        "outcome": report.outcome,
        "winner": report.winner,
        "winner_stance": report.winner_stance,
        "votes": [vote.model_dump() for vote in debate.verdict.votes] if debate.verdict else [],
        "names": list(debate.names),
        "cost_usd": report.cost_usd,
        "differences": list_differences_of_setups(source.debate.setup, debate.setup),
        "recorded": describe_provenance(relative.provenance, len(relative.entries)),
    }
