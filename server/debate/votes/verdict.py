"""Counting rules: from judgments, ballots or the moderator's decision to a verdict. A winner is never forced.

A judge who names another winner when positions, labels and order are turned abstains: a bias decided (Zheng et
al., arXiv 2306.05685 and 2309.03882; Zeng et al., LLMBar, arXiv 2310.07641).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction

from server.debate.facts.beliefs import TalkSkipped, Vote
from server.debate.facts.events import Balloted, Concluded, Event, Judged, Outcome
from server.debate.facts.text import format_count as count_of
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.labels import name_sides
from server.debate.state.memo import once
from server.debate.state.seats import hides
from server.debate.votes.counting import CLEAR_MARGIN, Count, Seat, count_votes
from server.debate.votes.families import family
from server.debate.votes.panel import (
    apply_voting_rule,
    build_agreed,
    compare_mirror,
    compute_ballot_vote,
    compute_judge_vote,
    list_judges,
    list_seats,
    seat_weight,
)
from server.debate.votes.readings import (
    find_fixed_ends,
    find_length_caps,
    find_speaker_models,
    find_talk_caps,
)
from server.debate.votes.voters import find_voters, verdict_source
from server.debate.votes.voting import SYNTHESIS


@once
def build_verdict_events(debate: Debate) -> tuple[Event, ...]:
    """The verdict by the debate's counting rule, after the consensus it rests on; () where it ends without one."""
    rule, skipped = verdict_source(debate.setup), debate.skipped
    if not rule and not skipped:
        return ()
    found = build_skipped_verdict(debate, skipped) if skipped else COUNTING_RULES[rule](debate)
    if found.outcome not in ("decided", "leaning", "synthesis"):
        return (found,)
    agreed = build_agreed(debate, found.votes, SYNTHESIS if found.outcome == "synthesis" else found.winner)
    return (found,) if agreed in debate.agreements else (agreed, found)


def find_verdict_problem(debate: Debate, event: Concluded) -> str:
    """Why a verdict is not possible; "" where it follows from the votes."""
    phase, source = debate.phase, verdict_source(debate.setup)
    if debate.verdict:
        return "there is a verdict already"
    if phase is None or not (source != "judges" or phase.is_judgment or debate.skipped):
        return "nobody was heard who decides"
    return "" if (event,) == build_verdict_events(debate) else "it does not follow from the votes"


def build_skipped_verdict(debate: Debate, skipped: TalkSkipped) -> Concluded:
    """The verdict of blind ballots that agree. Each voter was asked once, so that it is never decided."""
    ballots = [ballot for ballot in debate.private_ballots if ballot.wave == "blind"]
    votes = tuple(
        Vote(judge=name, winner=skipped.choice, margin=CLEAR_MARGIN, weight=seat_weight(debate, name))
        for name in debate.names
    )
    number = count_of(len(ballots), "blind ballot")
    return build_conclusion(
        count_panel(debate, votes),
        votes,
        f"All {number}, given before anybody spoke, are for: {debate.debater(skipped.choice).stance}",
        quote_voter(debate, ballots, skipped.choice),
    )


def build_judges_verdict(debate: Debate) -> Concluded:
    """The verdict of the judges: in the words of one who voted for the winner, else composed from the count."""
    votes = tuple(compute_judge_vote(debate, judge) for judge in list_judges(debate))
    count = count_panel(debate, votes)
    if count.outcome not in ("decided", "leaning", "synthesis"):
        return build_conclusion(count, votes, format_no_finding(debate, votes))
    reading = find_verdict_reading(debate, count, votes)
    if reading is None:
        is_mirrors = any(vote.winner == count.ahead for vote in votes)
        found = format_mirrors_winner if is_mirrors else format_ranked_winner
        return build_conclusion(count, votes, found(debate, count.ahead))
    own_words = reading.common_position if count.ahead == SYNTHESIS else reading.verdict
    return build_conclusion(
        count,
        votes,
        name_sides(debate, own_words or reading.verdict, reading.slot_index),
        name_sides(debate, reading.reasoning, reading.slot_index),
    )


def build_conclusion(count: Count, votes: tuple[Vote, ...], verdict: str, reasoning: str = "") -> Concluded:
    won = count.outcome in ("decided", "leaning")
    return Concluded(
        outcome=count.outcome,
        winner=count.ahead if won else "",
        verdict=verdict,
        reasoning=reasoning,
        votes=votes,
    )


def count_panel(debate: Debate, votes: tuple[Vote, ...]) -> Count:
    """The count of these votes, with the caps that this debate's weaknesses set."""
    seats = list_seats(debate, votes)
    threshold = None if debate.voting else debate.threshold
    count = count_votes(seats, threshold=threshold)
    if count.outcome == "decided" and find_caps(debate, count.ahead, seats):
        count = count_votes(seats, threshold=threshold, is_capped=True)
    return apply_voting_rule(debate, votes, count)


def find_caps(debate: Debate, ahead: str, seats: list[Seat]) -> list[str]:
    """Why the verdict for the side ahead is at most leaning, each as a sentence; [] where nothing caps it."""
    if debate.skipped:
        families = ", ".join(debate.skipped.families)
        return [
            f"Nobody argued and no judge was asked: blind ballots of different families ({families}) agreed."
        ]
    caps = find_talk_caps(debate)
    compared = compare_mirror(debate)
    if compared and compared.is_reversed:
        caps.append(
            f"The mirror reversed it: with the stances swapped, {compared.mirror_ahead}'s position was ahead, and "
            f"{compared.ahead}'s here. Who argued could have decided."
        )
    if verdict_source(debate.setup) != "judges":
        caps.append(
            "Each voter read once, all with one order of turns and the same labels: one could have decided."
        )
    else:
        if not debate.setup.judges.both_orders:
            caps.append("Each judge read once: an order of reading could have decided.")
        elif (ends := find_fixed_ends(debate)) and not (compared and compared.agrees):
            same = " and ".join(ends)
            caps.append(f"Who spoke {same} was the same in both readings: that place could have decided.")
        caps += find_length_caps(debate, ahead)
        models = find_speaker_models(debate)
        own = {family(model) for model in models.get(ahead, ())}
        others = {family(model) for name in debate.names if name != ahead for model in models[name]}
        supporters = {family(seat.model) for seat in seats if seat.side == ahead}
        if supporters and supporters <= own and others - own and not (compared and compared.agrees):
            caps.append(
                "Every judge for the winner is of the model family that argued for it; others argued the rest."
            )
    return caps


def format_ranked_winner(debate: Debate, winner: str) -> str:
    """The finding where ranks found a position that nobody chose first."""
    return f"Ahead by the order in which all hold the positions: {debate.debater(winner).stance}."


def format_mirrors_winner(debate: Debate, winner: str) -> str:
    """The finding where only judges of the mirror, who heard another debater argue it, voted for the position ahead."""
    return f"Ahead by the votes of the mirror's judges: {debate.debater(winner).stance}."


def find_verdict_reading(debate: Debate, count: Count, votes: tuple[Vote, ...]) -> Judged | None:
    """The first reading of the first judge who voted for the side ahead; None where nobody did."""
    winner = "" if count.ahead == SYNTHESIS else count.ahead
    own = judge_seats(debate.setup)
    judge = next((v.judge for v in votes if v.judge in own and not v.abstains and v.winner == winner), None)
    readings = (judged for judged in debate.judgments if judged.seat == judge)
    return min(readings, key=lambda judged: judged.slot_index, default=None)


def format_no_finding(debate: Debate, votes: tuple[Vote, ...]) -> str:
    """The count in a sentence: "2 of 3 found for Ada (a rewrite), 1 for Ben (no rewrite)"."""
    found = Counter(
        "a position made of the others" if v.for_synthesis else describe_side(debate, v.winner)
        for v in votes
        if not v.abstains
    )
    parts = [f"{number} of {len(votes)} found for {side}" for side, number in found.most_common()]
    reasons = [f"{v.judge} {v.abstains}" for v in votes if v.abstains]
    return f"No finding: {'; '.join([*parts, *reasons])}."


def describe_side(debate: Debate, name: str) -> str:
    return f"{name} ({debate.debater(name).stance})" if name else "no position"


def build_moderator_verdict(debate: Debate) -> Concluded:
    """The moderator's last decision: settled, or undecided."""
    if not debate.round_summaries:
        return Concluded(
            outcome="undecided", winner="", verdict="No finding: no round was closed.", reasoning="", votes=()
        )
    last = debate.round_summaries[-1]
    decision, summary = name_sides(debate, last.decision), name_sides(debate, last.summary)
    if last.settled:
        outcome: Outcome = "decided" if last.informative else "undecided"
        return Concluded(outcome=outcome, winner="", verdict=decision, reasoning=summary, votes=())
    verdict = f"Not settled in {count_of(debate.held_round_count, 'round')}. {decision}".rstrip()
    return Concluded(outcome="undecided", winner="", verdict=verdict, reasoning=summary, votes=())


def build_ballots_verdict(debate: Debate) -> Concluded:
    """The result of the last vote. A missing or unreadable ballot is no vote, and stays in the denominator."""
    votes = tuple(compute_ballot_vote(debate, seat) for seat in find_voters(debate.setup))
    count = count_panel(debate, votes)
    if count.outcome not in ("decided", "leaning"):
        return build_conclusion(count, votes, format_no_finding(debate, votes))
    cast = sum(v.winner == count.ahead for v in votes)
    if not cast:
        return build_conclusion(count, votes, format_ranked_winner(debate, count.ahead))
    return build_conclusion(
        count,
        votes,
        f"{cast} of {count_of(len(votes), 'voter')} for: {debate.debater(count.ahead).stance}",
        quote_voter(debate, debate.last_ballots, count.ahead),
    )


def quote_voter(debate: Debate, ballots: Iterable[Balloted], choice: str) -> str:
    """The words of the first voter for a position whom clients may read; "" where there is none."""
    hidden = debate.setup.hidden_from_client
    shown = (ballot for ballot in ballots if ballot.choice == choice and not hides(hidden, ballot.seat))
    return name_sides(debate, next((ballot.position for ballot in shown), ""))


def build_swing_verdict(debate: Debate) -> Concluded:
    """The position that gained most between the first vote and the last, as in Oxford-style debates.

    A voter moves who chose one position first and another at the end. A missing or unreadable ballot, an
    abstention or a model too small to judge is no movement. leaning: it gained most, or has `threshold` of the
    movement where one was set. contested: it has less than the threshold. undecided: no movement, or a tie.
    Never decided: each voter reads once, and a place or a label could have moved it.
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
    elif compute_share(moved, winner) < (debate.threshold or 0):
        outcome, winner = "contested", ""
    return Concluded(
        outcome=outcome,
        winner=winner,
        verdict=format_swing(debate, winner, counted, first) if counted else format_no_finding(debate, votes),
        reasoning=quote_voter(debate, debate.last_ballots, winner) if winner else "",
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
