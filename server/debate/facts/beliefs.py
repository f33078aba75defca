"""What a judgment consists of, besides its words."""

from typing import Annotated

from pydantic import Field

from server.debate.facts.config import Fact


class Belief(Fact):
    """How likely a judge holds a position to be the right answer."""

    name: str  # a debater's; "" for none of the positions
    percent: Annotated[int, Field(ge=0, le=100)]


class Criterion(Fact):
    """Which position a judge found better by a criterion."""

    name: str
    better: str  # a debater's name; "" for neither
