"""What was asked and what came back: all that sides, count, report and prompts are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from server.debate.facts.advice import (
    MINE,
    Advice,
    Advised,
    Checked,
    Correction,
    Exchanged,
    Opinion,
    Reported,
    Reviewed,
)
from server.debate.facts.setup.options import EffortLevel


@dataclass(frozen=True)
class Panel:
    """Whatever is missing failed, was retracted, or has not come yet. Every mapping is by seat."""

    question: str
    advisors: tuple[str, ...]  # they answer
    reviewers: tuple[str, ...]  # they review: advisors, or judges in their place
    models: Mapping[str, str]
    labels: tuple[str, ...]  # as many as there are answers, and as there are reviewers
    level: EffortLevel = "standard"
    readings: int = 1  # of all answers by each reviewer
    families: Mapping[str, str] = field(default_factory=dict)  # who trained the model of a seat
    documents: tuple[str, ...] = ()
    reads_digests: bool = False  # of documents that are too long to be shown whole
    mine: Opinion | None = None  # the caller's own answer
    advised: Mapping[str, Advised] = field(default_factory=dict)
    reviewed: Mapping[str, tuple[Reviewed, ...]] = field(default_factory=dict)  # in the order of the readings
    exchanged: tuple[Mapping[str, Exchanged], ...] = ()  # one after the other
    reports: tuple[Reported, ...] = ()
    check: Checked | None = None

    @property
    def answers(self) -> dict[str, Opinion]:
        """The answers to be reviewed, in the order of the seats, the caller's last."""
        given: dict[str, Opinion] = {
            seat: self.advised[seat] for seat in self.advisors if seat in self.advised
        }
        return given | ({MINE: self.mine} if self.mine else {})

    @property
    def readers(self) -> tuple[str, ...]:
        """The reviewers of whom there is a usable review."""
        return tuple(seat for seat in self.reviewers if self.reviewed.get(seat))

    @property
    def reviews(self) -> tuple[Reviewed, ...]:
        """The usable reviews, by reviewer."""
        return tuple(review for seat in self.readers for review in self.reviewed[seat])

    @property
    def errors(self) -> tuple[Correction, ...]:
        """What they find wrong."""
        return tuple(error for review in self.reviews for error in review.errors)

    @property
    def has_judges(self) -> bool:
        """Whether others than the advisors review."""
        return not set(self.reviewers) <= set(self.advisors)

    @property
    def is_quick(self) -> bool:
        return self.level == "quick"

    @property
    def is_reviewed_once(self) -> bool:
        """Whether there is one review, whose author looks at everything and can take no side alone."""
        return len(self.reviewers) * self.readings == 1

    @property
    def voters(self) -> tuple[str, ...]:
        return self.reviewers if self.has_judges else self.advisors

    @property
    def before_exchange(self) -> Self:
        """The panel as those who argue at the same time see it: without what others say meanwhile."""
        return replace(self, exchanged=self.exchanged[:-1])

    def find_exchange(self, seat: str) -> Exchanged | None:
        """The last word of a reviewer in an exchange."""
        return next((said[seat] for said in reversed(self.exchanged) if seat in said), None)

    @property
    def last_exchanges(self) -> tuple[Exchanged, ...]:
        """The last word of each reader who argued."""
        return tuple(said for seat in self.readers if (said := self.find_exchange(seat)))

    def find_last_advice(self, seat: str) -> Advice | None:
        """What a seat advises in the end, by its review or else by its own answer."""
        return self.find_advice(seat) if seat in self.readers else self.advised.get(seat)

    def find_advice(self, seat: str) -> Advice:
        """What a reviewer advises in the end: its review, with what it changed in the exchange.

        Who was moved has left its value behind; who was not need not repeat it.
        """
        review, said = self.reviewed[seat][0], self.find_exchange(seat)
        if said is None:
            return review
        value = said.value or ("" if said.moved else review.value)
        changes = {"recommendation": said.recommendation, "probability": said.probability, "value": value}
        return review.model_copy(update=changes)


def name_answer(panel: Panel, seat: str) -> str:
    """The id of an answer: A1 for that of the first advisor. The caller's own comes after all."""
    return f"A{(*panel.advisors, MINE).index(seat) + 1}"


def name_review(panel: Panel, seat: str, reading: int = 1) -> str:
    """The id of a review: R1 for the first reviewer's; second readings come after all first ones."""
    return f"R{panel.reviewers.index(seat) + 1 + (reading - 1) * len(panel.reviewers)}"


def name_exchange(panel: Panel, seat: str, number: int = 0) -> str:
    """The id of what a reviewer wrote in an exchange: by default in the last one."""
    number = number or max(n for n, said in enumerate(panel.exchanged, start=1) if seat in said)
    return f"E{panel.reviewers.index(seat) + 1 + (number - 1) * len(panel.reviewers)}"


CHECK = "C1"
"""The id of the check."""


def list_answer_ids(panel: Panel) -> dict[str, str]:
    """Whose answer each id names, also one that never came or was retracted."""
    return {name_answer(panel, seat): seat for seat in (*panel.advisors, MINE)}


def list_reviewer_ids(panel: Panel) -> dict[str, str]:
    """Whose review or exchange each id names, in the same way."""
    exchanges = range(1, len(panel.exchanged) + 1)
    ids = {name_review(panel, seat, reading): seat for seat in panel.reviewers for reading in (1, 2)}
    return ids | {
        name_exchange(panel, seat, number): seat for seat in panel.reviewers for number in exchanges
    }
