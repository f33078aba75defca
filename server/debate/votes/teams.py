"""Which of many models debate, and which judge: by skill, by what their errors have in common, and by price.

What is known of each model, and of each two of them, is estimated in `skills`. A draw stands for each model, so that
those of which little is known are tried as they may be the best.

The set: answers are taken for normal signals whose correlations are those of the errors; models that are drawn below
the best `MOST_CONTENDERS` are alike as their families are. With log-odds l, weights w and correlations R the pool is
right in 1 / (1 + exp(-w.l / sqrt(w'Rw))) of cases. A calibrated model has the weight of its log-odds, which is best for
independent votes (Nitzan and Paroush 1982); one that is surer than right has more, drags the pool along, and so adds
less. Models are chosen one by one by what each adds (greedy, as for submodular gains: Nemhauser et al. 1978).

As long as fewer than `SETTLED_ITEMS` items are known of the candidates, all are taken for equally able and nothing is
drawn: families decide, and between equals the price.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import Any, NamedTuple

from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import EMBEDDED
from server.debate.facts.setup.team import Candidate, Team
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
"""What the dearest candidate has to add to the accuracy beyond a free one: a percentage point."""

INPUT_SHARE = 10  # tokens read for each that is written
EDGE = 0.01  # accuracies are taken for at least that far from 0 and 1
DIGITS = 6  # of gains: differences below that are none


@dataclass(frozen=True)
class TeamRequest:
    """`count`: seats of debaters to fill. `seated`: the models of those that have one. `judges`: so many at most."""

    candidates: tuple[str, ...]
    count: int
    seated: tuple[str, ...] = ()
    judges: int = 0
    topic: str = ""
    diversity: Fraction = Fraction(1)


class Member(NamedTuple):
    """A model as the choice takes it. `log_odds`: of being right; `weight`: that its answers get in a pool."""

    model: str
    family: str
    log_odds: float
    weight: float
    price: float  # a share of the dearest one's
    rank: bytes  # decides between equals

    @property
    def is_able(self) -> bool:
        """Whether it is drawn better than a coin, and is no model that is too small to tell."""
        return self.log_odds > 0 and self.model != EMBEDDED

    @property
    def worth(self) -> float:
        """Its log-odds, less what it is surer than right: tells apart models that add nothing to a pool."""
        return self.log_odds - max(self.weight - self.log_odds, 0.0)


@dataclass
class Pool:
    """Members whose answers are pooled, and for each candidate what its errors have in common with theirs."""

    known: Knowledge
    diversity: float
    merit: float = 0.0
    variance: float = 0.0
    shared: dict[str, float] = field(default_factory=dict)

    def compute_accuracy(self, member: Member | None = None) -> float:
        merit, variance = self.merit, self.variance
        if member:
            merit += member.weight * member.log_odds
            variance += member.weight * (member.weight + 2 * self.shared.get(member.model, 0.0))
        return 1 / (1 + math.exp(-merit / math.sqrt(variance))) if variance else 0.5

    def add(self, member: Member, candidates: Iterable[Member]) -> None:
        self.merit += member.weight * member.log_odds
        self.variance += member.weight * (member.weight + 2 * self.shared.get(member.model, 0.0))
        for other in candidates:
            shared = member.weight * self.compare(member, other)
            self.shared[other.model] = self.shared.get(other.model, 0.0) + shared

    def compare(self, member: Member, other: Member) -> float:
        """What the errors of two have in common. With a smaller `diversity` all pairs are more alike each other."""
        usual = self.known.other_family
        alike = compute_correlation(member.model, other.model, self.known)
        return max(0.0, usual + self.diversity * (alike - usual))


def draw_accuracies(request: TeamRequest, known: Knowledge, seed: int) -> dict[str, float]:
    """How often each model is taken to be right; {} where too little is known to draw."""
    if known.settled_items < SETTLED_ITEMS:
        return {}
    return {model: draw_accuracy(model, known, seed) for model in (*request.candidates, *request.seated)}


def list_contenders(request: TeamRequest, draws: Mapping[str, float]) -> list[str]:
    """The models whose pairs the choice needs to know: those that sit already, and those that were drawn best.

    Of all others families tell what their errors have in common.
    """
    best = sorted(draws, key=lambda model: (-draws[model], model))
    return list(dict.fromkeys((*request.seated, *best[:MOST_CONTENDERS])))


def choose_team(
    request: TeamRequest,
    known: Knowledge,
    draws: Mapping[str, float],
    prices: Mapping[str, Price],
    seed: int,
) -> Team:
    """Choose debaters and judges. The same arguments give the same choice. `draws`: as in `draw_accuracies`.

    With fewer candidates than seats some sit on several. Judges are of other families than the debaters as far as
    there are such, then other models than the debaters.
    """
    is_known = bool(draws)
    known = known if is_known else replace(known, pairs={})
    named = tuple(dict.fromkeys((*request.candidates, *request.seated)))
    costs = {model: find_cost(prices.get(model)) for model in request.candidates}
    dearest = max((cost for cost in costs.values() if cost is not None), default=Decimal(0))
    members = {
        model: build_member(
            model, draws.get(model), known, compute_price_share(costs.get(model), dearest), seed
        )
        for model in named
    }
    candidates = [members[model] for model in dict.fromkeys(request.candidates)]
    diversity, points = float(request.diversity), PRICE_POINTS if is_known else 0.0
    pool = Pool(known, diversity)
    for model in request.seated:
        pool.add(members[model], members.values())
    chosen = list(pick(pool, candidates, request.count, points, {*request.seated}))
    debating = {*request.seated, *(member.model for member, _ in chosen)}
    judges = pick_judges(Pool(known, diversity), candidates, request.judges, points, debating)
    return Team(
        candidates=tuple(
            build_candidate(one.model, known, draws.get(one.model), costs[one.model]) for one in candidates
        ),
        seated=request.seated,
        chosen=tuple(member.model for member, _ in chosen),
        gains=tuple(f"{gain:.{DIGITS}f}" for _, gain in chosen),
        judges=tuple(member.model for member, _ in judges),
        judge_gains=tuple(f"{gain:.{DIGITS}f}" for _, gain in judges),
        topic=request.topic,
        diversity=f"{diversity:.{DIGITS}f}".rstrip("0").rstrip("."),
        settled_items=known.settled_items,
        topic_answers=count_topic_answers(request, known),
        ledger_head=known.position,
    )


def count_topic_answers(request: TeamRequest, known: Knowledge) -> int:
    found = (known.on_topic.get(model, Tally()) for model in dict.fromkeys(request.candidates))
    return sum(tally.items for tally in found) if request.topic else 0


def build_candidate(model: str, known: Knowledge, draw: float | None, cost: Decimal | None) -> Candidate:
    return Candidate(
        model=model,
        items=known.answers.get(model, Tally()).items,
        draw="" if draw is None else f"{draw:.4f}",
        price=format_cost(cost),
    )


def pick(
    pool: Pool, candidates: Sequence[Member], count: int, points: float, taken: Collection[str] = ()
) -> Iterator[tuple[Member, float]]:
    """Those that add most, one after the other, with what each added; none twice before all were chosen.

    Models that are not able come last.
    """
    used = {*taken}
    for _ in range(count):
        free = [one for one in candidates if one.model not in used]
        if not free:
            free, used = [*candidates], set()
        before = pool.compute_accuracy()
        gains = {
            one: round(max(pool.compute_accuracy(one) - before, 0.0) - points * one.price, DIGITS) + 0.0
            for one in free
        }
        best = min(free, key=lambda one: (not one.is_able, -gains[one], -one.worth, one.price, one.rank))
        used.add(best.model)
        pool.add(best, candidates)
        yield best, gains[best]


def pick_judges(
    pool: Pool, candidates: Sequence[Member], count: int, points: float, debating: Collection[str]
) -> list[tuple[Member, float]]:
    """Judges of other families than the debaters, then of the same ones, then the debaters' own models.

    Models that are not able come last, whosever they are.
    """
    families = {*map(family, debating)}
    tiers: list[list[Member]] = [[], [], [], []]
    for one in candidates:
        rank = (one.family in families) + (one.model in debating)
        tiers[rank if one.is_able else 3].append(one)
    chosen: list[tuple[Member, float]] = []
    for tier in tiers:
        chosen += pick(pool, tier, min(len(tier), count - len(chosen)), points)
    return chosen


def build_member(model: str, draw: float | None, known: Knowledge, price: float, seed: int) -> Member:
    """A model with the accuracy that was drawn for it, or with that of any judge."""
    right = PRIOR_RIGHT / PRIOR_ITEMS if draw is None else draw
    stated = right + compute_overconfidence(model, known) if draw is not None else right
    rank = sha256(f"{seed}:team:{model}".encode()).digest()
    log_odds, weight = compute_log_odds(right), max(compute_log_odds(stated), 0.0)
    return Member(model, family(model), log_odds, weight if log_odds > 0 else 0.0, price, rank)


def compute_log_odds(share: float) -> float:
    share = min(1 - EDGE, max(EDGE, share))
    return math.log(share / (1 - share))


def find_cost(price: Price | None) -> Decimal | None:
    """USD for a million tokens as debates take them; None where unknown."""
    if price is None or not (price.input and price.output):
        return None
    tokens = INPUT_SHARE * Decimal(price.input) + Decimal(price.output)
    return tokens * 1_000_000 / (INPUT_SHARE + 1)


def format_cost(cost: Decimal | None) -> str:
    return "" if cost is None else f"{cost:.4f}"


def compute_price_share(cost: Decimal | None, dearest: Decimal) -> float:
    """A price as a share of the dearest one's; an unknown one counts as the dearest, since unknown is not free."""
    return float(dearest if cost is None else cost) / float(dearest) if dearest else 0.0


def describe_team(setup: Opened) -> str:
    """Who was chosen, and by what, in some sentences; "" where the request says who sits where."""
    team = setup.team
    if team is None:
        return ""
    judging = list(dict.fromkeys(setup.judges.models)) if team.judges else []
    of = "1 candidate" if len(team.candidates) == 1 else f"{len(team.candidates)} candidates"
    chosen = f"Chosen from {of}: {', '.join(team.chosen) or 'no debater'}"
    judges = f"; to judge: {', '.join(judging)}" if judging else ""
    several = (
        "" if len(set(team.chosen)) == len(team.chosen) else " Some hold several seats: there were too few."
    )
    families = {*map(family, (*team.seated, *team.chosen))}
    related = ", ".join(model for model in judging if family(model) in families)
    near = f" Judges of debaters' families, for want of better ones: {related}." if related else ""
    return f"{chosen}{judges}. {describe_reasons(team)}.{several}{near}"


def describe_reasons(team: Team) -> str:
    if team.settled_items < SETTLED_ITEMS:
        items = "1 settled item" if team.settled_items == 1 else f"{team.settled_items} settled items"
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
    """The judges, and who was chosen of which candidates, and why; {} where the request says who sits where."""
    judges = zip(judge_seats(setup), setup.judges.models, strict=True)
    return {
        "judges": [f"{judge}: {model}" for judge, model in judges],
        "team": show_choice(setup, setup.team) if setup.team else {},
    }


def show_choice(setup: Opened, team: Team) -> dict[str, Any]:
    rows = team.candidates
    return {
        **team.model_dump(mode="json", exclude={"candidates", "seated", "settled_items"}),
        "candidates": [one.model for one in rows],
        "draws": [float(one.draw) for one in rows if one.draw],
        "gains": [*map(float, team.gains)],
        "judge_gains": [*map(float, team.judge_gains)],
        "reason": describe_team(setup),
    }
