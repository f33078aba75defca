"""Counting rules: from judgments, ballots or the moderator's decision to a verdict. A winner is never forced.

A verdict is recorded with the labels of the first reading, as every other text: people read names in it, and the
synthesizer labels.

A judge who names another winner when positions, labels and order are turned abstains: a bias decided (Zheng et
al., arXiv 2306.05685 and 2309.03882; Zeng et al., LLMBar, arXiv 2310.07641).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction

from server.debate.answer.debates import build_panel, count_debate
from server.debate.answer.report import find_report
from server.debate.ballots.report import list_disagreements
from server.debate.facts.beliefs import Vote
from server.debate.facts.events import Balloted, Concluded, Event, Judged, Outcome
from server.debate.facts.quoting import quote_heading
from server.debate.facts.setup.options import CountingRule
from server.debate.facts.text import format_count as count_of
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.labels import side_labels, turn_text
from server.debate.state.memo import once
from server.debate.state.seats import hides
from server.debate.votes.consensus import apply_voting_rule
from server.debate.votes.counting import SYNTHESIS, Count, CountedVote, count_votes
from server.debate.votes.families import family
from server.debate.votes.panel import (
    build_agreed,
    compare_mirror,
    compute_ballot_vote,
    compute_judge_vote,
    list_judges,
    list_readings_of,
    weigh_votes,
)
from server.debate.votes.readings import (
    find_fixed_ends,
    find_length_caps,
    find_talk_caps,
    list_speaker_models,
)
from server.debate.votes.voters import find_voters, verdict_source


@once
def build_verdict_events(debate: Debate) -> tuple[Event, ...]:
    """The verdict by the debate's counting rule, after the consensus it rests on; () where it ends without one."""
    rule = verdict_source(debate.setup)
    if rule == "answer":
        return build_answer_verdict(debate)
    if not rule:
        return ()
    found = COUNTING_RULES[rule](debate)
    if found.outcome not in ("decided", "leaning", "synthesis"):
        return (found,)
    winner = SYNTHESIS if found.outcome == "synthesis" else found.winner
    agreed = build_agreed(debate, weigh_votes(debate, found.votes), winner)
    return (found,) if agreed in debate.agreements else (agreed, found)


def find_verdict_problem(debate: Debate, event: Concluded) -> str:
    """Why a verdict is not possible; "" where it follows from the votes."""
    phase, source = debate.phase, verdict_source(debate.setup)
    if debate.verdict:
        return "there is a verdict already"
    if phase is None or not (source != "judges" or phase.is_judgment):
        return "nobody was heard who decides"
    return "" if (event,) == build_verdict_events(debate) else "it does not follow from the votes"


def build_answer_verdict(debate: Debate) -> tuple[Concluded, ...]:
    """The report of the answer format, with the votes behind it; () where nobody gave an answer."""
    panel = build_panel(debate)
    if not panel.answers:
        return ()
    count = count_debate(debate)
    report, _ = find_report(panel, count)
    votes = tuple(
        Vote(
            judge=vote.seat,
            winner=vote.side if vote.side in debate.names else "",
            margin=vote.margin,
            abstains=vote.abstains,
            for_synthesis=bool(vote.side) and vote.side not in debate.names,
        )
        for vote in count.votes
    )
    return (
        Concluded(
            outcome=count.outcome,
            winner="",
            verdict=report.recommendation,
            reasoning=report.because,
            votes=votes,
        ),
    )


def build_judges_verdict(debate: Debate) -> Concluded:
    """The verdict of the judges: in the words of one who voted for the winner, else composed from the count."""
    votes = tuple(compute_judge_vote(debate, judge) for judge in list_judges(debate))
    count = count_panel(debate, votes)
    if count.outcome not in ("decided", "leaning", "synthesis"):
        return build_conclusion(count, votes, format_tally(debate, votes))
    reading = find_verdict_reading(debate, count)
    if reading is None:  # only judges of the mirror, who heard another debater argue it, voted for it
        stance = debate.debater(count.ahead).stance
        return build_conclusion(count, votes, f"Ahead by the votes of the mirror's judges: {stance}.")
    advice = reading.recommendation or reading.verdict
    because = reading.verdict if reading.recommendation else reading.reasoning
    return build_conclusion(
        count,
        votes,
        turn_text(debate, advice, 1, written_in=reading.slot_index),
        turn_text(debate, because, 1, written_in=reading.slot_index),
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
    if debate.setup.answering:
        return count_debate(debate)
    counted = weigh_votes(debate, votes)
    threshold = None if debate.voting else debate.threshold
    compared = compare_mirror(debate)
    is_confirmed = compared is not None and compared.agrees
    count = count_votes(counted, threshold=threshold, is_confirmed=is_confirmed)
    if count.outcome == "decided" and find_caps(debate, count.ahead, counted):
        count = count_votes(counted, threshold=threshold, is_capped=True, is_confirmed=is_confirmed)
    return apply_voting_rule(debate.voting, count)


def find_caps(debate: Debate, ahead: str, votes: Iterable[CountedVote]) -> list[str]:
    """Why the verdict for the side ahead is at most leaning, each as a sentence; [] where nothing caps it."""
    caps = [*list_disagreements(debate, ahead), *find_talk_caps(debate)]
    compared = compare_mirror(debate)
    if compared and compared.is_reversed:
        caps.append(
            f"The mirror reversed it: with the stances swapped, {compared.mirror_ahead}'s position was ahead, and "
            f"{compared.ahead}'s here. Who argued could have decided."
        )
    if verdict_source(debate.setup) != "judges":
        caps.append(
            "Each voter read once, with the turns in one order: the order or the labels may have decided."
        )
    else:
        if not debate.setup.judges.both_orders:
            caps.append("Each judge read once: an order of reading could have decided.")
        elif (ends := find_fixed_ends(debate)) and not (compared and compared.agrees):
            same = " and ".join(ends)
            caps.append(f"Who spoke {same} was the same in both readings: that place could have decided.")
        caps += find_length_caps(debate, ahead)
        models = list_speaker_models(debate)
        own = {family(model) for model in models.get(ahead, ())}
        others = {family(model) for name in debate.names if name != ahead for model in models[name]}
        supporters = {vote.family for vote in votes if vote.side == ahead}
        if supporters and supporters <= own and others - own and not (compared and compared.agrees):
            caps.append(
                "Every judge for the winner is of the model family that argued for it; others argued the rest."
            )
    return caps


def find_verdict_reading(debate: Debate, count: Count) -> Judged | None:
    """The first reading of the first judge who voted for the side ahead; None where nobody did."""
    own = judge_seats(debate.setup)
    judge = next((seat for seat in count.supporters if seat in own), "")
    return list_readings_of(debate, judge)[0] if judge else None


def format_tally(debate: Debate, votes: tuple[Vote, ...]) -> str:
    """The count in a sentence: "2 of 3 found for K73 (a rewrite); 1 of 3 found for R45 (no rewrite)"."""
    found = Counter(
        "a position of their own" if v.for_synthesis else describe_side(debate, v.winner)
        for v in votes
        if not v.abstains
    )
    parts = [f"{number} of {len(votes)} found for {side}" for side, number in found.most_common()]
    labels = side_labels(debate)
    reasons = [f"{labels.get(v.judge, v.judge)} {v.abstains}" for v in votes if v.abstains]
    told = f"{'; '.join([*parts, *reasons])}."
    if 2 * sum(v.for_synthesis for v in votes) <= len(votes):
        return told
    differs = "These are not the same." if debate.comparison else "Whether these are the same, nobody said."
    return f"{told} {differs}"


def describe_side(debate: Debate, name: str) -> str:
    return f"{side_labels(debate)[name]} ({debate.debater(name).stance})" if name else "no position"


def build_moderator_verdict(debate: Debate) -> Concluded:
    """The moderator's last decision: settled, which is one model's word and at most leaning, or undecided."""
    if not debate.round_summaries:
        verdict = "The moderator closed no round."
        return Concluded(outcome="undecided", winner="", verdict=verdict, reasoning="", votes=())
    last = debate.round_summaries[-1]
    decision, summary = last.decision, last.summary
    if last.settled:
        outcome: Outcome = "leaning" if last.informative else "undecided"
        return Concluded(outcome=outcome, winner="", verdict=decision, reasoning=summary, votes=())
    verdict = f"Not settled in {count_of(debate.held_round_count, 'round')}. {decision}".rstrip()
    return Concluded(outcome="undecided", winner="", verdict=verdict, reasoning=summary, votes=())


def build_ballots_verdict(debate: Debate) -> Concluded:
    """The result of the last vote. A missing or unreadable ballot is no vote, and stays in the denominator."""
    votes = tuple(compute_ballot_vote(debate, seat) for seat in find_voters(debate.setup))
    count = count_panel(debate, votes)
    words = quote_voter(debate, debate.last_ballots, count.ahead) if count.ahead else ""
    if count.outcome not in ("decided", "leaning"):
        return build_conclusion(count, votes, format_tally(debate, votes), words)
    cast = sum(v.winner == count.ahead for v in votes)
    stance = debate.debater(count.ahead).stance
    return build_conclusion(count, votes, f"{cast} of {count_of(len(votes), 'voter')} for: {stance}", words)


def quote_voter(debate: Debate, ballots: Iterable[Balloted], choice: str) -> str:
    """The words of the first voter for a position whom clients may read; "" where there is none."""
    hidden = debate.setup.hidden_from_client
    chosen = (ballot for ballot in ballots if ballot.choice == choice)
    return next((b.position for b in chosen if not hides(debate.setup, hidden, b.seat)), "")


def build_swing_verdict(debate: Debate) -> Concluded:
    """The position that gained most between the first vote and the last, as in Oxford-style debates.

    A voter moves who chose one position first and another at the end. A missing or unreadable ballot, an
    abstention or a model too small to judge is no movement. leaning: it gained most, or has `threshold` of the
    movement where one was set. contested: it has less than the threshold. undecided: no movement, or a tie.
    Never decided: each voter reads once, and a place or a label could have moved it.
    """
    votes = tuple(compute_swing_vote(debate, seat) for seat in find_voters(debate.setup))
    first = read_first_choices(debate)
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
    elif sum_weights(moved, winner) < (debate.threshold or 0) * sum_weights(moved):
        outcome, winner = "contested", ""
    heads = {
        "leaning": f"The audience moved to {quote_heading(debate.debater(winner).stance)}." if winner else "",
        "contested": "No position gained enough votes.",
        "undecided": "Several positions gained alike." if best > 0 else "No position gained votes.",
    }
    head = heads[outcome]
    if side := find_unmoved_side(debate, votes):
        stance, share = quote_heading(debate.debater(side).stance), f"{len(counted)} of {len(votes)}"
        head = f"The audience held {stance} before and after ({share}): the talk moved nobody."
    ahead = winner or side
    return Concluded(
        outcome=outcome,
        winner=winner,
        verdict=format_swing(debate, head, counted, first) if counted else format_tally(debate, votes),
        reasoning=quote_voter(debate, debate.last_ballots, ahead) if ahead else "",
        votes=votes,
    )


def find_unmoved_side(debate: Debate, votes: Iterable[Vote]) -> str:
    """The position that every vote of an audience that counts is for, in the first vote too; "" for none."""
    first = read_first_choices(debate)
    held = {choice for v in votes if not v.abstains for choice in (first.get(v.judge, ""), v.winner)}
    return held.pop() if len(held) == 1 else ""


def read_first_choices(debate: Debate) -> dict[str, str]:
    """The choice of each voter in the first vote."""
    return {ballot.seat: ballot.choice for ballot in debate.votes[0]} if debate.votes else {}


def compute_swing_vote(debate: Debate, seat: str) -> Vote:
    """The last vote of a seat; it does not count without a position in the first vote."""
    vote = compute_ballot_vote(debate, seat)
    if vote.abstains:
        return vote
    if len(debate.votes) < 2 or not read_first_choices(debate).get(seat):  # noqa: PLR2004  (before and after)
        return Vote(judge=seat, winner="", margin=0, abstains="chose no position in the first vote")
    return vote


def sum_weights(votes: Iterable[Vote], winner: str = "") -> Fraction:
    """The weight of the votes: of those for a position, or of all."""
    return sum((Fraction(v.weight) for v in votes if winner in ("", v.winner)), Fraction(0))


def format_swing(debate: Debate, head: str, votes: list[Vote], first: dict[str, str]) -> str:
    counts = [
        f"{quote_heading(debate.debater(name).stance)}: {before} before, {after} after"
        for name in debate.names
        if (before := sum(first[v.judge] == name for v in votes))
        + (after := sum(v.winner == name for v in votes))
    ]
    return f"{head} Votes: {'; '.join(counts)}."


COUNTING_RULES: dict[CountingRule, Callable[[Debate], Concluded]] = {
    "judges": build_judges_verdict,
    "moderator": build_moderator_verdict,
    "ballots": build_ballots_verdict,
    "swing": build_swing_verdict,
}
"""Formats name a rule; without one it follows from the phases."""
