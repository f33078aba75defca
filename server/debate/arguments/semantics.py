"""What stands in a graph of attacks, and how strong it is: published semantics, for nodes of any kind.

- What stands is the grounded extension (Dung 1995, "On the acceptability of arguments"): what
  nobody attacks stands, what it attacks falls, and so on. What attacks itself, or goes round in a circle that nobody
  breaks, stays open. Linear in nodes and attacks.
- The strength of a node is that of the h-categorizer (Besnard and Hunter 2001, "A logic-based theory of deductive
  arguments"): one divided by one plus the strengths of what attacks it. It has one solution
  on every graph (Pu et al. 2014, arXiv 1406.3877), circles too.
- Influence is the gradient of a sum of strengths by the weight of a node, each node weighing one (Amgoud et al. 2017,
  "Acceptability semantics for weighted argumentation frameworks", IJCAI; Yin, Potyka and Toni 2023, "Argument
  attribution explanations in quantitative bipolar argumentation frameworks", ECAI). Each sweep is linear.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import sqrt
from typing import Literal, TypeVar

Standing = Literal["stands", "falls", "open"]

N = TypeVar("N", bound=Hashable)

PRECISION = 1e-9
"""A sweep that changes nothing by as much is the last. There always is one: on a logarithmic scale a sweep leaves of
an error in the strength s of a node at most 1 - s of the largest, and the slopes solve the transposed system."""

MOST_LOOKED_AT = 4_000_000
"""Attacks that all sweeps of a solution look at together: about half a second. Hundreds of points that nearly all
attack each other may need more: their strengths are approximate, those of other debates exact to PRECISION."""


def find_grounded(attackers: Mapping[N, Sequence[N]]) -> dict[N, Standing]:
    """The standing of each node. `attackers`: of each node, nodes only."""
    attacked = reverse(attackers)
    undefeated = {node: len(set(by)) for node, by in attackers.items()}
    found: dict[N, Standing] = dict.fromkeys(attackers, "open")
    standing = deque(node for node, count in undefeated.items() if not count)
    while standing:
        node = standing.popleft()
        found[node] = "stands"
        for defeated in attacked[node]:
            if found[defeated] != "open":
                continue
            found[defeated] = "falls"
            for freed in attacked[defeated]:
                undefeated[freed] -= 1
                if not undefeated[freed] and found[freed] == "open":
                    standing.append(freed)
    return found


def compute_strengths(attackers: Mapping[N, Sequence[N]]) -> dict[N, float]:
    """The strength of each node, over 0 and at most 1."""
    strengths = {node: solve_alike(len(by)) for node, by in attackers.items()}
    backwards = list(attackers)[::-1]  # attacks go back in time: in this order one sweep is nearly enough
    for _ in range(limit_sweeps(attackers)):
        change = 0.0
        for node in backwards:
            strength = 1 / (1 + sum(strengths[one] for one in attackers[node]))
            change = max(change, abs(strength - strengths[node]))
            strengths[node] = strength
        if change < PRECISION:
            break
    return strengths


def solve_alike(count: int) -> float:
    """The strength s = 1 / (1 + count * s) of a node whose attackers are as strong as itself, as in camps of one size.

    From any other start, large camps take hundreds of sweeps, and the first one looks stronger until then.
    """
    return 2 / (1 + sqrt(1 + 4 * count))


def compute_influence(
    attackers: Mapping[N, Sequence[N]], strengths: Mapping[N, float], signs: Mapping[N, int]
) -> dict[N, float]:
    """How much the signed sum of all strengths grows with the weight of each node. `signs`: 1, -1 or 0."""
    attacked = reverse(attackers)
    slopes = {
        node: signs[node] / strengths[node] for node in attackers
    }  # the solution for two camps of one size
    for _ in range(limit_sweeps(attackers)):
        change = 0.0
        for node in attackers:
            slope = signs[node] - sum(slopes[one] * strengths[one] ** 2 for one in attacked[node])
            change = max(change, abs(slope - slopes[node]))
            slopes[node] = slope
        if change < PRECISION:
            break
    return {node: slopes[node] * strengths[node] for node in attackers}


def limit_sweeps(attackers: Mapping[N, Sequence[N]]) -> int:
    """How many sweeps a graph may have, at least one."""
    return max(MOST_LOOKED_AT // max(sum(map(len, attackers.values())), 1), 1)


def reverse(attackers: Mapping[N, Iterable[N]]) -> dict[N, list[N]]:
    """What each node attacks."""
    attacked: dict[N, list[N]] = {node: [] for node in attackers}
    for node, by in attackers.items():
        for one in dict.fromkeys(by):
            attacked[one].append(node)
    return attacked
