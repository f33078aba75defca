"""What a judgment consists of, besides its words."""

from typing import Annotated, Literal

from pydantic import Field

from server.debate.facts.config import Fact

ConsensusKind = Literal["unanimous", "supermajority", "majority", "plurality", "settled"]
"""How much of the weight asked is behind a verdict: all, 2/3, more than half, less. `settled`: the moderator's word."""


class Belief(Fact):
    """How likely a judge holds a position to be the right answer."""

    name: str  # a debater's; "" for none of the positions
    percent: Annotated[int, Field(ge=0, le=100)]


class Criterion(Fact):
    """Which position a judge found better by a criterion."""

    name: str
    better: str  # a debater's name; "" for neither


class Vote(Fact):
    """What the readings or the ballots of one voter come to."""

    judge: str
    winner: str  # a debater's name; "" for none
    margin: int
    abstains: str = ""  # why it does not count; "" when it does
    weight: str = "1"  # an exact fraction
    for_synthesis: bool = False  # no winner, but a position made of the others
