"""The graph of a debate's points: what they do to each other, what stands, and what was never answered."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from server.debate.arguments.citations import Link, could_read, find_citations
from server.debate.arguments.points import Point, list_points
from server.debate.arguments.semantics import Standing, compute_influence, compute_strengths, find_grounded
from server.debate.facts.beliefs import Citation
from server.debate.facts.events import Spoke
from server.debate.state.debate import Debate
from server.debate.state.memo import once

ATTACKS = frozenset({"attacks", "undercuts"})
AGREES = frozenset({"supports", "repeats", "concedes", "same_as"})


@dataclass(frozen=True)
class Graph:
    """The points of turns that were not retracted, and the links between them."""

    points: dict[Citation, Point]
    links: tuple[Link, ...]
    sides: dict[str, str]  # what each debater stands for, by name
    documents: dict[Citation, tuple[int, ...]]
    answerable: frozenset[Link]  # attacks on another side that this side had a turn to answer
    unknown: int  # ids of nothing, or of something retracted, that points cite

    @cached_property
    def attackers(self) -> dict[Citation, list[Citation]]:
        found: dict[Citation, list[Citation]] = {cited: [] for cited in self.points}
        for link in self.links:
            if link.relation in ATTACKS and link.source not in found[link.target]:
                found[link.target].append(link.source)
        return found

    @cached_property
    def standing(self) -> dict[Citation, Standing]:
        return find_grounded(self.attackers)

    @cached_property
    def strengths(self) -> dict[Citation, float]:
        return compute_strengths(self.attackers)

    @cached_property
    def unanswered(self) -> tuple[Link, ...]:
        """The attacks on another side whose point no point of that side names."""
        named = {(link.target, self.side(link.source)) for link in self.links}
        return tuple(
            link
            for link in self.links
            if self.is_attack_between_sides(link) and (link.source, self.side(link.target)) not in named
        )

    @cached_property
    def open_attacks(self) -> tuple[Link, ...]:
        """Those that could have been answered."""
        return tuple(link for link in self.unanswered if link in self.answerable)

    @cached_property
    def late_attacks(self) -> tuple[Link, ...]:
        """Those after which that side had no turn left."""
        return tuple(link for link in self.unanswered if link not in self.answerable)

    def is_attack_between_sides(self, link: Link) -> bool:
        return link.relation in ATTACKS and self.side(link.source) != self.side(link.target)

    def side(self, cited: Citation) -> str:
        return self.sides[cited.seat]

    def find_agreement(self) -> dict[Citation, list[Link]]:
        """Points that another side supports, repeats, concedes or claims too, and nobody attacks.

        Each with a link of every debater who does: one that it stated, before those that the analyst read.
        """
        found: dict[Citation, dict[str, Link]] = {}
        for link in sorted(self.links, key=lambda link: link.is_read):
            if link.relation in AGREES and self.side(link.source) != self.side(link.target):
                found.setdefault(link.target, {}).setdefault(link.source.seat, link)
        return {cited: list(by.values()) for cited, by in found.items() if not self.attackers[cited]}

    def find_cruxes(self, leader: str) -> list[tuple[Citation, float]]:
        """The points that another side attacks, with their influence on the lead of one side's case, the largest first.

        A case is the sum of the strengths of a side's points, the lead what it has over the strongest other one.
        """
        disputed = [
            cited
            for cited, by in self.attackers.items()
            if any(self.side(one) != self.side(cited) for one in by)
        ]
        influence = self.compute_influence(leader)
        return sorted(((cited, influence[cited]) for cited in disputed), key=lambda pair: -abs(pair[1]))

    def compute_influence(self, leader: str) -> dict[Citation, float]:
        """The influence of each point on the lead of the side that this debater is of."""
        own, rival = self.sides[leader], self.find_rival(leader)
        signs = {cited: (self.side(cited) == own) - (self.side(cited) == rival) for cited in self.points}
        return compute_influence(self.attackers, self.strengths, signs)

    def find_rival(self, leader: str) -> str:
        """The strongest other side; "" where there is none."""
        cases = {side: value for side, value in self.cases.items() if side != self.sides[leader]}
        return max(cases, key=lambda side: cases[side], default="")

    @cached_property
    def cases(self) -> dict[str, float]:
        """The sum of the strengths of each side's points, by what it stands for."""
        found = dict.fromkeys(self.sides.values(), 0.0)
        for cited, strength in self.strengths.items():
            found[self.side(cited)] += strength
        return found

    def count_attacks(self) -> dict[tuple[str, str], tuple[int, int]]:
        """(attacks between two sides, how many of them are open), for each pair of sides that attacks, most first."""
        attacks, left = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for link in self.links:
            if self.is_attack_between_sides(link):
                attacks[self.find_pair(link)] += 1
        for link in self.open_attacks:
            left[self.find_pair(link)] += 1
        return {pair: (count, left[pair]) for pair, count in attacks.most_common()}

    def find_pair(self, link: Link) -> tuple[str, str]:
        """The two sides of a link, in the order declared."""
        ends = {self.side(link.source), self.side(link.target)}
        one, other = (side for side in self.cases if side in ends)
        return one, other

    def find_shared_documents(self) -> dict[int, list[str]]:
        """The documents that points of several sides rest on, each with the debaters who cite it."""
        cited: dict[int, dict[str, None]] = {}
        for point, numbers in self.documents.items():
            for number in numbers:
                cited.setdefault(number, {})[point.seat] = None
        shared = {number: list(names) for number, names in sorted(cited.items())}
        return {number: names for number, names in shared.items() if len({self.sides[n] for n in names}) > 1}


@once
def build_graph(debate: Debate) -> Graph:
    points = {cited: point for cited, point in list_points(debate).items() if debate.is_active(point.turn)}
    citations = {cited: found for cited, found in find_citations(debate).items() if cited in points}
    links = [link for found in citations.values() for link in found.links]
    active = tuple(link for link in links if link.target in points)
    sides = {debater.name: debater.stance for debater in debate.setup.debaters}
    last = find_last_turns(debate, sides)
    attacks = (link for link in active if link.relation in ATTACKS and sides[link.target.seat] in last)
    return Graph(
        points=points,
        links=active,
        sides=sides,
        documents={cited: found.documents for cited, found in citations.items() if found.documents},
        answerable=frozenset(
            link
            for link in attacks
            if could_read(debate, last[sides[link.target.seat]], points[link.source].turn)
        ),
        unknown=sum(found.unknown for found in citations.values()) + len(links) - len(active),
    )


def find_last_turns(debate: Debate, sides: Mapping[str, str]) -> dict[str, Spoke]:
    """The last argument of each side that was not retracted, by what it stands for."""
    rounds = range(1, debate.round + 1)
    turns = (turn for number in rounds for turn in debate.transcript_turns(number))
    return {sides[t.seat]: t for t in turns if t.act == "argument" and debate.is_active(t)}
