"""The graph of a debate's points: how they relate, and what other sides made of each."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from server.debate.arguments.citations import Link, could_read, find_citations
from server.debate.arguments.points import Point, list_points
from server.debate.facts.beliefs import Citation
from server.debate.facts.events import Spoke
from server.debate.state.debate import Debate
from server.debate.state.memo import once

ATTACKS = frozenset({"attacks", "undercuts"})
AGREES = frozenset({"supports", "repeats", "concedes", "same_as"})

Status = Literal["conceded", "answered", "unanswered", "late"]
"""What other sides did with a point: accept it, name it, or neither; `late`: none of them had a turn left for it."""


@dataclass(frozen=True)
class Graph:
    """The points of turns that were not retracted, and the links between them."""

    points: dict[Citation, Point]
    links: tuple[Link, ...]
    sides: dict[str, str]  # the stance of each debater, by name
    documents: dict[Citation, tuple[int, ...]]
    answerable: dict[Citation, frozenset[str]]  # the sides that had a turn after each point
    unknown: int  # unknown or retracted ids that points cite

    @cached_property
    def attackers(self) -> dict[Citation, list[Citation]]:
        attackers: dict[Citation, list[Citation]] = {point: [] for point in self.points}
        for link in self.links:
            if link.relation in ATTACKS and link.source not in attackers[link.target]:
                attackers[link.target].append(link.source)
        return attackers

    @cached_property
    def statuses(self) -> dict[Citation, Status]:
        relations: dict[Citation, set[str]] = {point: set() for point in self.points}
        for link in self.links:
            if self.side(link.source) != self.side(link.target):
                relations[link.target].add(link.relation)
        return {
            point: "conceded"
            if by_others and by_others <= AGREES
            else "answered"
            if by_others
            else "unanswered"
            if self.answerable[point] - {self.side(point)}
            else "late"
            for point, by_others in relations.items()
        }

    @cached_property
    def unanswered(self) -> tuple[Link, ...]:
        """The attacks on another side that no point of that side names."""
        answers = {(link.target, self.side(link.source)) for link in self.links}
        return tuple(
            link
            for link in self.links
            if self.is_attack_between_sides(link) and (link.source, self.side(link.target)) not in answers
        )

    @cached_property
    def open_attacks(self) -> tuple[Link, ...]:
        """Unanswered attacks after which the attacked side had a turn."""
        return tuple(link for link in self.unanswered if not self.is_late(link))

    @cached_property
    def late_attacks(self) -> tuple[Link, ...]:
        """Unanswered attacks after which the attacked side had no turn left."""
        return tuple(link for link in self.unanswered if self.is_late(link))

    def is_late(self, attack: Link) -> bool:
        return self.side(attack.target) not in self.answerable[attack.source]

    def is_attack_between_sides(self, link: Link) -> bool:
        return link.relation in ATTACKS and self.side(link.source) != self.side(link.target)

    def side(self, point: Citation) -> str:
        return self.sides[point.seat]

    def find_agreement(self) -> dict[Citation, list[Link]]:
        """Points that another side supports, repeats, concedes or claims too, and nobody attacks.

        Each with one link for every such debater: its own statement, or else the analyst's reading.
        """
        links_by_point: dict[Citation, dict[str, Link]] = {}
        for link in sorted(self.links, key=lambda link: link.is_read):
            if link.relation in AGREES and self.side(link.source) != self.side(link.target):
                links_by_point.setdefault(link.target, {}).setdefault(link.source.seat, link)
        return {
            point: list(links.values())
            for point, links in links_by_point.items()
            if not self.attackers[point]
        }

    def rank_cruxes(self) -> list[tuple[Citation, int]]:
        """The points that other sides attack, with how many points attack each, the most attacked first."""
        counts = {
            point: sum(self.side(attacker) != self.side(point) for attacker in attackers)
            for point, attackers in self.attackers.items()
        }
        return sorted(((p, count) for p, count in counts.items() if count), key=lambda pair: -pair[1])

    def count_attacks(self) -> dict[tuple[str, str], tuple[int, int]]:
        """(attacks between two sides, how many were never answered), for each pair with attacks, most first."""
        attacks, open_counts = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for link in self.links:
            if self.is_attack_between_sides(link):
                attacks[self.find_pair(link)] += 1
        for link in self.unanswered:
            open_counts[self.find_pair(link)] += 1
        return {pair: (count, open_counts[pair]) for pair, count in attacks.most_common()}

    def find_pair(self, link: Link) -> tuple[str, str]:
        """The two sides of a link, in the order declared."""
        ends = {self.side(link.source), self.side(link.target)}
        first, second = (side for side in dict.fromkeys(self.sides.values()) if side in ends)
        return first, second

    def find_shared_documents(self) -> dict[int, list[str]]:
        """The documents that several sides cite, each with the debaters who cite it."""
        citers: dict[int, dict[str, None]] = {}
        for point, numbers in self.documents.items():
            for number in numbers:
                citers.setdefault(number, {})[point.seat] = None
        return {
            number: [*names]
            for number, names in sorted(citers.items())
            if len({self.sides[name] for name in names}) > 1
        }


@once
def build_graph(debate: Debate) -> Graph:
    points = {name: point for name, point in list_points(debate).items() if debate.is_active(point.turn)}
    citations = {name: cited for name, cited in find_citations(debate).items() if name in points}
    links = [link for cited in citations.values() for link in cited.links]
    active = tuple(link for link in links if link.target in points)
    sides = {debater.name: debater.stance for debater in debate.setup.debaters}
    last_turns = find_last_turns(debate, sides)
    return Graph(
        points=points,
        links=active,
        sides=sides,
        documents={name: cited.documents for name, cited in citations.items() if cited.documents},
        answerable={
            point_id: frozenset(
                side
                for side, last in last_turns.items()
                if last is not point.turn and could_read(debate, last, point.turn)
            )
            for point_id, point in points.items()
        },
        unknown=sum(cited.unknown for cited in citations.values()) + len(links) - len(active),
    )


def find_last_turns(debate: Debate, sides: Mapping[str, str]) -> dict[str, Spoke]:
    """The last argument of each side that was not retracted, by stance."""
    rounds = range(1, debate.round + 1)
    turns = (turn for number in rounds for turn in debate.transcript_turns(number))
    return {sides[t.seat]: t for t in turns if t.act == "argument" and debate.is_active(t)}
