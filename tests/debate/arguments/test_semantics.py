"""What stands, strengths and influence, against their definitions."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.arguments.semantics import (
    MOST_LOOKED_AT,
    Standing,
    compute_influence,
    compute_strengths,
    find_grounded,
)

pytestmark = pytest.mark.requirement("D27")

Attackers = Mapping[int, Sequence[int]]

GRAPHS = st.integers(1, 7).flatmap(
    lambda count: st.fixed_dictionaries(
        {node: st.lists(st.integers(0, count - 1), max_size=3, unique=True) for node in range(count)}
    )
)


def find_extension(attackers: Attackers) -> set[int]:
    """The grounded extension by its definition: the least fixpoint of what is defended."""
    extension: set[int] = set()
    while True:
        defended = {a for a in attackers if all(extension & {*attackers[b]} for b in attackers[a])}
        if defended == extension:
            return extension
        extension = defended


@given(GRAPHS)
def test_what_stands_is_the_grounded_extension(attackers: Attackers) -> None:
    extension = find_extension(attackers)
    expected: dict[int, Standing] = dict.fromkeys(attackers, "open")
    expected |= {node: "falls" for node, by in attackers.items() if extension & {*by}}
    expected |= dict.fromkeys(extension, "stands")
    assert find_grounded(attackers) == expected


@pytest.mark.parametrize(
    ("attackers", "standing"),
    [
        ({0: [0]}, ["open"]),
        ({0: [1], 1: [0]}, ["open", "open"]),
        ({0: [1], 1: [0], 2: [], 3: [2]}, ["open", "open", "stands", "falls"]),
        ({0: [1], 1: [2], 2: []}, ["stands", "falls", "stands"]),
        ({0: [1], 1: [0, 2], 2: []}, ["stands", "falls", "stands"]),
    ],
    ids=["itself", "a circle", "apart from a circle", "a chain", "a circle that is broken"],
)
def test_circles_stay_open_unless_somebody_breaks_them(attackers: Attackers, standing: list[str]) -> None:
    assert list(find_grounded(attackers).values()) == standing


@given(GRAPHS)
def test_a_strength_is_one_by_one_and_the_strengths_of_attackers(attackers: Attackers) -> None:
    strengths = compute_strengths(attackers)
    for node, by in attackers.items():
        assert strengths[node] == pytest.approx(1 / (1 + sum(strengths[one] for one in by)), abs=1e-6)


def build_camps(size: int, other: int) -> Attackers:
    """Two camps; everybody attacks all of the other one."""
    camps = range(size), range(size, size + other)
    return {node: camps[node < size] for node in range(size + other)}


@pytest.mark.parametrize("size", [60, 400])
def test_two_large_camps_of_one_size_are_solved_to_the_end(size: int) -> None:
    attackers = build_camps(size, size)
    strengths = compute_strengths(attackers)  # all the same, the solution of s = 1 / (1 + size * s)
    assert [*strengths.values()] == pytest.approx(
        [((1 + 4 * size) ** 0.5 - 1) / (2 * size)] * 2 * size, abs=1e-7
    )
    influence = compute_influence(
        attackers, strengths, {node: 1 if node < size else -1 for node in attackers}
    )
    assert [*influence.values()] == pytest.approx([1] * size + [-1] * size, abs=1e-6)


class CountedReads(dict[int, Any]):
    """A mapping that counts how often a value is looked up."""

    count = 0

    def __getitem__(self, key: int) -> Any:
        self.count += 1
        return super().__getitem__(key)


@pytest.mark.full
def test_camps_that_settle_slowly_are_not_solved_beyond_a_limit_and_come_close() -> None:
    attackers = CountedReads(build_camps(200, 201))
    attacks = 2 * 200 * 201
    strengths = CountedReads(compute_strengths(attackers))
    sweeps = attackers.count // len(attackers)
    assert sweeps == MOST_LOOKED_AT // attacks
    for node, by in attackers.items():
        assert strengths[node] == pytest.approx(1 / (1 + sum(strengths[one] for one in by)), rel=1e-3)
    strengths.count = 0
    influence = compute_influence(attackers, strengths, {node: 1 if node < 200 else -1 for node in attackers})
    assert MOST_LOOKED_AT - attacks < strengths.count - 2 * len(attackers) <= MOST_LOOKED_AT
    assert [*influence.values()] == pytest.approx([1] * 200 + [-1] * 201, abs=1e-2)


@pytest.mark.full
def test_a_graph_with_more_attacks_than_may_be_looked_at_is_looked_at_once() -> None:
    size = 1 + math.isqrt(MOST_LOOKED_AT // 2)
    attackers = CountedReads(build_camps(size, size))
    strengths = compute_strengths(attackers)
    assert attackers.count == len(attackers)
    assert strengths[0] == pytest.approx(1 / (1 + size * strengths[size]))


def solve(attackers: Attackers, weights: Mapping[int, float]) -> dict[int, float]:
    strengths = dict(weights)
    for _ in range(2_000):
        strengths = {
            node: weights[node] / (1 + sum(strengths[b] for b in by)) for node, by in attackers.items()
        }
    return strengths


@pytest.mark.parametrize(
    "attackers", [{0: [1, 2], 1: [2], 2: [], 3: [1]}, {0: [1], 1: [2], 2: [0]}, {0: [0, 1], 1: []}]
)
def test_influence_is_the_slope_of_the_sum_by_the_weight_of_a_node(attackers: Attackers) -> None:
    signs = {node: (1, -1, 0, 1)[node] for node in attackers}
    influence = compute_influence(attackers, compute_strengths(attackers), signs)
    for node in attackers:
        sums = []
        for step in (1e-5, -1e-5):
            found = solve(attackers, {one: 1.0 + step * (one == node) for one in attackers})
            sums.append(sum(signs[one] * value for one, value in found.items()))
        assert influence[node] == pytest.approx((sums[0] - sums[1]) / 2e-5, abs=1e-4)
