"""Counting rules: from judgments, ballots or the moderator's decision to an outcome. A winner is never forced.

A judge who names another winner when the order of reading changes abstains: the order decided (Zheng et al.,
arXiv 2306.05685; Zeng et al., LLMBar, arXiv 2310.07641).
"""

from collections.abc import Callable
from fractions import Fraction

from server.debate.facts.events import Concluded, Event, Judged, Outcome, Vote
from server.debate.facts.state import Debate, judge_seats
from server.debate.facts.text import format_count as count_of
from server.debate.rules.schedule import find_voters, verdict_source


def build_verdict_events(debate: Debate) -> tuple[Event, ...]:
    """The verdict by the debate's counting rule; () where it ends without one."""
    rule = verdict_source(debate.setup)
    return (COUNTING_RULES[rule](debate),) if rule else ()


def build_judges_verdict(debate: Debate) -> Concluded:
    """The verdict of the judges, in the words of one of the majority."""
    votes = tuple(compute_judge_vote(debate, judge) for judge in judge_seats(debate.setup))
    counted = [v for v in votes if not v.abstains]
    outcome, winner = tally(counted, debate.threshold)
    reading = find_verdict_reading(debate, winner, counted)
    return Concluded(
        outcome=outcome,
        winner=winner,
        verdict=reading.verdict if reading else format_no_finding(votes),
        reasoning=reading.reasoning if reading else "",
        votes=votes,
    )


def compute_judge_vote(debate: Debate, judge: str) -> Vote:
    """The vote of a judge from all its readings."""
    readings = [judged for judged in debate.judgments if judged.seat == judge]
    expected = 2 if debate.setup.judges.both_orders else 1
    if not readings:
        return Vote(judge=judge, winner="", margin=0, abstains="gave no usable answer")
    if not all(judged.informative for judged in readings):
        return Vote(judge=judge, winner="", margin=0, abstains="is too small a model to judge")
    if len(readings) < expected:
        return Vote(judge=judge, winner="", margin=0, abstains="answered in one of the two orders only")
    winners = {judged.winner for judged in readings}
    if len(winners) > 1:
        return Vote(
            judge=judge, winner="", margin=0, abstains="found for another side when the order changed"
        )
    return Vote(
        judge=judge,
        winner=winners.pop(),
        margin=min(judged.margin for judged in readings),
        weight=seat_weight(debate, judge),
    )


def seat_weight(debate: Debate, seat: str) -> str:
    return str(debate.weights.get(seat, 1))


def tally(votes: list[Vote], threshold: Fraction | None = None) -> tuple[Outcome, str]:
    """(outcome, winner) of the votes that count, each with its weight.

    decided: all for one side, each clearly (margin 2 or more). leaning: a majority of the weight, or
    `threshold` of it where one was set; or all of them narrowly. contested: split, or without any
    margin. undecided: nobody found for a side.
    """
    sides: dict[str, Fraction] = {}
    for v in votes:
        if v.winner:
            sides[v.winner] = sides.get(v.winner, Fraction(0)) + Fraction(v.weight)
    if not sides:
        return "undecided", ""
    winner = max(sides, key=lambda side: sides[side])
    margins = [v.margin for v in votes if v.winner == winner]
    if len(margins) == len(votes) and min(margins) >= 2:  # noqa: PLR2004  (see the docstring)
        return "decided", winner
    share = sides[winner] / sum((Fraction(v.weight) for v in votes), Fraction(0))
    alone = list(sides.values()).count(sides[winner]) == 1
    enough = share > Fraction(1, 2) if threshold is None else share >= threshold and alone
    return ("leaning", winner) if enough and max(margins) >= 1 else ("contested", "")


def find_verdict_reading(debate: Debate, winner: str, votes: list[Vote]) -> Judged | None:
    """The reading that the verdict quotes: the first one of the first judge who voted for the winner.

    Without a winner, the first one of the first judge whose vote counts.
    """
    judges = [v.judge for v in votes if v.winner == winner] or [v.judge for v in votes]
    readings = [judged for judged in debate.judgments if judged.seat in judges[:1]]
    return min(readings, key=lambda judged: judged.slot_index, default=None)


def build_moderator_verdict(debate: Debate) -> Concluded:
    """The moderator's last decision: settled, or undecided."""
    if not debate.round_summaries:
        return Concluded(
            outcome="undecided", winner="", verdict="No finding: no round was closed.", reasoning="", votes=()
        )
    last = debate.round_summaries[-1]
    if last.settled:
        outcome: Outcome = "decided" if last.informative else "undecided"
        return Concluded(outcome=outcome, winner="", verdict=last.decision, reasoning=last.summary, votes=())
    unsettled = f"Not settled in {count_of(debate.held_round_count, 'round')}."
    verdict = f"{unsettled} {last.decision}".rstrip()
    return Concluded(outcome="undecided", winner="", verdict=verdict, reasoning=last.summary, votes=())


def build_ballots_verdict(debate: Debate) -> Concluded:
    """The result of the last vote. A missing or unreadable ballot is no vote."""
    votes = tuple(compute_ballot_vote(debate, seat) for seat in find_voters(debate.setup))
    counted = [v for v in votes if not v.abstains]
    outcome, winner = tally(counted, debate.threshold)
    return Concluded(
        outcome=outcome,
        winner=winner,
        verdict=format_ballot_result(debate, winner, counted) if counted else format_no_finding(votes),
        reasoning=next((b.reasoning for b in debate.last_ballots if winner and b.choice == winner), ""),
        votes=votes,
    )


def compute_ballot_vote(debate: Debate, name: str) -> Vote:
    """The vote of a seat in the last vote. Ballots have no margin: each counts as clear."""
    last = next((ballot for ballot in debate.last_ballots if ballot.seat == name), None)
    if last is None:
        return Vote(judge=name, winner="", margin=0, abstains="gave no usable ballot")
    if not last.informative:
        return Vote(judge=name, winner="", margin=0, abstains="is too small a model to judge")
    if not last.choice:
        return Vote(judge=name, winner="", margin=0, abstains="abstained")
    return Vote(judge=name, winner=last.choice, margin=2, weight=seat_weight(debate, name))


def format_ballot_result(debate: Debate, winner: str, valid_votes: list[Vote]) -> str:
    if not winner:
        return f"The {count_of(len(valid_votes), 'ballot')} are split: no position has a majority."
    votes = sum(v.winner == winner for v in valid_votes)
    return f"{votes} of {count_of(len(valid_votes), 'ballot')} for: {debate.debater(winner).stance}"


def format_no_finding(votes: tuple[Vote, ...]) -> str:
    return "No finding: " + "; ".join(f"{v.judge} {v.abstains}" for v in votes) + "."


def build_swing_verdict(debate: Debate) -> Concluded:
    """The position that gained most between the first vote and the last, as in Oxford-style debates.

    A voter moves who chose one position first and another at the end. A missing or unreadable ballot, an
    abstention or a model too small to judge is no movement. decided: nobody moved elsewhere, and more than
    half of the weight did move. leaning: it gained most, or has `threshold` of the movement where one was
    set. contested: it has less than the threshold. undecided: no movement, or a tie.
    """
    votes = tuple(compute_swing_vote(debate, seat) for seat in find_voters(debate.setup))
    first = {ballot.seat: ballot.choice for ballot in debate.votes[0]} if debate.votes else {}
    counted = [v for v in votes if not v.abstains]
    moved = [v for v in counted if first[v.judge] != v.winner]
    gains = dict.fromkeys(debate.names, Fraction(0))
    for v in moved:
        gains[v.winner] += Fraction(v.weight)
        gains[first[v.judge]] -= Fraction(v.weight)
    best = max(gains.values())
    winner = next(name for name in gains if gains[name] == best)
    outcome: Outcome = "leaning"
    if best <= 0 or list(gains.values()).count(best) > 1:
        outcome, winner = "undecided", ""
    elif (share := compute_share(moved, winner)) < (debate.threshold or 0):
        outcome, winner = "contested", ""
    elif share == 1 and best > sum(Fraction(v.weight) for v in counted) / 2:
        outcome = "decided"
    return Concluded(
        outcome=outcome,
        winner=winner,
        verdict=format_swing(debate, winner, counted, first) if counted else format_no_finding(votes),
        reasoning=next((b.reasoning for b in debate.last_ballots if winner and b.choice == winner), ""),
        votes=votes,
    )


def compute_swing_vote(debate: Debate, seat: str) -> Vote:
    """The last vote of a seat; it does not count without a position in the first vote."""
    vote = compute_ballot_vote(debate, seat)
    before = (
        next((ballot for ballot in debate.votes[0] if ballot.seat == seat), None) if debate.votes else None
    )
    if vote.abstains:
        return vote
    if len(debate.votes) < 2 or before is None or not before.choice:  # noqa: PLR2004  (before and after)
        return Vote(judge=seat, winner="", margin=0, abstains="chose no position in the first vote")
    return vote


def compute_share(votes: list[Vote], winner: str) -> Fraction:
    """The share of the votes' weight that is for a position."""
    weights = [(Fraction(v.weight), v.winner == winner) for v in votes]
    return sum((weight for weight, is_for in weights if is_for), Fraction(0)) / sum(
        weight for weight, _ in weights
    )


def format_swing(debate: Debate, winner: str, votes: list[Vote], first: dict[str, str]) -> str:
    counts = [
        f"{debate.debater(name).stance}: {before} before, {after} after"
        for name in debate.names
        if (before := sum(first[v.judge] == name for v in votes))
        + (after := sum(v.winner == name for v in votes))
    ]
    head = (
        f"The audience moved to: {debate.debater(winner).stance}."
        if winner
        else "No position won the audience over."
    )
    return f"{head} Votes: {'; '.join(counts)}."


COUNTING_RULES: dict[str, Callable[[Debate], Concluded]] = {
    "judges": build_judges_verdict,
    "moderator": build_moderator_verdict,
    "ballots": build_ballots_verdict,
    "swing": build_swing_verdict,
}
"""How a verdict is made. Formats name a rule; without one it follows from the phases."""
