"""What a set-up takes from the ledger of judges."""

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from server.debate.facts.fact import Count, Fact, SignedDecimal


class Standing(Fact):
    """The record of a model as a judge, and the weight of its votes that follows from it."""

    judge: str  # the model
    asked: Count  # items, in both orders
    consistent: Count  # with the same side in both
    right: Count
    wrong: Count
    weight: Annotated[str, Field(pattern=r"^\d{1,4}/100$")]
    is_proven: bool = False


class LedgerExtract(Fact):
    """What a debate uses of the ledger of judges, recorded at the start, so that a replay needs no ledger.

    The standings are of the models that may judge.
    """

    standings: tuple[Standing, ...] = ()  # of models with a record
    calibrated_items: Count = 0  # settled items that the calibration was learnt on; 0 where there are too few
    scale: SignedDecimal = "1"
    intercept: SignedDecimal = "0"

    def find_weight(self, model: str) -> Fraction | None:
        """The weight of a model's votes; None where it has no record."""
        return next(
            (Fraction(standing.weight) for standing in self.standings if standing.judge == model), None
        )

    def is_proven(self, model: str) -> bool:
        return any(standing.judge == model and standing.is_proven for standing in self.standings)
