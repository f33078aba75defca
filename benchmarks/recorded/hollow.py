"""What signs of hollow agreement can tell, in a simulator of debates: how they answer to conformity and shared sources.

Usage: python -m benchmarks hollow [DEBATES]

Nothing here is measured on models. Assumed: two positions; 24 pieces of evidence, each for the right one with .62 (.42
in one debate of four, which mislead); seats hold four pieces each, from one pool of four with the probability
`shared`, else their own; two models with errors of their own, or one. In three rounds a seat says a piece that was not
said (.8), others take it up (.8), and a seat in the minority goes over to the majority with the probability
`conformity`, its belief untouched, naming a reason in .4 of such cases. Private ballots leak .3 towards the majority.
Compared are debates that began in disagreement and ended unanimous, with none of it (conformity .08, shared .25) and
with more and more of one.

AUC: how often a hollow debate has the higher value. Thresholds are the product's; unanswered attacks and lost dissent
are left out, since any rate of them would be an assumption.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import mean

from server.debate.ballots.hollow import COUNTED, ENOUGH, THRESHOLDS
from server.debate.facts.beliefs import SignalName

PIECES, HELD, SEATS, ROUNDS = 24, 4, 4, 3
GENUINE = {"conformity": 0.08, "shared": 0.25}
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
SIGNALS: tuple[SignalName, ...] = (*COUNTED, "dependence")
LEAK, NAMED, MISSED, SAID, TAKEN_UP = 0.3, 0.4, 0.2, 0.8, 0.8
WEIGHT = log(0.68 / 0.32)


@dataclass
class World:
    """A debate of the simulator."""

    chance: random.Random
    conformity: float
    shared: float

    def __post_init__(self) -> None:
        chance = self.chance
        right = 0.62 if chance.random() > 1 / 4 else 0.42
        self.favours = [int(chance.random() > right) for _ in range(PIECES)]
        pool = chance.sample(range(PIECES), HELD)
        self.one_model = chance.random() < self.shared
        prior = [chance.gauss(0, 0.6), chance.gauss(0, 0.6)]
        self.priors = [
            prior if self.one_model else [chance.gauss(0, 0.6) for _ in range(2)] for _ in range(SEATS)
        ]
        self.held = [
            {
                chance.choice(pool) if chance.random() < self.shared else chance.randrange(PIECES)
                for _ in range(HELD)
            }
            for _ in range(SEATS)
        ]
        self.cited: list[set[int]] = [set(sorted(held)[:2]) for held in self.held]
        self.public = [self.choose(seat) for seat in range(SEATS)]
        self.flips: set[int] = set()
        self.rises: list[float] = []

    def believe(self, seat: int) -> list[float]:
        logits = [
            self.priors[seat][side] + sum(WEIGHT for piece in self.held[seat] if self.favours[piece] == side)
            for side in (0, 1)
        ]
        top = max(logits)
        weights = [exp(logit - top) for logit in logits]
        return [weight / sum(weights) for weight in weights]

    def choose(self, seat: int) -> int:
        belief = self.believe(seat)
        return int(belief[1] > belief[0])

    def hold_round(self) -> None:
        chance, known = self.chance, set().union(*self.cited)
        majority = int(sum(self.public) * 2 > SEATS)
        agreeing = self.public.count(majority)
        said: dict[int, int] = {}
        for seat in range(SEATS):
            fresh = sorted(self.held[seat] - known)
            if fresh and chance.random() < SAID * (1 - self.conformity / 2):
                said[seat] = chance.choice(fresh)
        for seat, piece in said.items():
            self.cited[seat].add(piece)
        before = list(self.public)
        for seat in range(SEATS):
            learnt = {
                p for other, p in said.items() if other != seat and chance.random() < TAKEN_UP
            } - self.held[seat]
            self.held[seat] |= learnt
            wanted = self.choose(seat)
            if learnt and wanted != before[seat]:
                self.public[seat] = wanted
                self.flips |= {seat} if chance.random() < MISSED else set()
            elif before[seat] != majority and chance.random() < self.conformity:
                self.public[seat] = majority
                self.flips |= {seat} if chance.random() > NAMED else set()
        if max(self.public.count(0), self.public.count(1)) > agreeing:
            self.rises.append(len(said) / SEATS)

    def measure(self) -> dict[SignalName, float]:
        side = self.public[0]
        private = [(1 - LEAK) * self.believe(seat)[side] + LEAK for seat in range(SEATS)]
        pairs = [(one, other) for one in range(SEATS) for other in range(one)]
        overlap = [len(self.cited[a] & self.cited[b]) / len(self.cited[a] | self.cited[b]) for a, b in pairs]
        return {
            "gap": mean(1 - belief for belief in private),
            "unexplained_flips": len(self.flips) / SEATS,
            "nothing_new": 1 - mean(self.rises) if self.rises else 0,
            "overlap": mean(overlap),
            "dependence": 0.9 if self.one_model else 0.5,
        }


def simulate(count: int, seed: int, conformity: float, shared: float) -> list[dict[SignalName, float]]:
    """The signals of so many debates that began in disagreement and ended unanimous."""
    chance, found = random.Random(seed), list[dict[SignalName, float]]()  # noqa: S311  (a simulation)
    while len(found) < count:
        world = World(chance, conformity, shared)
        disagreed = len(set(world.public)) > 1
        for _ in range(ROUNDS):
            world.hold_round()
        if disagreed and len(set(world.public)) == 1:
            found.append(world.measure())
    return found


def compute_auc(hollow: Sequence[float], genuine: Sequence[float]) -> float:
    """How often a value of the first is higher than one of the second; a tie counts half."""
    ranked = sorted([(value, True) for value in hollow] + [(value, False) for value in genuine])
    ranks, index = 0.0, 0
    while index < len(ranked):
        end = index
        while end < len(ranked) and ranked[end][0] == ranked[index][0]:
            end += 1
        ranks += sum(is_hollow for _, is_hollow in ranked[index:end]) * (index + 1 + end) / 2
        index = end
    return (ranks - len(hollow) * (len(hollow) + 1) / 2) / (len(hollow) * len(genuine))


def count_raised(signals: dict[SignalName, float]) -> int:
    return sum(signals[name] >= THRESHOLDS[name] for name in COUNTED)


def render_curve(kind: str, count: int) -> Iterator[str]:
    """Rows of a table: AUC and, after a slash, hits of each signal by the level of what makes agreement hollow."""
    genuine = simulate(count, 1, **GENUINE)
    yield f"| {kind} | {' | '.join(SIGNALS)} | two or more of the first four |"
    yield "| --- " * (len(SIGNALS) + 2) + "|"
    alarms = [share(one[name] >= THRESHOLDS[name] for one in genuine) for name in SIGNALS]
    both = share(count_raised(one) >= ENOUGH for one in genuine)
    yield f"| false alarms | {' | '.join(alarms)} | {both} |"
    for level in LEVELS:
        hollow = simulate(count, 2, **GENUINE | {kind: level})
        cells = [
            f"{compute_auc([h[name] for h in hollow], [g[name] for g in genuine]):.2f} / "
            f"{share(h[name] >= THRESHOLDS[name] for h in hollow)}"
            for name in SIGNALS
        ]
        yield f"| {level} | {' | '.join(cells)} | {share(count_raised(h) >= ENOUGH for h in hollow)} |"


def share(holds: Iterator[bool]) -> str:
    found = list(holds)
    return f"{sum(found) / len(found):.2f}"


def main(arguments: Sequence[str]) -> None:
    if len(arguments) > 1 or not all(map(str.isdecimal, arguments)):
        sys.exit(f"usage: python -m benchmarks hollow [DEBATES]\n{__doc__}")
    print(__doc__.partition("Usage")[0] + __doc__.partition("[DEBATES]")[2].strip())
    for kind in GENUINE:
        print()
        print("\n".join(render_curve(kind, int(arguments[0]) if arguments else 1000)))
