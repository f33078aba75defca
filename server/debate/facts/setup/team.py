"""The choice of the models of a debate from candidates, as it was made when the debate was opened."""

from pydantic import Field

from server.debate.facts.fact import Count, ExactDecimal, Fact, SignedDecimal


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
