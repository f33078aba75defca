"""Judgments of items whose right answer is known: what one judge said of one item, in one reading or both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

BOTH_READINGS = 2

Role = Literal["judge", "debater"]
"""Who said it: a judge, or a debater's model in a blind ballot, which counts for the choice of teams alone."""

Beliefs = Mapping[str, Fraction]
"""How likely each side is the right answer, together 1; "" for none of them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of an item: reading 1 in the order given, 2 with the sides turned."""

    number: int
    choice: str  # "" for none
    belief: Fraction | None = None  # in the choice, 0 to 1; None where none was given
    first: str = ""  # the side that stood first; "" where unknown


@dataclass(frozen=True, slots=True)
class Judgment:
    """What one judge said of one item. `gold`: the side that turned out right, "" where none did."""

    item: str
    judge: str
    gold: str
    readings: tuple[Reading, ...]  # one or two, in order
    family: str = ""  # who trained the judge; "" where its name says it
    topics: tuple[str, ...] = ()  # what the item is about, sorted
    role: Role = "judge"

    @property
    def is_asked_twice(self) -> bool:
        return len(self.readings) == BOTH_READINGS

    @property
    def vote(self) -> str:
        """The side that every reading names; "" where they differ or name none."""
        choices = {reading.choice for reading in self.readings}
        return choices.pop() if len(choices) == 1 else ""

    @property
    def is_consistent(self) -> bool:
        """Whether both readings name the same side."""
        return self.is_asked_twice and bool(self.vote)

    @property
    def is_right(self) -> bool:
        return self.is_consistent and self.vote == self.gold

    @property
    def credit(self) -> int:
        """In halves: 2 for a right vote, 0 for a wrong one, 1 for none."""
        return 2 * (self.vote == self.gold) if self.vote else 1

    def compute_beliefs(self, sides: Iterable[str]) -> Beliefs | None:
        """The mean of the readings, what is not in a choice spread over the other sides; None without beliefs."""
        sides = tuple(sides)
        told = [
            spread_belief(sides, reading.choice, reading.belief)
            for reading in self.readings
            if reading.choice and reading.belief is not None
        ]
        if len(told) < len(self.readings):
            return None
        return {side: sum((one[side] for one in told), Fraction(0)) / len(told) for side in sides}


def spread_belief(sides: tuple[str, ...], choice: str, belief: Fraction) -> dict[str, Fraction]:
    """A belief in one side as beliefs in all of them."""
    others = len(sides) - 1
    return {side: belief if side == choice else (1 - belief) / others for side in sides}


def group_by_item(judgments: Iterable[Judgment]) -> dict[str, list[Judgment]]:
    items: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        items.setdefault(judgment.item, []).append(judgment)
    return items


def list_sides(judgments: Iterable[Judgment]) -> tuple[str, ...]:
    """The sides of an item, as far as its judgments name them: at least two, sorted."""
    named = {side for one in judgments for side in (one.gold, *(reading.choice for reading in one.readings))}
    named |= {reading.first for one in judgments for reading in one.readings}
    sides = sorted(named - {""})
    unnamed = ["(another side)", "(a second side)"]
    return (*sides, *unnamed[: max(0, 2 - len(sides))])
