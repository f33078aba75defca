"""From what judges, ballots or the moderator say to an outcome. Never a forced winner.

A judge who names one side in one order and another side in the other judged the order, not the
debate, and abstains (Zheng et al., arXiv 2306.05685; Zeng et al., LLMBar, arXiv 2310.07641).
"""

from fractions import Fraction

from server.debate.facts.events import Concluded, Event, Judged, Outcome, Vote
from server.debate.facts.state import Debate, judges
from server.debate.facts.text import counted as count_of
from server.debate.rules.schedule import decided_by


def conclude(debate: Debate) -> tuple[Event, ...]:
    """The verdict of a debate that has heard everybody; none where the talk itself is the result."""
    deciding = {"judges": judged, "moderator": settled, "ballots": voted}.get(decided_by(debate.setup))
    return (deciding(debate),) if deciding else ()


def judged(debate: Debate) -> Concluded:
    """As the judges found."""
    votes = tuple(vote(debate, judge) for judge in judges(debate.setup))
    counted = [v for v in votes if not v.abstains]
    outcome, winner = tally(counted, debate.threshold)
    spokesman = spokesman_for(debate, winner, counted)
    return Concluded(
        outcome=outcome,
        winner=winner,
        verdict=spokesman.verdict if spokesman else no_finding(votes),
        reasoning=spokesman.reasoning if spokesman else "",
        votes=votes,
    )


def vote(debate: Debate, judge: str) -> Vote:
    """What the readings of one judge come to."""
    readings = [found for found in debate.judged if found.seat == judge]
    asked = 2 if debate.setup.judges.both_orders else 1
    if not readings:
        return Vote(judge=judge, winner="", margin=0, abstains="gave no usable answer")
    if not all(found.informative for found in readings):
        return Vote(judge=judge, winner="", margin=0, abstains="is too small a model to judge")
    if len(readings) < asked:
        return Vote(judge=judge, winner="", margin=0, abstains="answered in one of the two orders only")
    winners = {found.winner for found in readings}
    if len(winners) > 1:
        return Vote(
            judge=judge, winner="", margin=0, abstains="found for another side when the order changed"
        )
    return Vote(
        judge=judge,
        winner=winners.pop(),
        margin=min(found.margin for found in readings),
        weight=weight_of(debate, judge),
    )


def weight_of(debate: Debate, seat: str) -> str:
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


def spokesman_for(debate: Debate, winner: str, votes: list[Vote]) -> Judged | None:
    """The reading whose words the verdict takes: the first of a judge who voted as the panel did.

    Where nobody won, the first reading of the first judge whose vote counts.
    """
    of_the_panel = [v.judge for v in votes if v.winner == winner] or [v.judge for v in votes]
    readings = [found for found in debate.judged if found.seat in of_the_panel[:1]]
    return min(readings, key=lambda found: found.reading, default=None)


def settled(debate: Debate) -> Concluded:
    """As the moderator decided: settled, or not within the rounds there were."""
    if not debate.closings:
        return Concluded(
            outcome="undecided", winner="", verdict="No finding: no round was closed.", reasoning="", votes=()
        )
    last = debate.closings[-1]
    if last.settled:
        outcome: Outcome = "decided" if last.informative else "undecided"
        return Concluded(outcome=outcome, winner="", verdict=last.decision, reasoning=last.summary, votes=())
    unsettled = f"Not settled in {count_of(debate.rounds_held, 'round')}."
    verdict = f"{unsettled} {last.decision}".rstrip()
    return Concluded(outcome="undecided", winner="", verdict=verdict, reasoning=last.summary, votes=())


def voted(debate: Debate) -> Concluded:
    """As the debaters voted. A missing or unreadable ballot is no vote."""
    votes = tuple(ballot_of(debate, name) for name in debate.names)
    counted = [v for v in votes if not v.abstains]
    outcome, winner = tally(counted, debate.threshold)
    return Concluded(
        outcome=outcome,
        winner=winner,
        verdict=told(debate, winner, counted) if counted else no_finding(votes),
        reasoning=next((b.reasoning for b in debate.last_ballots if winner and b.choice == winner), ""),
        votes=votes,
    )


def ballot_of(debate: Debate, name: str) -> Vote:
    """What a debater cast in the last vote. Ballots have no margin: each counts as clear."""
    last = next((ballot for ballot in debate.last_ballots if ballot.seat == name), None)
    if last is None:
        return Vote(judge=name, winner="", margin=0, abstains="gave no usable ballot")
    if not last.informative:
        return Vote(judge=name, winner="", margin=0, abstains="is too small a model to judge")
    if not last.choice:
        return Vote(judge=name, winner="", margin=0, abstains="abstained")
    return Vote(judge=name, winner=last.choice, margin=2, weight=weight_of(debate, name))


def told(debate: Debate, winner: str, counted: list[Vote]) -> str:
    if not winner:
        return f"The {count_of(len(counted), 'ballot')} are split: no position has a majority."
    votes = sum(v.winner == winner for v in counted)
    return f"{votes} of {count_of(len(counted), 'ballot')} for: {debate.debater(winner).stance}"


def no_finding(votes: tuple[Vote, ...]) -> str:
    return "No finding: " + "; ".join(f"{v.judge} {v.abstains}" for v in votes) + "."
