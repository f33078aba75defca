"""Rules of consensus: cases counted by hand, what has to hold for every vote, and the same winners as pref_voting."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.beliefs import RuleKind, VotingMethod, VotingRule
from server.debate.votes import consensus
from server.debate.votes.voting import METHODS, SYNTHESIS, CastVote, Finding, apply_rule, build_count

pytestmark = pytest.mark.requirement("D10")

POSITIONS = ("Ada", "Ben", "Cleo")
RANKED: tuple[VotingMethod, ...] = ("borda", "schulze", "instant_runoff")

RULES = st.builds(
    VotingRule,
    kind=st.sampled_from(("unanimous", "majority", "plurality", "none", "supermajority")),
    of=st.sampled_from(("seats", "cast")),
    quorum=st.sampled_from(("1/3", "1/2", "1")),
    method=st.sampled_from(("choice", *RANKED)),
)
WEIGHTS = st.integers(1, 12).map(lambda n: Fraction(n, 4))


def build_vote(scores: Sequence[int], weight: Fraction) -> CastVote:
    """A vote for the position that is highest by itself; otherwise an abstention."""
    ranks = {name: Fraction(score) for name, score in zip(POSITIONS, scores, strict=True)}
    best = [name for name in POSITIONS if ranks[name] == max(ranks.values())]
    if len(best) > 1:
        return CastVote("", weight, silence="abstained")
    return CastVote(best[0], weight, ranks)


VOTES = st.lists(st.builds(build_vote, st.tuples(*[st.integers(0, 4)] * 3), WEIGHTS), min_size=1, max_size=9)


def cast(chosen: str) -> list[CastVote]:
    """A letter for each seat: A, B or C, "-" for an abstention."""
    names = {name[0]: name for name in POSITIONS} | {"-": ""}
    return [CastVote(names[letter], silence=None if names[letter] else "abstained") for letter in chosen]


def rank(*orders: str) -> list[CastVote]:
    """Orders of letters, the best first, such as "5 ABC"; a number says of how many."""
    votes = []
    for order in orders:
        number, letters = order.split()
        names = [next(name for name in POSITIONS if name[0] == letter) for letter in letters]
        ranks = {name: Fraction(-place) for place, name in enumerate(names)}
        votes += [CastVote(names[0], ranks=ranks)] * int(number)
    return votes


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
    found = apply_rule(rule, cast(chosen), POSITIONS)
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
    found = apply_rule(rule, cast(chosen), POSITIONS)
    assert found.is_reached == is_reached
    assert found.has_quorum == is_reached


def test_the_consensus_is_named_by_all_seats_whatever_the_rule_counts() -> None:
    rule = VotingRule(kind="unanimous", of="cast", quorum="1/3")
    found = apply_rule(rule, cast("AA--"), POSITIONS)
    assert (found.is_reached, found.share) == (True, Fraction(1))
    assert found.consensus == "plurality"


@pytest.mark.parametrize(
    ("votes", "ahead"),
    [
        # Most first places, most points, the strongest paths, and the run-off find others.
        (
            rank("4 ABC", "3 BCA", "2 CBA"),
            {"choice": "Ada", "borda": "Ben", "schulze": "Ben", "instant_runoff": "Ben"},
        ),
        (
            rank("5 ABC", "4 BCA"),
            {"choice": "Ada", "borda": "Ben", "schulze": "Ada", "instant_runoff": "Ada"},
        ),
        (rank("1 ABC", "1 BCA", "1 CAB"), {"choice": "", "borda": "", "schulze": "", "instant_runoff": ""}),
        (
            rank("3 ABC", "2 BCA", "2 CAB"),
            {"choice": "Ada", "borda": "Ada", "schulze": "Ada", "instant_runoff": "Ada"},
        ),
        ([], dict.fromkeys(("choice", *RANKED), "")),
    ],
)
def test_methods_find_the_position_ahead(votes: list[CastVote], ahead: dict[VotingMethod, str]) -> None:
    found = {
        method: apply_rule(VotingRule(kind="plurality", method=method), votes, POSITIONS).ahead
        for method in ahead
    }
    assert found == ahead


def test_a_position_that_nobody_chose_first_can_be_ahead_by_ranks_and_has_the_share_that_prefers_it() -> None:
    votes = rank("2 ABC", "2 CBA")
    rule = VotingRule(kind="majority", method="borda")
    assert apply_rule(rule, votes, POSITIONS).ahead == ""  # all three have as many points
    votes = [*votes, *rank("1 BAC")]
    found = apply_rule(rule, votes, POSITIONS)
    assert (found.ahead, found.share, found.is_reached) == ("Ben", Fraction(3, 5), True)


def test_between_two_positions_every_method_goes_by_first_choices() -> None:
    votes = [CastVote("Ada", ranks={"Ada": Fraction(1), "Ben": Fraction(0)})] * 2 + cast("B")
    for method in METHODS:
        found = apply_rule(VotingRule(kind="majority", method=method), votes, POSITIONS[:2])
        assert (found.ahead, found.share) == ("Ada", Fraction(2, 3))
        made = [*[CastVote(SYNTHESIS)] * 2, *cast("A")]
        assert apply_rule(VotingRule(method=method), made, POSITIONS[:2]).ahead == SYNTHESIS


def test_a_choice_without_ranks_is_before_all_others_which_are_alike() -> None:
    assert apply_rule(VotingRule(method="borda"), cast("AAB"), POSITIONS).ahead == "Ada"


def test_positions_that_a_voter_holds_alike_have_half_a_point_from_each_other() -> None:
    rule = VotingRule(method="borda")
    assert apply_rule(rule, [*cast("AA"), *rank("3 BAC")], POSITIONS).ahead == ""  # 7 points each
    assert apply_rule(rule, [*cast("A"), *rank("2 BAC")], POSITIONS).ahead == "Ben"  # 4 1/2 points to 4


def test_in_a_run_off_positions_that_are_held_alike_share_the_vote() -> None:
    rule = VotingRule(method="instant_runoff")
    assert apply_rule(rule, cast("ABBCC"), POSITIONS).ahead == ""  # without Ada 2 1/2 each
    alike = {"Ada": Fraction(2), "Ben": Fraction(1), "Cleo": Fraction(1), "Dan": Fraction(0)}
    votes = [CastVote("Ada", Fraction(3, 4), alike), *cast("BC"), CastVote("Dan", Fraction(3, 2))]
    assert apply_rule(rule, votes, [*POSITIONS, "Dan"]).ahead == "Dan"  # Ben and Cleo have 11/8 each


def test_a_vote_without_weight_is_not_cast() -> None:
    votes = [CastVote("Ada", Fraction(0)), *cast("-")]
    assert apply_rule(VotingRule(kind="plurality"), votes, POSITIONS) == Finding()


def test_a_position_made_of_the_others_can_be_agreed_on_and_has_no_rank() -> None:
    made = [CastVote(SYNTHESIS)] * 2
    assert apply_rule(VotingRule(kind="unanimous"), made, POSITIONS).ahead == SYNTHESIS
    found = apply_rule(VotingRule(kind="majority", method="borda"), [*made, *rank("1 ABC")], POSITIONS)
    assert (found.ahead, found.share, found.is_reached) == ("Ada", Fraction(1, 3), False)


def test_a_count_has_every_seat_in_exactly_one_weight() -> None:
    silent = [
        CastVote("", Fraction(1, 3), silence=kind) for kind in ("unreadable", "inconsistent", "missing")
    ]
    votes = [*cast("AAB-"), *silent, CastVote(SYNTHESIS, Fraction(1, 2))]
    count = build_count(VotingRule(kind="supermajority"), votes, POSITIONS, "Ada")
    assert {weight.seat: weight.weight for weight in count.weights} == {"Ada": "2", "Ben": "1", "*": "1/2"}
    assert (count.abstained, count.unreadable, count.inconsistent, count.missing) == (
        "1",
        "1/3",
        "1/3",
        "1/3",
    )
    assert (count.seats, count.cast, count.needed, count.share) == ("11/2", "7/2", "2/3", "4/11")
    usual = build_count(None, votes, POSITIONS, "Ada")
    assert (usual.needed, usual.share) == ("", "4/11")
    cast_only = VotingRule(of="cast", quorum="1/2")
    assert build_count(cast_only, votes, POSITIONS, "Ada").share == "4/7"
    assert build_count(cast_only, cast("--"), POSITIONS, "").share == "0"


@given(RULES, VOTES, st.permutations(POSITIONS))
def test_positions_are_alike_to_every_rule(rule: VotingRule, votes: list[CastVote], names: list[str]) -> None:
    """Neutrality: with other names for the positions, declared in another order, the same position wins."""
    renamed = dict(zip(POSITIONS, names, strict=True)) | {"": ""}
    others = [
        replace(vote, choice=renamed[vote.choice], ranks={renamed[n]: s for n, s in vote.ranks.items()})
        for vote in votes
    ]
    one, other = apply_rule(rule, votes, POSITIONS), apply_rule(rule, others, POSITIONS[::-1])
    assert replace(one, ahead=renamed[one.ahead]) == other


@given(RULES, VOTES, st.randoms(use_true_random=False))
def test_voters_are_alike_to_every_rule(rule: VotingRule, votes: list[CastVote], random: Random) -> None:
    """Anonymity: the order of voters means nothing."""
    shuffled = list(votes)
    random.shuffle(shuffled)
    assert apply_rule(rule, shuffled, POSITIONS) == apply_rule(rule, votes, POSITIONS)


@given(RULES, VOTES, WEIGHTS)
def test_an_added_abstention_never_makes_a_consensus(
    rule: VotingRule, votes: list[CastVote], weight: Fraction
) -> None:
    before = apply_rule(rule, votes, POSITIONS)
    after = apply_rule(rule, [*votes, CastVote("", weight, silence="abstained")], POSITIONS)
    assert after.is_reached <= before.is_reached
    assert after.ahead == before.ahead


@given(VOTES)
def test_a_stronger_consensus_is_also_every_weaker_one(votes: list[CastVote]) -> None:
    kinds: tuple[RuleKind, ...] = ("unanimous", "supermajority", "majority", "plurality")
    reached = [apply_rule(VotingRule(kind=kind), votes, POSITIONS).is_reached for kind in kinds]
    assert reached == sorted(reached)


@pytest.mark.full
@pytest.mark.skipif(find_spec("pref_voting") is None, reason="needs pref_voting: --group full")
@pytest.mark.full
def test_ten_thousand_profiles_have_the_winners_that_pref_voting_finds() -> None:
    modules = ("profiles", "scoring_methods", "margin_based_methods", "iterative_methods")
    profiles, scoring, paths, iterative = (import_module(f"pref_voting.{name}") for name in modules)
    known: dict[VotingMethod, Any] = {
        "choice": scoring.plurality,
        "borda": scoring.borda,
        "schulze": paths.beat_path,
        "instant_runoff": iterative.instant_runoff,
    }
    random = Random(7)  # noqa: S311  (profiles, no secrets)
    for _ in range(10_000):
        size = random.randint(3, 5)
        names = [f"position {number}" for number in range(size)]
        orders = [random.sample(range(size), size) for _ in range(random.randint(1, 9))]
        weights = [random.randint(1, 4) for _ in orders]
        profile = profiles.Profile(orders, weights)
        votes = [
            CastVote(
                names[order[0]],
                Fraction(weight, 4),
                {names[number]: Fraction(-place) for place, number in enumerate(order)},
            )
            for order, weight in zip(orders, weights, strict=True)
        ]
        for method, find in known.items():
            assert METHODS[method](votes, names) == {names[number] for number in find(profile)}, (
                orders,
                weights,
            )


def test_each_kind_of_rule_has_a_share_and_words() -> None:
    assert consensus.RULES.keys() == {*get_args(RuleKind)}
