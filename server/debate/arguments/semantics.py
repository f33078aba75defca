"""Which nodes in a graph of attacks stand, for nodes of any kind.

It is the grounded extension (Dung 1995, "On the acceptability of arguments"): what nobody attacks stands, what it
attacks falls, and so on. What attacks itself, or is part of a circle that nobody breaks, stays open. The cost is linear
in nodes and attacks.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

Standing = Literal["stands", "falls", "open"]

N = TypeVar("N", bound=Hashable)


def compute_standings(attackers: Mapping[N, Sequence[N]]) -> dict[N, Standing]:
    """The standing of each node. `attackers`: of each node; they are nodes themselves."""
    targets = reverse(attackers)
    open_attackers = {node: len(set(by)) for node, by in attackers.items()}
    standings: dict[N, Standing] = dict.fromkeys(attackers, "open")
    stack = deque(node for node, count in open_attackers.items() if not count)
    while stack:
        node = stack.popleft()
        standings[node] = "stands"
        for target in targets[node]:
            if standings[target] != "open":
                continue
            standings[target] = "falls"
            for next_target in targets[target]:
                open_attackers[next_target] -= 1
                if not open_attackers[next_target] and standings[next_target] == "open":
                    stack.append(next_target)
    return standings


def reverse(attackers: Mapping[N, Iterable[N]]) -> dict[N, list[N]]:
    """What each node attacks."""
    targets: dict[N, list[N]] = {node: [] for node in attackers}
    for node, attackers_of_node in attackers.items():
        for attacker in dict.fromkeys(attackers_of_node):
            targets[attacker].append(node)
    return targets
