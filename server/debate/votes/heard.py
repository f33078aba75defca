"""Whether somebody argued for each position: what the seats that decide say of it, without a call of its own."""

from collections import Counter
from typing import NamedTuple

from server.debate.facts.beliefs import BLIND_WAVES
from server.debate.state.debate import Debate
from server.debate.state.memo import once


class Unargued(NamedTuple):
    """A debater who spoke and did not argue for its position, and how many of how many seats say so."""

    name: str
    said: int
    asked: int


@once
def list_unargued(debate: Debate) -> tuple[Unargued, ...]:
    """Those of whom more than half of the seats say so. Who defends no side is none of them."""
    reports = list_reports(debate)
    counts = Counter(name for report in reports for name in report)
    spoke = {turn.seat for turn in debate.active_turns}
    return tuple(
        Unargued(debater.name, counts[debater.name], len(reports))
        for debater in debate.setup.debaters
        if debater.name in spoke
        and debater.stance.casefold() != "neutral"
        and 2 * counts[debater.name] > len(reports)
    )


def list_reports(debate: Debate) -> list[set[str]]:
    """Of whom each seat says so: a judge in every reading, a moderator in its last word, a voter in its last ballot."""
    if debate.round_summaries and not debate.judgments:
        return [{*closing.unargued} for closing in debate.round_summaries[-1:] if closing.informative]
    if not debate.judgments:
        begin = min(debate.talk_rounds, default=0)
        last = {one.seat: one for one in debate.ballots if one.wave not in BLIND_WAVES and one.round >= begin}
        return [{*ballot.unargued} for ballot in last.values() if ballot.informative]
    by_judge: dict[str, list[set[str]]] = {}
    for judged in debate.judgments:
        if judged.informative:
            by_judge.setdefault(judged.seat, []).append({*judged.unargued})
    return [set.intersection(*readings) for readings in by_judge.values()]


def describe_unargued(debate: Debate) -> list[str]:
    """Such as "Not heard: Ben did not argue for its position, say 2 of 2 judges."."""
    who = "judge" if debate.judgments else "moderator" if debate.round_summaries else "voter"
    return [
        f"Not heard: {one.name} did not argue for its position, "
        + (f"say {one.said} of {one.asked} {who}s." if one.asked > 1 else f"says the {who}.")
        for one in list_unargued(debate)
    ]
