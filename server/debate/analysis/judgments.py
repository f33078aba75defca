"""Judgments of items whose right answer is known: what one judge said about one item, in one reading or both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

BOTH_READINGS = 2

Role = Literal["judge", "debater", "advisor"]
"""A judge; a debater's model in a blind ballot, which counts only for the choice of teams; or an advisor, whose reading
1 is its own answer, and reading 2 what it advised after it had read the others."""

APART, AFTER = 1, 2
"""The readings of an advisor."""

Beliefs = Mapping[str, Fraction]
"""How likely each side is the right answer, in sum 1; "" for none of them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of an item: reading 1 in the order given, reading 2 with the sides swapped."""

    number: int
    choice: str  # "" for none
    belief: Fraction | None = None  # in the choice, 0 to 1; None where none was given
    first: str = ""  # the side that stood first; "" where unknown


@dataclass(frozen=True, slots=True)
class Judgment:
    """What one judge said about one item. `gold`: the side that turned out right, "" for none."""

    item: str
    judge: str
    gold: str
    readings: tuple[Reading, ...]  # one or two, in order
    family: str = ""  # who trained the judge; "" where its name says it
    topics: tuple[str, ...] = ()  # what the item is about, sorted
    role: Role = "judge"
    was_turned: bool = False  # its only reading was turned against other judges, who found the same

    @property
    def is_turned(self) -> bool:
        """Whether an order of reading would have shown: in its second reading, or against other judges."""
        return self.was_turned or len(self.readings) == BOTH_READINGS

    @property
    def vote(self) -> str:
        """The side that every reading names; "" where they differ or name none."""
        choices = {reading.choice for reading in self.readings}
        return choices.pop() if len(choices) == 1 else ""

    @property
    def is_consistent(self) -> bool:
        """Whether it named the same side however the order was turned."""
        return self.is_turned and bool(self.vote)

    @property
    def is_right(self) -> bool:
        return self.is_consistent and self.vote == self.gold

    @property
    def credit(self) -> int:
        """In halves: 2 for a right vote, 0 for a wrong one, 1 for none. Of an advisor what it answered by itself."""
        if self.role == "advisor":
            apart = self.find_choice(APART)
            return 2 * (apart == self.gold) if apart else 1
        return 2 * (self.vote == self.gold) if self.vote else 1

    def find_choice(self, number: int) -> str:
        """The side that a reading names; "" where there is none."""
        return next((reading.choice for reading in self.readings if reading.number == number), "")

    def compute_beliefs(self, sides: Iterable[str]) -> Beliefs | None:
        """The mean of the readings; each spreads the rest evenly over the sides not chosen. None without beliefs."""
        sides = tuple(sides)
        spreads = [
            spread_belief(sides, reading.choice, reading.belief)
            for reading in self.readings
            if reading.choice and reading.belief is not None
        ]
        if len(spreads) < len(self.readings):
            return None
        return {
            side: sum((beliefs[side] for beliefs in spreads), Fraction(0)) / len(spreads) for side in sides
        }


def spread_belief(sides: tuple[str, ...], choice: str, belief: Fraction) -> dict[str, Fraction]:
    """A belief in one side as beliefs in all sides."""
    other_count = len(sides) - 1
    return {side: belief if side == choice else (1 - belief) / other_count for side in sides}


def group_by_item(judgments: Iterable[Judgment]) -> dict[str, list[Judgment]]:
    items: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        items.setdefault(judgment.item, []).append(judgment)
    return items


def list_sides(judgments: Iterable[Judgment]) -> tuple[str, ...]:
    """The sides of an item that its judgments name: at least two, sorted."""
    names = {
        side
        for judgment in judgments
        for side in (judgment.gold, *(reading.choice for reading in judgment.readings))
    }
    names |= {reading.first for judgment in judgments for reading in judgment.readings}
    sides = sorted(names - {""})
    placeholders = ["(another side)", "(a second side)"]
    return (*sides, *placeholders[: max(0, 2 - len(sides))])
