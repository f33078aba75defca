"""What a judgment or a ballot consists of, besides its words; the rule of a vote and its count. Fractions are exact."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from server.debate.facts.fact import Count, Fact

ConsensusKind = Literal["unanimous", "supermajority", "majority", "plurality", "settled"]
"""How much of the weight asked is behind a verdict: all, 2/3, more than half, less. `settled`: the moderator's word."""

Wave = Literal["blind", "round", "final", "vote", "sample"]
"""When a ballot is asked for: before the talk, after a round of it, after the talk; as the vote of a phase; or, as if
nobody had spoken, for the baseline."""

BLIND_WAVES: frozenset[Wave] = frozenset({"blind", "sample"})
"""Whose voters have read nothing of the talk."""

SHARE_UNITS = 10_000
"""A share is a whole number of these, so that shares sum to exactly one."""


ShareText = Annotated[str, Field(pattern=r"^(0\.[0-9]{4}|1\.0000)$")]
"""A part of one, to four digits."""

RuleKind = Literal["unanimous", "supermajority", "majority", "plurality", "none"]
"""How much makes a consensus: all; the threshold, 2/3 by default; more than half; more than any other has; nothing."""

Denominator = Literal["seats", "cast"]
FractionShare = Annotated[str, Field(pattern=r"^(1|[1-9][0-9]{0,9}/[1-9][0-9]{0,9})$")]


class Weight(Fact):
    """How much a voter's vote counts: an exact fraction, such as "3/2"."""

    seat: str
    weight: str


class VotingRule(Fact):
    """When votes make a consensus."""

    kind: RuleKind = "majority"
    threshold: FractionShare | Literal[""] = ""  # for a supermajority; "" for 2/3
    strict: bool = False  # more than the threshold; otherwise that much is enough
    of: Denominator = "seats"  # shares are of the weight of all seats asked, or of the votes cast
    quorum: FractionShare | Literal[""] = ""  # of all seats, what has to be cast, where `of` is "cast"


class VoteCount(Fact):
    """The weights of a vote: each seat that was asked is in exactly one of them."""

    weights: tuple[Weight, ...]  # by first choice: a debater's name, "*" for a position made of the others
    abstained: str
    unreadable: str  # no usable answer, or of a model too small for it to mean anything
    inconsistent: str  # another choice when positions, labels and order were turned
    missing: str
    seats: str  # of all who were asked
    cast: str
    needed: str  # the share that the rule asks for; "" where it asks for none
    share: str  # what the position ahead has of it


class Agreed(Fact):
    """Votes made a consensus by the rule in force: that of a verdict, or of a block of phases held until one."""

    kind: Literal["agreed"] = "agreed"
    round: int
    consensus: ConsensusKind  # how much of all seats asked is behind it, whatever the rule needs
    winner: str  # a debater's name; "" for a position made of the others, or the moderator's decision
    count: VoteCount | None = None  # None where the moderator settled it, without votes


class Belief(Fact):
    """How likely a judge holds a position to be the right answer."""

    name: str  # a debater's; "" for none of the positions
    percent: Annotated[int, Field(ge=0, le=100)]


class Share(Fact):
    """How likely a voter holds a position to be the right answer: a part of one, to four digits."""

    name: str  # a debater's; "" for none of the positions
    share: ShareText

    @property
    def value(self) -> Fraction:
        return Fraction(self.share)


def check_shares(shares: tuple[Share, ...]) -> tuple[Share, ...]:
    """The shares as they are. Raises ValueError where a name stands twice or they do not sum to exactly one."""
    if len({share.name for share in shares}) < len(shares):
        raise ValueError("a position has two shares")
    if sum(share.value for share in shares) != 1:
        raise ValueError("the shares do not sum to one")
    return shares


Shares = Annotated[tuple[Share, ...], AfterValidator(check_shares)]


class Citation(Fact):
    """The id of a point: who made it, in which round, and the how manieth of that debater there it is.

    Without a point: what that debater said in that round.
    """

    seat: str
    round: Count
    point: Count = 0


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


def apportion(amounts: Mapping[str, Fraction], units: int) -> dict[str, int]:
    """Whole units for amounts in proportion, together exactly `units`, by the largest remainder; ties in order.

    The amounts are not negative, and one of them is more than zero.
    """
    total = sum(amounts.values())
    exact = {name: amount * units / total for name, amount in amounts.items()}
    parts = {name: int(share) for name, share in exact.items()}
    missing = units - sum(parts.values())
    for name in sorted(exact, key=lambda name: parts[name] - exact[name])[:missing]:
        parts[name] += 1
    return parts


def build_shares(amounts: Mapping[str, Fraction]) -> tuple[Share, ...]:
    """Shares in proportion to amounts, of which one is more than zero."""
    parts = apportion(amounts, SHARE_UNITS)
    return tuple(
        Share(name=name, share=format_share(Fraction(part, SHARE_UNITS))) for name, part in parts.items()
    )


def format_share(value: Fraction) -> str:
    """A part of one, rounded to four digits: "0.7000"."""
    units = round(value * SHARE_UNITS)
    return f"{units // SHARE_UNITS}.{units % SHARE_UNITS:04}"


def find_choice(shares: Sequence[Share]) -> str:
    """The position that is the most likely one by itself; "" where that is none of them, or two are alike."""
    highest = max(share.value for share in shares)
    leaders = [share.name for share in shares if share.value == highest]
    return leaders[0] if len(leaders) == 1 else ""


class Converged(Fact):
    """The ballots after a round say that the talk need not go on."""

    kind: Literal["converged"] = "converged"
    round: Count
    why: Literal["unmoved", "sure", "alike"]
    """Beliefs moved little and nobody names anything new; they are high and firm; or all hold the same, and alike."""
    movement: ShareText | Literal[""] = ""  # the largest of a voter since its ballot before; "" where unknown
    belief: ShareText  # in the position that leads, pooled over the voters
    leader: str  # a debater's name; "" for none of the positions
    by: Literal["", "embeddings", "analyst"] = ""  # what says that they are alike
    similarity: ShareText | Literal[""] = ""  # of the two positions that differ most, where it was measured


class Gap(Fact):
    """What debaters hold in private against what they say they hold."""

    disbelief: ShareText  # in private, in the position that one holds in public; the mean
    apart: Count  # debaters who choose another position in private
    debaters: Count  # who said what they hold, and had a ballot


class Effect(Fact):
    """What the ballots after a round say that a challenge changed."""

    movement: ShareText  # the largest of a voter since its ballot before
    changed: Count  # voters with another choice than before
    new_points: Count  # voters who name a new point
    voters: Count


class Alerted(Fact):
    """After a round of talk agreement may be hollow, or a challenge was answered in it."""

    kind: Literal["alerted"] = "alerted"
    round: Count
    gap: Gap | None = None  # None where it is too small to mention
    challenged: bool = False  # the next round has a challenge to answer
    effect: Effect | None = None  # of the challenge of this round
