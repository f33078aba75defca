"""What is asked before a verdict counts: the same debate with the stances swapped."""

from typing import Annotated, Literal

from pydantic import Field

from server.debate.facts.beliefs import Belief
from server.debate.facts.fact import Count, Dollars, Fact

OpenedBecause = Literal["request", "decided"]
"""Somebody asked for it; or judges are about to decide between sides that different models argued."""

MirrorObstacle = Literal[
    "request",  # somebody concluded the debate
    "caller",  # the caller writes for a seat
    "code",  # the caller's code writes prompts
    "uninformative",  # the judges are too small for their votes to mean anything
    "budget",
    "failed",  # the mirror could not be held to its verdict
]
"""Why a mirror is not held, or does not count."""

DebateId = Annotated[str, Field(pattern="^[2-9a-hjkmnp-z]{12}$")]


class EscalationFact(Fact):
    """What all of these have in common: the round in which they were recorded."""

    round: Count


class MirrorOpened(EscalationFact):
    """The same debate with the stances swapped among the debaters is held, as a debate of its own."""

    kind: Literal["mirror_opened"] = "mirror_opened"
    debate_id: DebateId
    because: OpenedBecause


class MirrorReading(Fact):
    """One reading of a judge of the mirror. Names are those of the mirror: who argued there."""

    judge: str
    number: Annotated[int, Field(ge=1, le=2)]
    model: str  # that answered
    winner: str  # a debater's name; "" for none
    margin: Annotated[int, Field(ge=0, le=3)]
    beliefs: tuple[Belief, ...] = ()
    first: str  # whose position stood first
    for_synthesis: bool = False
    informative: bool = True


class Spent(Fact):
    """What another debate took for this one. Tokens as far as they were counted."""

    calls: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0
    cost_usd: Dollars = ""
    reused_turns: Count = 0  # those of other debates


class MirrorHeld(EscalationFact):
    """What the judges of the mirror found, as its record has it up to the entry with this hash."""

    kind: Literal["mirror_held"] = "mirror_held"
    debate_id: DebateId
    head: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    readings: tuple[MirrorReading, ...]
    spent: Spent = Spent()


class MirrorSkipped(EscalationFact):
    """No mirror counts: it was not opened, or not held to its verdict."""

    kind: Literal["mirror_skipped"] = "mirror_skipped"
    cause: MirrorObstacle
    reason: str
    spent: Spent = Spent()


EscalationEvent = MirrorOpened | MirrorHeld | MirrorSkipped
