"""What stands, against its definition."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.arguments.semantics import (
    Standing,
    compute_standings,
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
    assert compute_standings(attackers) == expected


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
    assert list(compute_standings(attackers).values()) == standing
