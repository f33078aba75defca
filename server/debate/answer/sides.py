"""Which answers come to the same, which side each reviewer is on, and what an exchange changes in that.

A side is a class of answers, under the seat of its first answer, or "own" advice of a reviewer: a combination, or
something else. Own advice of two is never taken for the same unasked. No result depends on the order of seats.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from server.debate.answer.panel import Panel
from server.debate.facts.advice import Exchanged, Reviewed

OWN = "*"
"""Stands before the reviewer whose own advice a side is."""

WIDEST_CLASS = 15
"""Percentages that answers of one class may be apart."""

_PERCENT = re.compile("\\s*(\\d+(?:[.,\u066b]\\d+)?)\\s*[%\uff05\u066a]\\s*")


@dataclass(frozen=True, slots=True)
class Sides:
    """`blind`: the class of each answer. `held`: the side of each reviewer, "" where its readings differ."""

    blind: Mapping[str, str]
    held: Mapping[str, str]

    @property
    def differ(self) -> bool:
        """Whether there is something to argue about: more than one side, each of them somebody's."""
        return len({*filter(None, self.held.values())}) > 1

    @property
    def moved(self) -> tuple[str, ...]:
        """The seats whose own answer was of another class than the side that they are on in the end."""
        return tuple(seat for seat, side in self.held.items() if side and self.blind.get(seat, side) != side)


def tell_side(side: str) -> str:
    """A side in words: whose answer, or whose own advice, it is."""
    seat = side.removeprefix(OWN)
    return f"the {'answer' if seat == side else 'advice'} of {seat}"


def find_sides(panel: Panel, exchanges: int | None = None) -> Sides:
    """The sides after so many exchanges: by default after all."""
    classes = find_classes(panel)
    held = {seat: find_review_side(panel, seat, classes) for seat in panel.readers}
    sides = Sides(classes, held)
    for exchange in panel.exchanged[:exchanges]:
        sides = apply_exchange(panel, sides, exchange)
    return sides


def find_classes(panel: Panel) -> dict[str, str]:
    """The class of each answer: two are one where more than half of the readings put them together, transitively.

    A class with percentages too far apart falls apart into its answers.
    """
    readings = [review.groups for review in panel.reviews]
    pairs = {
        frozenset((one, other))
        for one, other in combinations(panel.answers, 2)
        if 2 * sum(any({one, other} <= {*group} for group in groups) for groups in readings) > len(readings)
    }
    values = {seat: read_share(answer.value) for seat, answer in panel.answers.items()}
    classes: dict[str, str] = {}
    for group in connect([*panel.answers], pairs):
        shares = [share for seat in group if (share := values[seat]) is not None]
        is_one = not shares or max(shares) - min(shares) <= WIDEST_CLASS
        classes |= {seat: group[0] if is_one else seat for seat in group}
    return classes


def is_near(one: str, other: str) -> bool:
    """Whether two values may be the same advice: always, unless both are percentages."""
    shares = (read_share(one), read_share(other))
    return shares[0] is None or shares[1] is None or abs(shares[0] - shares[1]) <= WIDEST_CLASS


def read_share(value: str) -> float | None:
    """A percentage that is all of a value; None for anything else."""
    found = _PERCENT.fullmatch(value)
    return float(re.sub("[,\u066b]", ".", found[1])) if found else None


def connect(nodes: list[str], pairs: set[frozenset[str]]) -> list[list[str]]:
    """The nodes in groups that hang together by pairs, in their order."""
    groups: list[list[str]] = []
    for node in nodes:
        joined = [group for group in groups if any(frozenset((node, other)) in pairs for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append(sorted([node, *(other for group in joined for other in group)], key=nodes.index))
    return sorted(groups, key=lambda group: nodes.index(group[0]))


def find_review_side(panel: Panel, seat: str, classes: Mapping[str, str]) -> str:
    """The class that a reviewer follows, if it is exactly one; else its own. "" where its readings differ.

    An answer that was retracted since stands for those that the reviewer found the same. Who gives a percentage far
    from that of an answer does not follow it.
    """
    followed = [
        {
            classes[answer]
            for answer in list_followed(review, classes)
            if answer in classes and is_near(review.value, panel.answers[answer].value)
        }
        for review in panel.reviewed[seat]
    ]
    sides = {next(iter(one)) if len(one) == 1 else OWN + seat for one in followed}
    return sides.pop() if len(sides) == 1 else ""


def list_followed(review: Reviewed, classes: Mapping[str, str]) -> Sequence[str]:
    if not classes.keys().isdisjoint(review.follows):
        return review.follows
    return [answer for group in review.groups if not {*group}.isdisjoint(review.follows) for answer in group]


def apply_exchange(panel: Panel, before: Sides, exchange: Mapping[str, Exchanged]) -> Sides:
    """The sides after an exchange.

    Who was moved stands on the side of those whose advice it now calls the same, if that is one; else on its own.
    Then two sides are one if all who hold either, unmoved, say so of all who hold the other. Three are joined only if
    each two of them are.
    """
    said = {seat: one for seat, one in exchange.items() if before.held.get(seat)}
    held = dict(before.held)
    for seat, one in said.items():
        if one.moved:
            sides = {*filter(None, (before.held.get(other, "") for other in one.same_as))}
            held[seat] = sides.pop() if len(sides) == 1 else OWN + seat
    holders: dict[str, list[str]] = {}
    for seat, side in before.held.items():
        if side and not (seat in said and said[seat].moved):
            holders.setdefault(side, []).append(seat)
    pairs = {
        frozenset((one, other))
        for one, other in combinations(holders, 2)
        if all(agree(said, here, there) for here in holders[one] for there in holders[other])
    }
    first = [*panel.answers, *(OWN + seat for seat in panel.reviewers)]
    names: dict[str, str] = {}
    for group in connect(sorted(holders, key=first.index), pairs):
        if all(frozenset(pair) in pairs for pair in combinations(group, 2)):
            names |= dict.fromkeys(group, group[0])
    return Sides(
        {seat: names.get(side, side) for seat, side in before.blind.items()},
        {seat: names.get(side, side) for seat, side in held.items()},
    )


def agree(said: Mapping[str, Exchanged], one: str, other: str) -> bool:
    """Whether two reviewers say of each other that they advise the same."""
    return all(seat in said and named in said[seat].same_as for seat, named in ((one, other), (other, one)))
