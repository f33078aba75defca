"""The graph of points for other programs: Mermaid, which Markdown readers draw, and GraphML, for analysis.

Texts in both are data: what would be markup in them is escaped.
"""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable

from server.debate.arguments.citations import Link
from server.debate.arguments.graph import Graph
from server.debate.arguments.points import Point, format_id
from server.debate.facts.beliefs import Citation
from server.debate.facts.text import clean_line, shorten

Showing = Callable[[Point], str]
"""The words of a point as they are shown."""

MOST_DRAWN = 45_000
"""Characters of a Mermaid diagram: its readers refuse more than 50,000."""

MOST_ARROWS = 450
"""They refuse more than 500."""

DRAWN_TEXT = 60

_ARROWS = {
    "attacks": "-->",
    "undercuts": "-->",
    "supports": "-.->",
    "repeats": "-.->",
    "concedes": "-.->",
    "same_as": "---",
    "cites": "-.->",
}
_STYLES = (
    "classDef stands stroke:#2a7,stroke-width:2px",
    "classDef falls stroke:#c33,stroke-dasharray:4",
    "classDef open stroke:#b80",
)
_MARKUP = re.compile(r"[^\w .,:!?()'%-]")
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

GRAPHML = "http://graphml.graphdrawing.org/xmlns"
_NODE_FIELDS = {
    "label": "string",
    "debater": "string",
    "side": "string",
    "round": "int",
    "kind": "string",
    "standing": "string",
    "strength": "double",
    "text": "string",
}


def draw_mermaid(graph: Graph, show: Showing) -> str:
    """A flowchart, a box for each round. Of a graph that is too large, the points with most links."""
    links = Counter[Citation]()
    for link in graph.links:
        links.update((link.source, link.target))
    ranked = sorted(graph.points, key=lambda cited: -links[cited])
    count = len(ranked)
    while len(text := draw_points(graph, show, frozenset(ranked[:count]))) > MOST_DRAWN:
        count = count * 15 // 16
    return text


def draw_points(graph: Graph, show: Showing, drawn: frozenset[Citation]) -> str:
    numbers = {cited: f"p{number}" for number, cited in enumerate(graph.points) if cited in drawn}
    lines, last = ["flowchart RL"], 0
    for cited, node in numbers.items():
        if cited.round != last:
            lines += ["end"] if last else []
            lines.append(f'subgraph r{cited.round}["Round {cited.round}"]')
            last = cited.round
        text = shorten(clean_line(show(graph.points[cited])), DRAWN_TEXT)
        label = escape_mermaid(f"{format_id(cited, cited.seat)}: {text}")
        lines.append(f'{node}["{label}"]:::{graph.standing[cited]}')
    lines += ["end"] if last else []
    shown = [link for link in graph.links if link.source in numbers and link.target in numbers]
    lines += [f"{numbers[one.source]} {draw_arrow(one)} {numbers[one.target]}" for one in shown[:MOST_ARROWS]]
    left_out = len(graph.points) - len(numbers), len(graph.links) - min(len(shown), MOST_ARROWS)
    if any(left_out):
        lines.append(f"%% left out: {left_out[0]} points, {left_out[1]} links")
    return "\n".join([*lines, *_STYLES])


def draw_arrow(link: Link) -> str:
    """Named by its relation, and by who says so where that is not the debater."""
    name = link.relation.replace("_", " ") + (", says the analyst" if link.is_read else "")
    return f"{_ARROWS[link.relation]}|{name}|"


def escape_mermaid(text: str) -> str:
    """The text as numeric entities where it is more than words: nothing in it can end a label or begin a link."""
    return _MARKUP.sub(lambda found: f"#{ord(found[0])};", text)


def draw_graphml(graph: Graph, show: Showing) -> str:
    """GraphML with every point, what is known of it, and every link with its relation."""
    root = ET.Element("graphml", xmlns=GRAPHML)
    for field, kind in _NODE_FIELDS.items():
        ET.SubElement(root, "key", {"id": field, "for": "node", "attr.name": field, "attr.type": kind})
    for field in ("relation", "according_to"):
        ET.SubElement(root, "key", {"id": field, "for": "edge", "attr.name": field, "attr.type": "string"})
    parent = ET.SubElement(root, "graph", id="points", edgedefault="directed")
    numbers = {cited: f"p{number}" for number, cited in enumerate(graph.points)}
    for cited, point in graph.points.items():
        node = ET.SubElement(parent, "node", id=numbers[cited])
        values = (
            format_id(cited, cited.seat),
            cited.seat,
            graph.side(cited),
            str(cited.round),
            point.kind,
            graph.standing[cited],
            f"{graph.strengths[cited]:.4f}",
            show(point),
        )
        for field, value in zip(_NODE_FIELDS, values, strict=True):
            ET.SubElement(node, "data", key=field).text = _NO_XML.sub("\ufffd", value)
    for number, link in enumerate(graph.links):
        ends = {"source": numbers[link.source], "target": numbers[link.target]}
        edge = ET.SubElement(parent, "edge", {"id": f"e{number}", **ends})
        ET.SubElement(edge, "data", key="relation").text = link.relation
        ET.SubElement(edge, "data", key="according_to").text = "analyst" if link.is_read else "debater"
    return ET.tostring(root, encoding="unicode", xml_declaration=True)
