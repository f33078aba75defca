"""Rules of consensus: cases counted by hand, and what has to hold for every vote."""

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.beliefs import RuleKind, VotingRule
from server.debate.votes.consensus import Finding, apply_rule, build_vote_count
from server.debate.votes.counting import SYNTHESIS, CountedVote, Silence

pytestmark = pytest.mark.requirement("D10")

POSITIONS = ("Ada", "Ben", "Cleo")
RULES = st.builds(
    VotingRule,
    kind=st.sampled_from(get_args(RuleKind)),
    of=st.sampled_from(("seats", "cast")),
    quorum=st.sampled_from(("1/3", "1/2", "1")),
)


def build_vote(side: str, weight: Fraction = Fraction(1), silence: Silence | None = None) -> CountedVote:
    return CountedVote("a voter", "v/x", side, weight=weight, silence=silence)


WEIGHTS = st.integers(1, 12).map(lambda n: Fraction(n, 4))
VOTES = st.lists(st.builds(build_vote, st.sampled_from(POSITIONS), WEIGHTS), min_size=1, max_size=9)


def cast(chosen: str) -> list[CountedVote]:
    """A letter for each seat: A, B or C, "-" for an abstention."""
    names = {name[0]: name for name in POSITIONS} | {"-": ""}
    return [build_vote(names[letter], silence=None if names[letter] else "abstained") for letter in chosen]


@pytest.mark.parametrize(
    ("kind", "threshold", "strict", "chosen", "is_reached"),
    [
        ("unanimous", "", False, "AAA", True),
        ("unanimous", "", False, "AA-", False),
        ("unanimous", "", False, "AAB", False),
        ("supermajority", "", False, "AAB", True),  # exactly 2/3
        ("supermajority", "2/3", True, "AAB", False),
        ("supermajority", "2/3", True, "AAAB", True),
        ("supermajority", "", False, "AA--", False),
        ("supermajority", "1", False, "AAA", True),
        ("supermajority", "1", True, "AAA", False),  # nothing is more than all
        ("supermajority", "1/2", False, "AB", False),  # each has it: a tie
        ("supermajority", "1/2", False, "A-", True),
        ("supermajority", "1/3", False, "ABC", False),
        ("majority", "", False, "AB", False),
        ("majority", "", False, "AAB", True),
        ("majority", "", False, "AABB", False),  # exactly 1/2
        ("majority", "", False, "AA--", False),
        ("majority", "", False, "AAA--", True),
        ("plurality", "", False, "A--", True),
        ("plurality", "", False, "AAB-C", True),
        ("plurality", "", False, "AABB", False),
        ("plurality", "", False, "--", False),
        ("none", "", False, "AAA", False),
    ],
)
def test_a_rule_is_reached_by_exact_shares_of_all_seats(
    kind: RuleKind, threshold: str, strict: bool, chosen: str, is_reached: bool
) -> None:
    rule = VotingRule(kind=kind, threshold=threshold, strict=strict)
    found = apply_rule(rule, cast(chosen))
    assert found.is_reached == is_reached
    assert not is_reached or found.ahead == "Ada"


@pytest.mark.parametrize(
    ("quorum", "chosen", "is_reached"),
    [("1/2", "AA--", True), ("1/2", "A---", False), ("1", "AAA-", False), ("1/2", "AAB-", True)],
)
def test_shares_of_the_votes_cast_need_a_quorum_of_all_seats(
    quorum: str, chosen: str, is_reached: bool
) -> None:
    rule = VotingRule(kind="majority", of="cast", quorum=quorum)
    found = apply_rule(rule, cast(chosen))
    assert found.is_reached == is_reached
    assert found.has_quorum == is_reached


def test_a_vote_without_weight_is_not_cast() -> None:
    votes = [build_vote("Ada", Fraction(0)), *cast("-")]
    assert apply_rule(VotingRule(kind="plurality"), votes) == Finding()


def test_a_position_made_of_the_others_can_be_agreed_on() -> None:
    votes = [build_vote(SYNTHESIS)] * 2
    assert apply_rule(VotingRule(kind="unanimous"), votes).ahead == SYNTHESIS


def test_a_count_has_every_seat_in_exactly_one_weight() -> None:
    silent = [
        build_vote("", Fraction(1, 3), silence=kind) for kind in ("unreadable", "inconsistent", "missing")
    ]
    votes = [*cast("AAB-"), *silent, build_vote(SYNTHESIS, Fraction(1, 2))]
    count = build_vote_count(VotingRule(kind="supermajority"), votes, POSITIONS, "Ada")
    assert {weight.seat: weight.weight for weight in count.weights} == {"Ada": "2", "Ben": "1", "*": "1/2"}
    silences = (count.abstained, count.unreadable, count.inconsistent, count.missing)
    assert silences == ("1", "1/3", "1/3", "1/3")
    assert (count.seats, count.cast, count.needed, count.share) == ("11/2", "7/2", "2/3", "4/11")
    usual = build_vote_count(None, votes, POSITIONS, "Ada")
    assert (usual.needed, usual.share) == ("", "4/11")
    cast_only = VotingRule(of="cast", quorum="1/2")
    assert build_vote_count(cast_only, votes, POSITIONS, "Ada").share == "4/7"
    assert build_vote_count(cast_only, cast("--"), POSITIONS, "").share == "0"


@given(RULES, VOTES, st.permutations(POSITIONS))
def test_positions_are_alike_to_every_rule(
    rule: VotingRule, votes: list[CountedVote], names: list[str]
) -> None:
    """Neutrality: with other names for the positions, declared in another order, the same position wins."""
    renamed = dict(zip(POSITIONS, names, strict=True)) | {"": ""}
    others = [replace(vote, side=renamed[vote.side]) for vote in votes]
    one, other = apply_rule(rule, votes), apply_rule(rule, others)
    assert replace(one, ahead=renamed[one.ahead]) == other


@given(RULES, VOTES, st.randoms(use_true_random=False))
def test_voters_are_alike_to_every_rule(rule: VotingRule, votes: list[CountedVote], random: Random) -> None:
    """Anonymity: the order of voters means nothing."""
    shuffled = list(votes)
    random.shuffle(shuffled)
    assert apply_rule(rule, shuffled) == apply_rule(rule, votes)


@given(RULES, VOTES, WEIGHTS)
def test_an_added_abstention_never_makes_a_consensus(
    rule: VotingRule, votes: list[CountedVote], weight: Fraction
) -> None:
    before = apply_rule(rule, votes)
    after = apply_rule(rule, [*votes, build_vote("", weight, silence="abstained")])
    assert after.is_reached <= before.is_reached
    assert after.ahead == before.ahead


@given(VOTES)
def test_a_stronger_consensus_is_also_every_weaker_one(votes: list[CountedVote]) -> None:
    kinds: tuple[RuleKind, ...] = ("unanimous", "supermajority", "majority", "plurality")
    reached = [apply_rule(VotingRule(kind=kind), votes).is_reached for kind in kinds]
    assert reached == sorted(reached)
