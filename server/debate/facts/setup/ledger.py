"""What a set-up takes from the ledger: the records of judges, and the choice of a team."""

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from server.debate.facts.fact import Count, ExactDecimal, Fact, SignedDecimal


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


class Candidate(Fact):
    """A model that could be chosen."""

    model: str
    draw: ExactDecimal = ""  # how often it is taken to be right; "" where no draws were made


class Team(Fact):
    """Which candidates debate and judge, and what that follows from: to replay it needs no ledger.

    A gain is what a model adds to the expected accuracy of those before it, less what its price takes off.
    """

    candidates: tuple[Candidate, ...]
    seated: tuple[str, ...] = ()  # models of debaters that the caller named, which count as chosen first
    chosen: tuple[str, ...]  # for the other debaters, in the order of the choice
    gains: tuple[SignedDecimal, ...]  # of those chosen
    judges: tuple[str, ...] = ()  # who judges, from the first to the last choice
    judge_gains: tuple[SignedDecimal, ...] = ()
    topic: str = ""
    diversity: ExactDecimal = Field("1", description="How much of what models have in common counts, 0 to 1")
    settled_items: Count = 0  # of the candidates together; counted no further than what is needed
    topic_answers: Count = 0  # of the candidates together, to items about the topic
