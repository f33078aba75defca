"""Whether agreement may be hollow: seven signals with their counts, and four patterns that combine them.

Signals and thresholds come from a simulator of debates: agreement from a shared source can be told from independent
agreement, mere conformity hardly. No signal tells a wrong unanimous answer from a right one, so none of them ever
changes how sure a verdict is.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Literal, get_args

from server.debate.arguments.citations import Link, find_citations, name_seats
from server.debate.arguments.points import list_points
from server.debate.ballots.convergence import find_share, measure_movement
from server.debate.ballots.waves import MIN_ROUNDS
from server.debate.documents.marks import check_quotes
from server.debate.facts.beliefs import Citation, HollowPattern, Signal, SignalName, format_share
from server.debate.facts.events import Balloted
from server.debate.facts.setup.seats import HUMAN
from server.debate.state.debate import Debate
from server.debate.state.memo import once
from server.debate.votes.families import family

THRESHOLDS: dict[SignalName, Fraction] = {
    "gap": Fraction(3, 10),
    "unexplained_flips": Fraction(3, 10),
    "nothing_new": Fraction(3, 4),
    "overlap": Fraction(1, 5),
    "unanswered_attacks": Fraction(1, 2),
    "lost_dissent": Fraction(1, 2),
    "dependence": Fraction(4, 5),
}
CountedSignal = Literal["gap", "unexplained_flips", "nothing_new", "overlap"]
COUNTED: tuple[CountedSignal, ...] = get_args(CountedSignal)
"""The signals that can bring a challenge, two at least. The worth of the others is assumed, not measured."""

OF_CHANGED_MINDS: tuple[SignalName, ...] = ("gap", "unexplained_flips", "nothing_new")
"""The signals about changes of mind in public, which advocates never make."""

ENOUGH = 2
SAME_SOURCES = Fraction(4, 5)
HALF = Fraction(1, 2)
SAME_MODEL, SAME_FAMILY, OTHERWISE = Fraction(9, 10), Fraction(7, 10), Fraction(1, 2)
"""How the errors of two models correlate, as in the count of votes."""

ATTACKS = ("attacks", "undercuts")
_CHANGED_BY = re.compile(
    r"\[changed by\s+(?P<who>[^\[\]\n]{1,80}?)\s+(?P<round>\d{1,6})\.\d{1,6}\]", re.IGNORECASE
)

Passage = tuple[int, int, int]  # document, start, end


def may_change_in_public(debate: Debate) -> bool:
    return debate.setup.brief == "panel"


@once
def measure_signals(debate: Debate) -> tuple[Signal, ...]:
    """The seven signals after the answers so far."""
    measurements = {
        "gap": measure_gap(debate),
        "unexplained_flips": measure_flips(debate),
        "nothing_new": measure_news(debate),
        "overlap": measure_overlap(debate, debate.names),
        "unanswered_attacks": measure_attacks(debate),
        "lost_dissent": measure_dissent(debate),
        "dependence": measure_dependence(debate),
    }
    signals = []
    for name, threshold in THRESHOLDS.items():
        measurement = (
            None if name in OF_CHANGED_MINDS and not may_change_in_public(debate) else measurements[name]
        )
        value, part, whole = measurement or (None, 0, 0)
        is_raised = value is not None and value >= threshold
        text = "" if value is None else format_share(value)
        signals.append(Signal(name=name, raised=is_raised, value=text, part=part, whole=whole))
    return tuple(signals)


def is_worth_a_challenge(signals: Iterable[Signal]) -> bool:
    return sum(signal.raised for signal in signals if signal.name in COUNTED) >= ENOUGH


Measurement = tuple[Fraction, int, int] | None
"""(the value of a signal, the part and the whole that it counts); None where it cannot be computed."""


def share(part: int, whole: int) -> tuple[Fraction, int, int]:
    return (Fraction(part, whole) if whole else Fraction(0)), part, whole


def list_ballots(debate: Debate) -> dict[str, list[Balloted]]:
    """The informative ballots of each debater, in the order in which they were asked for."""
    cast = sorted(debate.ballots, key=lambda ballot: (ballot.round, ballot.slot_index))
    return {
        name: ballots
        for name in debate.names
        if (ballots := [ballot for ballot in cast if ballot.seat == name and ballot.informative])
    }


def list_last_ballots(debate: Debate) -> dict[str, Balloted]:
    """The last ballot of each debater once the talk has begun."""
    ballots = list_ballots(debate)
    return {name: cast[-1] for name, cast in ballots.items() if cast[-1].wave != "blind"}


def find_public_positions(debate: Debate) -> dict[str, str]:
    """Whose position each debater defends in public: its own, until it says what changed its mind."""
    positions = {name: name for name in debate.names}
    seats = {word.casefold(): seat for word, seat in name_seats(debate).items()}
    for turn in filter(debate.is_active, debate.turns if may_change_in_public(debate) else ()):
        for match in _CHANGED_BY.finditer(turn.text):
            if position := seats.get(match["who"].casefold()):
                positions[turn.seat] = position
    return positions


def measure_gap(debate: Debate) -> Measurement:
    """The mean private disbelief in what a debater defends in public; those who choose otherwise, of all."""
    public, ballots = find_public_positions(debate), list_last_ballots(debate)
    if not ballots:
        return None
    disbelief = sum(
        (1 - find_share(ballot.beliefs, public[name]) for name, ballot in ballots.items()), Fraction(0)
    )
    other_choices = sum(ballot.choice != public[name] for name, ballot in ballots.items())
    return disbelief / len(ballots), other_choices, len(ballots)


def measure_flips(debate: Debate) -> Measurement:
    """The share of debaters who chose another position without a reason that was new to them."""
    revoters = {name: cast for name, cast in list_ballots(debate).items() if len(cast) > 1}
    flips = sum(any(is_unexplained(*pair) for pair in pairwise(cast)) for cast in revoters.values())
    return share(flips, len(revoters)) if revoters else None


def is_unexplained(before: Balloted, after: Balloted) -> bool:
    """Whether a choice changed without a stated reason, or with one that the voter knew before."""
    if not (before.choice and after.choice) or before.choice == after.choice:
        return False
    last_known_round = 0 if before.wave == "blind" else before.round
    return after.moved_by is None or after.moved_by.round <= last_known_round


def measure_news(debate: Debate) -> Measurement:
    """How little was new in the rounds where agreement grew: one less the share of voters who name a new point."""
    new_points = voters = 0
    latest = {name: cast[0] for name, cast in list_ballots(debate).items() if cast[0].wave == "blind"}
    rounds: defaultdict[int, list[Balloted]] = defaultdict(list)
    for ballot in debate.ballots:
        if ballot.wave == "round" and ballot.informative:
            rounds[ballot.round].append(ballot)
    for _, cast in sorted(rounds.items()):
        before, latest = latest, latest | {ballot.seat: ballot for ballot in cast}
        if before and count_agreeing(latest.values()) > count_agreeing(before.values()):
            new_points += sum(bool(ballot.new_point) for ballot in cast)
            voters += len(cast)
    if not rounds:
        return None
    return (1 - Fraction(new_points, voters) if voters else Fraction(0)), voters - new_points, voters


def count_agreeing(ballots: Iterable[Balloted]) -> int:
    counts = Counter(ballot.choice for ballot in ballots if ballot.choice)
    return max(counts.values(), default=0)


@once
def list_passages(debate: Debate) -> dict[str, frozenset[Passage]]:
    """The passages of documents that each debater quoted, as they were found."""
    passages_by_seat: dict[str, set[Passage]] = {name: set() for name in debate.names}
    for turn in filter(debate.is_active, debate.turns):
        for quote in check_quotes(debate, turn.text, turn.seen):
            if quote.span and quote.source:
                passages_by_seat[turn.seat].add((quote.source.number, quote.span.start, quote.span.end))
    return {name: frozenset(passages) for name, passages in passages_by_seat.items() if passages}


def measure_overlap(debate: Debate, names: Iterable[str]) -> Measurement:
    """The mean overlap (Jaccard) of the passages that two debaters quote; passages that several quote, of all."""
    passages = list_passages(debate)
    quoting = [passages[name] for name in names if name in passages]
    if len(quoting) < ENOUGH:
        return None
    overlaps = [
        measure_pair(passages_of_one, passages_of_other)
        for passages_of_one, passages_of_other in combinations(quoting, 2)
    ]
    all_passages = frozenset().union(*quoting)
    shared_count = sum(sum(is_among(passage, own) for own in quoting) > 1 for passage in all_passages)
    return sum(overlaps, Fraction(0)) / len(overlaps), shared_count, len(all_passages)


def measure_pair(one: frozenset[Passage], other: frozenset[Passage]) -> Fraction:
    common = sum(is_among(passage, other) for passage in one)
    return Fraction(common, len(one) + len(other) - min(common, len(other)))


def is_among(passage: Passage, others: Iterable[Passage]) -> bool:
    document, start, end = passage
    return any(document == number and start < stop and begin < end for number, begin, stop in others)


@once
def list_active_points(debate: Debate) -> tuple[Citation, ...]:
    """The points of turns that were not retracted."""
    return tuple(point_id for point_id, point in list_points(debate).items() if debate.is_active(point.turn))


@once
def list_links(debate: Debate) -> tuple[Link, ...]:
    """The links from points of turns that were not retracted."""
    citations = find_citations(debate)
    return tuple(link for source in list_active_points(debate) for link in citations[source].links)


def measure_attacks(debate: Debate) -> Measurement:
    """The share of attacks that the attacked debater never answered, of those that it could still answer."""
    links, last_round = list_links(debate), find_last_round(debate)
    attacks = [link for link in links if link.relation in ATTACKS and link.source.round < last_round]
    answers = {(link.source.seat, link.target) for link in links}
    unanswered_count = sum((attack.target.seat, attack.source) not in answers for attack in attacks)
    return share(unanswered_count, len(attacks)) if links else None


def measure_dissent(debate: Debate) -> Measurement:
    """The share of the minority's points that nobody else takes up."""
    ballots, links = list_last_ballots(debate), list_links(debate)
    leader = choose_leader_of_ballots(ballots)
    if not (leader and links):
        return None
    minority = {name for name, ballot in ballots.items() if ballot.choice not in ("", leader)}
    points = [point for point in list_active_points(debate) if point.seat in minority]
    taken_up = {link.target for link in links if link.source.seat != link.target.seat}
    return share(sum(point not in taken_up for point in points), len(points))


def choose_leader_of_ballots(ballots: Mapping[str, Balloted]) -> str:
    """The position that more voters choose than any other; "" for none."""
    counts = Counter(ballot.choice for ballot in ballots.values() if ballot.choice).most_common(2)
    (leader, votes), (_, next_votes) = [*counts, ("", 0), ("", 0)][:2]
    return leader if votes > next_votes else ""


def measure_dependence(debate: Debate) -> Measurement:
    """How much the errors of two debaters correlate, on average; debaters who share a model, of all."""
    answering_models = {turn.seat: turn.usage.model for turn in debate.turns}
    models = [answering_models.get(debater.name, debater.model) for debater in debate.setup.debaters]
    alike = [measure_likeness(model, other_model) for model, other_model in combinations(models, 2)]
    mean = sum(alike, Fraction(0)) / len(alike)
    shared_count = sum(models.count(model) > 1 and model != HUMAN for model in models)
    return mean, shared_count, len(models)


def measure_likeness(model: str, other: str) -> Fraction:
    """How much the errors of two models correlate. Two people count as two."""
    if HUMAN in (model, other) or family(model) != family(other):
        return OTHERWISE
    return SAME_MODEL if model == other else SAME_FAMILY


def find_last_round(debate: Debate) -> int:
    """The last round of talk; 0 before the first."""
    return max(debate.talk_rounds, default=0)


def list_patterns(debate: Debate) -> tuple[HollowPattern, ...]:
    """The patterns that hold after the round of talk under way."""
    holds: dict[HollowPattern, bool] = {
        "quick_unanimity": is_quick_unanimity(debate),
        "shallow_reasoning": is_shallow_reasoning(debate),
        "echo_chamber": is_echo_chamber(debate),
        "groupthink": is_groupthink(debate),
    }
    return tuple(name for name, is_so in holds.items() if is_so)


def is_quick_unanimity(debate: Debate) -> bool:
    """Everybody agrees in private, or the moderator settles it, within two rounds; before the talk they disagreed."""
    first_choices = [cast[0].choice for cast in list_ballots(debate).values() if cast[0].wave == "blind"]
    last_choices = [ballot.choice for ballot in list_last_ballots(debate).values()]
    agree = len(last_choices) == len(debate.names) and len(set(last_choices)) == 1 and last_choices[0] != ""
    is_settled = any(
        summary.settled and summary.round == find_last_round(debate) for summary in debate.round_summaries
    )
    return debate.talk_round_count <= MIN_ROUNDS and len(set(first_choices)) > 1 and (agree or is_settled)


def is_shallow_reasoning(debate: Debate) -> bool:
    """Somebody changed its choice for no new reason, or beliefs moved in a round without anything new."""
    if not may_change_in_public(debate):
        return False
    flips = measure_flips(debate)
    cast = [b for b in debate.round_ballots(find_last_round(debate)) if b.wave == "round" and b.informative]
    nothing_new = bool(cast) and not any(ballot.new_point for ballot in cast)
    ballots = list_ballots(debate)
    has_moved = any(measure_movement(*ballots[b.seat][-2:]) > 0 for b in cast if len(ballots[b.seat]) > 1)
    return bool(flips and flips[1]) or (nothing_new and has_moved)


def is_echo_chamber(debate: Debate) -> bool:
    """Most who agree quote the same passages, all quote one document of several, or points are repeated."""
    ballots, passages = list_last_ballots(debate), list_passages(debate)
    leader = choose_leader_of_ballots(ballots)
    majority = [name for name, ballot in ballots.items() if leader and ballot.choice == leader]
    overlap = measure_overlap(debate, majority)
    documents = {passage[0] for passages_of_one in passages.values() for passage in passages_of_one}
    is_one_source = len(passages) > 1 and len(documents) == 1 and len(debate.setup.documents) > 1
    last_round = find_last_round(debate)
    round_points = [point for point in list_active_points(debate) if point.round == last_round]
    repeats = {link.source for link in list_links(debate) if link.relation in ("repeats", "same_as")}
    repetitions = sum(point in repeats for point in round_points)
    is_repeated = bool(round_points) and Fraction(repetitions, len(round_points)) >= HALF
    return bool(overlap and overlap[0] >= SAME_SOURCES) or is_one_source or is_repeated


def is_groupthink(debate: Debate) -> bool:
    """Attacks stopped; who disagrees in private never says so; or the minority's points are all lost."""
    links = list_links(debate)
    if not links or debate.talk_round_count < ENOUGH:
        return False
    attacks = [link for link in links if link.relation in ATTACKS]
    last_round = find_last_round(debate)
    has_stopped = not any(link.source.round == last_round for link in attacks)
    dissent = measure_dissent(debate)
    is_lost = bool(dissent and dissent[2] and dissent[1] == dissent[2])
    return has_stopped or is_lost or (may_change_in_public(debate) and hides_dissent(debate, attacks))


def hides_dissent(debate: Debate, attacks: Iterable[Link]) -> bool:
    """Whether nobody who holds another position in private attacks the one that most defend in public."""
    public, ballots = find_public_positions(debate), list_last_ballots(debate)
    counts = Counter(public.values()).most_common(1)
    leader, supporters = counts[0]
    dissenting = {name for name, ballot in ballots.items() if ballot.choice not in ("", leader)}
    silent = {name for name in dissenting if public[name] == leader}
    spoke = {attack.source.seat for attack in attacks if public.get(attack.target.seat) == leader}
    return supporters > 1 and bool(silent) and not (silent & spoke)


UNITS: dict[SignalName, str] = {
    "gap": "debaters who choose otherwise in private",
    "unexplained_flips": "debaters who changed their choice without a new reason",
    "nothing_new": "voters who name nothing new where agreement rose",
    "overlap": "passages that several quote",
    "unanswered_attacks": "attacks that their target never spoke to",
    "lost_dissent": "points of a minority that nobody took up",
    "dependence": "debaters who share a model",
}
NOT_COMPUTED = "not computed: nothing to count"
FOR_ADVOCATES = "not computed: advocates do not change their mind in public"


def describe_counts(debate: Debate, signal: Signal) -> str:
    """What a signal counted, or why it is not computed."""
    if signal.value:
        count = f"{signal.part} of {signal.whole} {UNITS[signal.name]}"
        return f"{count}, {count_voices(signal)} independent voices" if signal.name == "dependence" else count
    is_advocates = signal.name in OF_CHANGED_MINDS and not may_change_in_public(debate)
    return FOR_ADVOCATES if is_advocates else NOT_COMPUTED


def count_voices(dependence: Signal) -> str:
    """How many independent voices the debaters are worth, counted as for judges, with one digit."""
    return f"{float(dependence.whole / (1 + (dependence.whole - 1) * Fraction(dependence.value))):.1f}"
