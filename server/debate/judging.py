"""From the judges' readings to an outcome. Never a forced winner.

A judge who names one side in one order and another side in the other judged the order, not the
debate, and abstains (Zheng et al., arXiv 2306.05685; Zeng et al., LLMBar, arXiv 2310.07641).
"""

from collections import Counter

from server.debate.events import Concluded, Judged, Outcome, Vote
from server.debate.state import Debate, judges


def conclude(debate: Debate) -> Concluded:
    """The verdict of a debate whose judges have been heard."""
    votes = tuple(vote(debate, judge) for judge in judges(debate.setup))
    counted = [v for v in votes if not v.abstains]
    outcome, winner = tally(counted)
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
    readings = [judged for judged in debate.judged if judged.seat == judge]
    asked = 2 if debate.setup.judges.both_orders else 1
    if not readings:
        return Vote(judge=judge, winner="", margin=0, abstains="gave no usable answer")
    if not all(judged.informative for judged in readings):
        return Vote(judge=judge, winner="", margin=0, abstains="is too small a model to judge")
    if len(readings) < asked:
        return Vote(judge=judge, winner="", margin=0, abstains="answered in one of the two orders only")
    winners = {judged.winner for judged in readings}
    if len(winners) > 1:
        return Vote(
            judge=judge, winner="", margin=0, abstains="found for another side when the order changed"
        )
    return Vote(judge=judge, winner=winners.pop(), margin=min(judged.margin for judged in readings))


def tally(votes: list[Vote]) -> tuple[Outcome, str]:
    """(outcome, winner) of the votes that count.

    decided: all for one side, each clearly (margin 2 or more). leaning: a majority, or all of them
    narrowly. contested: split, or without any margin. undecided: nobody found for a side.
    """
    sides = Counter(v.winner for v in votes if v.winner)
    if not sides:
        return "undecided", ""
    (winner, most), *_ = sides.most_common(1)
    margins = [v.margin for v in votes if v.winner == winner]
    if most == len(votes) and min(margins) >= 2:  # noqa: PLR2004  (see the docstring)
        return "decided", winner
    if most * 2 > len(votes) and max(margins) >= 1:
        return "leaning", winner
    return "contested", ""


def spokesman_for(debate: Debate, winner: str, votes: list[Vote]) -> Judged | None:
    """The reading whose words the verdict takes: the first of a judge who voted as the panel did.

    Where nobody won, the first reading of the first judge whose vote counts.
    """
    of_the_panel = [v.judge for v in votes if v.winner == winner] or [v.judge for v in votes]
    readings = [judged for judged in debate.judged if judged.seat in of_the_panel[:1]]
    return min(readings, key=lambda judged: judged.reading, default=None)


def no_finding(votes: tuple[Vote, ...]) -> str:
    return "No finding: " + "; ".join(f"{v.judge} {v.abstains}" for v in votes) + "."
