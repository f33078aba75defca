"""The rules of consensus: what share of the weight each needs, and its words. A new one has its row here."""

from fractions import Fraction
from typing import Literal, NamedTuple

from server.debate.facts.beliefs import ConsensusKind, RuleKind, VotingRule


class ConsensusRule(NamedTuple):
    share: Fraction | None  # of the weight, that the position ahead needs; None: nobody wins by it
    phrase: str  # `{of}`: of which votes; `{share}`: the share of a supermajority
    is_strict: bool = False  # more than the share; otherwise that much is enough

    def is_met(self, share: Fraction, threshold: str = "", *, is_strict: bool = False) -> bool:
        """Whether a share is enough. `threshold` replaces the share of the rule; `is_strict`: it must be exceeded."""
        if self.share is None:
            return False
        needed_share = Fraction(threshold or self.share)
        return share > needed_share if is_strict or self.is_strict else share >= needed_share


RULES: dict[RuleKind, ConsensusRule] = {
    "unanimous": ConsensusRule(Fraction(1), "unanimity of {of}"),
    "supermajority": ConsensusRule(Fraction(2, 3), "a supermajority, {share} of {of}"),
    "majority": ConsensusRule(Fraction(1, 2), "a majority, more than 1/2 of {of}", is_strict=True),
    "plurality": ConsensusRule(Fraction(0), "a plurality, more than for any other"),
    "none": ConsensusRule(None, "none: votes are counted, and nobody wins by them"),
}
SHARES: tuple[Literal["unanimous", "supermajority", "majority"], ...] = (
    "unanimous",
    "supermajority",
    "majority",
)
"""The kinds that are defined by a share, the strongest first."""


def is_enough(rule: VotingRule, share: Fraction) -> bool:
    return RULES[rule.kind].is_met(share, rule.threshold, is_strict=rule.strict)


def describe_needed_share(rule: VotingRule) -> str:
    """The share that a rule needs, as text; "" where it needs none."""
    return rule.threshold or str(RULES[rule.kind].share or "")


def classify_share(share: Fraction) -> ConsensusKind:
    """The strongest kind of consensus that a share of all seats asked is."""
    return next((kind for kind in SHARES if RULES[kind].is_met(share)), "plurality")


def describe_rule(rule: VotingRule) -> str:
    """The rule in a phrase: "a supermajority, 2/3 or more of all seats asked"."""
    share = (
        f"more than {describe_needed_share(rule)}"
        if rule.strict
        else f"{describe_needed_share(rule)} or more"
    )
    of = "the votes cast" if rule.of == "cast" else "all seats asked"
    quorum = f", of which {rule.quorum} of all seats have to be cast" if rule.of == "cast" else ""
    conditions = quorum if RULES[rule.kind].share is not None else ""
    return RULES[rule.kind].phrase.format(of=of, share=share) + conditions
