"""Which of many models debate, and which judge: by skill, by what their errors have in common, and by price.

Skill: how often a model is right about a topic, a beta distribution. The prior is that of judges (`PRIOR_RIGHT` of
`PRIOR_ITEMS`); its items of other topics count as `TRANSFER_ITEMS` at most, however many they are: a power prior
(Ibrahim and Chen 2000, doi:10.1214/ss/1009212673), which shrinks the rate of a topic to the all-round rate. How much
is transferred at most is ours. A Thompson draw (Thompson 1933; Chapelle and Li 2011) from that distribution stands for
the model, so that models of which little is known are tried as often as they may be the best.

The set: answers are taken for normal signals whose correlations are those of the errors: of each two models as the
ledger has them, shrunk by `PAIR_ITEMS` to what was measured of families (`counting`); of models that are drawn below
the best `MOST_CONTENDERS`, as of their families. With log-odds l, weights w and
correlations R the pool is right in 1 / (1 + exp(-w.l / sqrt(w'Rw))) of cases. A calibrated model has the weight of its
log-odds; one that is surer than right has more, drags the pool along, and so adds less. Models are chosen one by one by
what each adds (greedy, as for submodular gains: Nemhauser et al. 1978).

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

from server.debate.facts.config import Price
from server.debate.facts.events import Opened
from server.debate.facts.team import Candidate, Team
from server.debate.state.debate import judge_seats
from server.debate.votes import counting
from server.debate.votes.families import family

SETTLED_ITEMS = 20
PRIOR_RIGHT, PRIOR_ITEMS = 6, 8
TRANSFER_ITEMS = 20
PAIR_ITEMS = 40
"""The error correlation of two models varies by about .15 within what families tell: as much as of 40 items."""

SAME_MODEL, SAME_FAMILY, OTHER_FAMILY = map(
    float, (counting.SAME_MODEL, counting.SAME_FAMILY, counting.OTHER_FAMILY)
)

MOST_CONTENDERS = 48
"""Models whose errors are compared pair by pair: more than a debate has seats."""

PRICE_POINTS = 0.01
"""What the dearest candidate has to add to the accuracy beyond a free one: a percentage point."""

INPUT_SHARE = 10  # tokens read for each that is written
EDGE = 0.01  # accuracies are taken for at least that far from 0 and 1
DIGITS = 6  # of gains: differences below that are none


class Tally(NamedTuple):
    """What is known of the answers of a model. `credit`: 2 for a right one, 1 for none, 0 for a wrong one."""

    items: int = 0
    credit: int = 0
    told: int = 0  # answers with a belief
    percents: int = 0  # the sum of these beliefs
    likeliest_right: int = 0  # how often the side held likeliest was right

    def subtract(self, other: "Tally") -> "Tally":
        return Tally(*(one - two for one, two in zip(self, other, strict=True)))


class Missed(NamedTuple):
    """Of items that two models answered: how often one was not right, the other, and both."""

    items: int
    one: int
    other: int
    both: int


@dataclass(frozen=True)
class Knowledge:
    """What a ledger knows of candidates."""

    position: int = 0
    settled_items: int = 0  # counted as far as `SETTLED_ITEMS`
    answers: Mapping[str, Tally] = field(default_factory=dict)  # of all topics
    on_topic: Mapping[str, Tally] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Missed] = field(
        default_factory=dict
    )  # names in the order of the alphabet


NOTHING = Knowledge()


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
            alike = compute_correlation(member, other, self.known, self.diversity)
            self.shared[other.model] = self.shared.get(other.model, 0.0) + member.weight * alike


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
        ledger_head=known.position,
    )


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
    """Those that add most, one after the other, with what each added; none twice before all were chosen."""
    used = {*taken}
    for _ in range(count):
        free = [one for one in candidates if one.model not in used]
        if not free:
            free, used = [*candidates], set()
        before = pool.compute_accuracy()
        gains = {
            one: round(pool.compute_accuracy(one) - before - points * one.price, DIGITS) + 0.0 for one in free
        }
        best = min(free, key=lambda one: (-gains[one], one.price, one.rank))
        used.add(best.model)
        pool.add(best, candidates)
        yield best, gains[best]


def pick_judges(
    pool: Pool, candidates: Sequence[Member], count: int, points: float, debating: Collection[str]
) -> list[tuple[Member, float]]:
    """Judges of other families than the debaters, then of the same ones, then the debaters' own models.

    Models that are drawn no better than a coin come last, whosever they are.
    """
    families = {*map(family, debating)}
    tiers: list[list[Member]] = [[], [], [], []]
    for one in candidates:
        rank = (one.family in families) + (one.model in debating)
        tiers[rank if one.log_odds > 0 else 3].append(one)
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


def find_tallies(model: str, known: Knowledge) -> tuple[Tally, Tally, Fraction]:
    """(answers on the topic, those on others, how much one of the others counts)."""
    on_topic = known.on_topic.get(model, Tally())
    others = known.answers.get(model, Tally()).subtract(on_topic)
    return on_topic, others, Fraction(TRANSFER_ITEMS, TRANSFER_ITEMS + others.items)


def compute_skill(model: str, known: Knowledge) -> tuple[Fraction, Fraction]:
    """(right, wrong) answers, as the parameters of a beta distribution."""
    on_topic, others, counted = find_tallies(model, known)
    right = Fraction(on_topic.credit, 2) + counted * Fraction(others.credit, 2)
    items = on_topic.items + counted * others.items
    return PRIOR_RIGHT + right, PRIOR_ITEMS - PRIOR_RIGHT + items - right


def compute_overconfidence(model: str, known: Knowledge) -> float:
    """How much surer a model is than right, on average; shrunk to a calibrated one by the items of the prior."""
    on_topic, others, counted = find_tallies(model, known)
    excess, told = Fraction(0), Fraction(PRIOR_ITEMS)
    for tally, share in ((on_topic, Fraction(1)), (others, counted)):
        excess += share * (Fraction(tally.percents, 100) - tally.likeliest_right)
        told += share * tally.told
    return float(excess / told)


def compute_correlation(one: Member, other: Member, known: Knowledge, diversity: float) -> float:
    """Of the errors of two models. With a smaller `diversity` all pairs are taken for more alike each other."""
    if one.model == other.model:
        alike = SAME_MODEL
    else:
        alike = SAME_FAMILY if one.family == other.family else OTHER_FAMILY
        first, second = sorted((one.model, other.model))
        missed = known.pairs.get((first, second))
        measured = compute_phi(missed) if missed else None
        if missed and measured is not None:
            alike = (PAIR_ITEMS * alike + missed.items * measured) / (PAIR_ITEMS + missed.items)
    return max(0.0, OTHER_FAMILY + diversity * (alike - OTHER_FAMILY))


def compute_phi(missed: Missed) -> float | None:
    """The correlation of errors; None where one of the two always errs, or never."""
    items, one, other, both = missed
    spread = one * (items - one) * other * (items - other)
    return (items * both - one * other) / math.sqrt(spread) if spread else None


def find_cost(price: Price | None) -> Decimal | None:
    """USD for a million tokens as debates take them; None where unknown."""
    if price is None or not price.input:
        return None
    tokens = INPUT_SHARE * Decimal(price.input) + Decimal(price.output or 0)
    return tokens * 1_000_000 / (INPUT_SHARE + 1)


def format_cost(cost: Decimal | None) -> str:
    return "" if cost is None else f"{cost:.4f}"


def compute_price_share(cost: Decimal | None, dearest: Decimal) -> float:
    """A price as a share of the dearest one's; an unknown one counts as the dearest, since unknown is not free."""
    return float(dearest if cost is None else cost) / float(dearest) if dearest else 0.0


def draw_accuracy(model: str, known: Knowledge, seed: int) -> float:
    """A draw from the distribution of a model's skill, rounded as it is recorded."""
    numbers = draw_numbers(f"{seed}:team:{model}")
    right, wrong = (draw_gamma(float(shape), numbers) for shape in compute_skill(model, known))
    return round(right / (right + wrong), 4)


def draw_numbers(name: str) -> Iterator[float]:
    """Numbers between 0 and 1 from hashes: every release and every Python draws the same."""
    number = 0
    while True:
        digest = sha256(f"{name}:{number}".encode()).digest()
        yield (int.from_bytes(digest[:6]) + 0.5) / 2**48
        number += 1


def draw_gamma(shape: float, numbers: Iterator[float]) -> float:
    """From a gamma distribution with a shape of 1 or more (Marsaglia and Tsang 2000, doi:10.1145/358407.358414)."""
    scale = shape - 1 / 3
    while True:
        normal = math.sqrt(-2 * math.log(next(numbers))) * math.cos(2 * math.pi * next(numbers))
        cube = (1 + normal / math.sqrt(9 * scale)) ** 3
        if cube > 0 and math.log(next(numbers)) < normal * normal / 2 + scale * (1 - cube + math.log(cube)):
            return scale * cube


def describe_team(setup: Opened) -> str:
    """Who was chosen, and by what, in a sentence or two; "" where the request says who sits where."""
    team = setup.team
    if team is None:
        return ""
    judging = ", ".join(dict.fromkeys(setup.judges.models)) if team.judges else ""
    of = "1 candidate" if len(team.candidates) == 1 else f"{len(team.candidates)} candidates"
    chosen = f"Chosen from {of}: {', '.join(team.chosen) or 'no debater'}"
    judges = f"; to judge: {judging}" if judging else ""
    about = f' about "{team.topic}"' if team.topic else ""
    if team.settled_items < SETTLED_ITEMS:
        why = (
            f"By families and prices alone: the ledger has {team.settled_items} settled items of them, and "
            f"{SETTLED_ITEMS} are needed to know more"
        )
    else:
        why = (
            f"By how often they were right{about} as far as the ledger knows, drawn from the seed, by what their "
            "errors have in common, and by price"
        )
    several = (
        "" if len(set(team.chosen)) == len(team.chosen) else " Some hold several seats: there were too few."
    )
    return f"{chosen}{judges}. {why}.{several}"


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
