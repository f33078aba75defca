"""Which of many models debate and which judge: chosen by skill, by how their errors correlate, and by price.

`skills` estimates each model and each pair of models. A draw stands for each model, so that a little-known model is
tried as often as it may be the best.

The set: answers are modelled as normal signals that correlate as the errors do. A model that is drawn below the best
`MOST_CONTENDERS` correlates as its family does. With log-odds l, weights w and correlations R the pool is right in
1 / (1 + exp(-w.l / sqrt(w'Rw))) of cases. A calibrated model has its log-odds as weight, which is optimal for
independent votes (Nitzan and Paroush 1982). A model that is surer than it is right weighs more, misleads the pool and
so adds less. Models are chosen one by one by what each adds (greedy, as for submodular gains: Nemhauser et al. 1978).

As long as the ledger has fewer than `SETTLED_ITEMS` items about the candidates, all count as equally able and nothing
is drawn: families decide, and the price decides between equals.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import Any, NamedTuple

from server.debate.facts.setup.ledger import Candidate, Team
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import EMBEDDED
from server.debate.facts.text import format_count
from server.debate.state.debate import judge_seats
from server.debate.votes.families import family
from server.debate.votes.skills import (
    PRIOR_ITEMS,
    PRIOR_RIGHT,
    Knowledge,
    Tally,
    compute_correlation,
    compute_overconfidence,
    draw_accuracy,
)

SETTLED_ITEMS = 20

MOST_CONTENDERS = 48
"""Models whose errors are compared pair by pair: more than a debate has seats."""

PRICE_POINTS = 0.01
"""What the dearest candidate must add to the accuracy, more than a free one: a percentage point."""

INPUT_SHARE = 10  # tokens read for each token written
EDGE = 0.01  # accuracies stay at least so far from 0 and 1
DIGITS = 6  # of gains: smaller differences count as none


@dataclass(frozen=True)
class TeamRequest:
    """`count`: seats of debaters to fill. `seated`: the models that have a seat already. `judges`: at most so many."""

    candidates: tuple[str, ...]
    count: int
    seated: tuple[str, ...] = ()
    judges: int = 0
    topic: str = ""
    diversity: Fraction = Fraction(1)


class Member(NamedTuple):
    """A candidate in the choice. `log_odds`: of being right; `weight`: of its answers in a pool."""

    model: str
    family: str
    log_odds: float
    weight: float
    price: float  # a share of the dearest one's
    rank: bytes  # decides between equals

    @property
    def is_able(self) -> bool:
        """Whether it is drawn better than a coin, and is not the model that is too small to judge."""
        return self.log_odds > 0 and self.model != EMBEDDED

    @property
    def worth(self) -> float:
        """Its log-odds, less its overconfidence: this orders models that add nothing to a pool."""
        return self.log_odds - max(self.weight - self.log_odds, 0.0)


@dataclass
class Pool:
    """Members whose answers are pooled. `shared`: how the errors of each candidate correlate with theirs."""

    known: Knowledge
    diversity: float
    merit: float = 0.0
    variance: float = 0.0
    shared: dict[str, float] = field(default_factory=dict)

    def compute_accuracy(self, member: Member | None = None) -> float:
        merit, variance = self.compute_with(member) if member else (self.merit, self.variance)
        return 1 / (1 + math.exp(-merit / math.sqrt(variance))) if variance else 0.5

    def compute_with(self, member: Member) -> tuple[float, float]:
        """Merit and variance with one more member."""
        shared = member.weight + 2 * self.shared.get(member.model, 0.0)
        return self.merit + member.weight * member.log_odds, self.variance + member.weight * shared

    def add(self, member: Member, candidates: Iterable[Member]) -> None:
        self.merit, self.variance = self.compute_with(member)
        for other in candidates:
            covariance = member.weight * self.compare(member, other)
            self.shared[other.model] = self.shared.get(other.model, 0.0) + covariance

    def compare(self, member: Member, other: Member) -> float:
        """How the errors of two correlate. A smaller `diversity` moves all pairs towards the usual correlation."""
        usual = self.known.other_family
        alike = compute_correlation(member.model, other.model, self.known)
        return max(0.0, usual + self.diversity * (alike - usual))


def draw_accuracies(request: TeamRequest, knowledge: Knowledge, seed: int) -> dict[str, float]:
    """The accuracy drawn for each model; {} where too little is known to draw."""
    if knowledge.settled_items < SETTLED_ITEMS:
        return {}
    return {model: draw_accuracy(model, knowledge, seed) for model in (*request.candidates, *request.seated)}


def list_contenders(request: TeamRequest, draws: Mapping[str, float]) -> list[str]:
    """The models whose pairs the choice compares: those that have a seat, and those with the best draws.

    All others correlate as their families do.
    """
    best = sorted(draws, key=lambda model: (-draws[model], model))
    return list(dict.fromkeys((*request.seated, *best[:MOST_CONTENDERS])))


def choose_team(
    request: TeamRequest,
    knowledge: Knowledge,
    draws: Mapping[str, float],
    prices: Mapping[str, Price],
    seed: int,
) -> Team:
    """Choose debaters and judges. The same arguments give the same choice. `draws`: as in `draw_accuracies`.

    With fewer candidates than seats some get several. Judges come from other families than the debaters where
    there are any, then from other models.
    """
    is_known = bool(draws)
    knowledge = knowledge if is_known else replace(knowledge, pairs={})
    costs = {model: compute_cost(prices.get(model)) for model in request.candidates}
    dearest = max((cost for cost in costs.values() if cost is not None), default=Decimal(0))
    shares = {model: compute_price_share(costs.get(model), dearest) for model in (*costs, *request.seated)}
    members = {
        model: build_member(model, draws.get(model), knowledge, share, seed)
        for model, share in shares.items()
    }
    candidates = [members[model] for model in dict.fromkeys(request.candidates)]
    diversity, points = float(request.diversity), PRICE_POINTS if is_known else 0.0
    pool = Pool(knowledge, diversity)
    for model in request.seated:
        pool.add(members[model], members.values())
    picks = list(pick(pool, candidates, request.count, points, {*request.seated}))
    debating = {*request.seated, *(member.model for member, _ in picks)}
    judges = pick_judges(Pool(knowledge, diversity), candidates, request.judges, points, debating)
    return Team(
        candidates=tuple(
            Candidate(model=member.model, draw=f"{draws[member.model]:.4f}" if draws else "")
            for member in candidates
        ),
        seated=request.seated,
        chosen=tuple(member.model for member, _ in picks),
        gains=tuple(f"{gain:.{DIGITS}f}" for _, gain in picks),
        judges=tuple(member.model for member, _ in judges),
        judge_gains=tuple(f"{gain:.{DIGITS}f}" for _, gain in judges),
        topic=request.topic,
        diversity=f"{diversity:.{DIGITS}f}".rstrip("0").rstrip("."),
        settled_items=knowledge.settled_items,
        topic_answers=count_topic_answers(request, knowledge),
    )


def count_topic_answers(request: TeamRequest, knowledge: Knowledge) -> int:
    tallies = (knowledge.on_topic.get(model, Tally()) for model in dict.fromkeys(request.candidates))
    return sum(tally.items for tally in tallies) if request.topic else 0


def pick(
    pool: Pool, candidates: Sequence[Member], count: int, points: float, taken: Collection[str] = ()
) -> Iterator[tuple[Member, float]]:
    """The members that add most, one after the other, each with its gain; nobody twice before all were chosen.

    Models that are not able come last.
    """
    used = {*taken}
    for _ in range(count):
        free = [member for member in candidates if member.model not in used]
        if not free:
            free, used = [*candidates], set()
        before = pool.compute_accuracy()
        gains = {
            member: round(max(pool.compute_accuracy(member) - before, 0.0) - points * member.price, DIGITS)
            + 0.0
            for member in free
        }
        best = min(
            free,
            key=lambda member: (not member.is_able, -gains[member], -member.worth, member.price, member.rank),
        )
        used.add(best.model)
        pool.add(best, candidates)
        yield best, gains[best]


def pick_judges(
    pool: Pool, candidates: Sequence[Member], count: int, points: float, debating: Collection[str]
) -> list[tuple[Member, float]]:
    """Judges of other families than the debaters, then of the same ones, then the debaters' own models.

    Models that are not able come last in any case.
    """
    families = {*map(family, debating)}
    tiers: list[list[Member]] = [[], [], [], []]
    for member in candidates:
        rank = (member.family in families) + (member.model in debating)
        tiers[rank if member.is_able else 3].append(member)
    chosen: list[tuple[Member, float]] = []
    for tier in tiers:
        chosen += pick(pool, tier, min(len(tier), count - len(chosen)), points)
    return chosen


def build_member(model: str, draw: float | None, knowledge: Knowledge, price: float, seed: int) -> Member:
    """A model with the accuracy that was drawn for it, or with the usual one."""
    accuracy = PRIOR_RIGHT / PRIOR_ITEMS if draw is None else draw
    claimed_accuracy = accuracy + compute_overconfidence(model, knowledge) if draw is not None else accuracy
    rank = sha256(f"{seed}:team:{model}".encode()).digest()
    log_odds, weight = compute_log_odds(accuracy), max(compute_log_odds(claimed_accuracy), 0.0)
    return Member(model, family(model), log_odds, weight if log_odds > 0 else 0.0, price, rank)


def compute_log_odds(share: float) -> float:
    share = min(1 - EDGE, max(EDGE, share))
    return math.log(share / (1 - share))


def compute_cost(price: Price | None) -> Decimal | None:
    """What tokens in the mix that debates use cost, to compare models by; None where unknown."""
    if price is None or not (price.input and price.output):
        return None
    return INPUT_SHARE * Decimal(price.input) + Decimal(price.output)


def compute_price_share(cost: Decimal | None, dearest: Decimal) -> float:
    """A price as a share of the highest. An unknown price counts as the highest, because unknown is not free."""
    return float(dearest if cost is None else cost) / float(dearest) if dearest else 0.0


def describe_team(setup: Opened) -> str:
    """Who was chosen and why, in a few sentences; "" where the request assigns the seats itself."""
    team = setup.team
    if team is None:
        return ""
    judging = list(dict.fromkeys(setup.judges.models)) if team.judges else []
    candidates = format_count(len(team.candidates), "candidate")
    debaters = f"Chosen from {candidates}: {', '.join(team.chosen) or 'no debater'}"
    judges = f"; to judge: {', '.join(judging)}" if judging else ""
    several = (
        "" if len(set(team.chosen)) == len(team.chosen) else " Some hold several seats: there were too few."
    )
    families = {*map(family, (*team.seated, *team.chosen))}
    same_family = ", ".join(model for model in judging if family(model) in families)
    near = f" Judges of debaters' families, for want of better ones: {same_family}." if same_family else ""
    return f"{debaters}{judges}. {describe_reasons(team)}.{several}{near}"


def describe_reasons(team: Team) -> str:
    if team.settled_items < SETTLED_ITEMS:
        items = format_count(team.settled_items, "settled item")
        return (
            f"By families and prices alone: the ledger has {items} of them, and {SETTLED_ITEMS} are needed to "
            "know more"
        )
    about = f' about "{team.topic}"' if team.topic_answers else ""
    unknown = f' (of "{team.topic}" it knows nothing)' if team.topic and not about else ""
    return (
        f"By how often they were right{about} as far as the ledger knows{unknown}, drawn from the seed, by what "
        "their errors have in common, and by price"
    )


def show_team(setup: Opened) -> dict[str, Any]:
    """The judges, the chosen debaters, the candidates and the reason; {} where the request assigns the seats itself."""
    judges = zip(judge_seats(setup), setup.judges.models, strict=True)
    choice: dict[str, Any] = {}
    if team := setup.team:
        choice = {
            **team.model_dump(mode="json", exclude={"candidates", "seated", "settled_items"}),
            "candidates": [row.model for row in team.candidates],
            "draws": [float(row.draw) for row in team.candidates if row.draw],
            "gains": [*map(float, team.gains)],
            "judge_gains": [*map(float, team.judge_gains)],
            "reason": describe_team(setup),
        }
    return {"judges": [f"{judge}: {model}" for judge, model in judges], "team": choice}
