"""What an observer alleges of the rhetoric of turns: whether it is there, what the accused may contest, and a report.

No rule reads words for patterns: a model does, and the server only finds the words that it names. A quotation of a
fallacy is none, and neither is one that is named to reject it, so that lists of keywords see what is not there.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from server.debate.arguments.points import find_turn, is_in_turn
from server.debate.facts.answers import Mark, Observed, Pattern
from server.debate.facts.events import Spoke
from server.debate.facts.quoting import quote, quote_heading
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate

ALLEGATIONS: tuple[Pattern, ...] = (
    "straw_man",
    "ad_hominem",
    "appeal_to_authority",
    "emotional_appeal",
    "concession",
)
"""Patterns that tell against a debater: it reads these of its own turns, and may contest them."""

MAX_MARKS = 40
"""Of one round."""


class Allegation(NamedTuple):
    """A mark, by the round of the observation and its number in it."""

    round: int
    number: int
    mark: Mark


def list_marks(debate: Debate) -> Iterator[Allegation]:
    """The marks on turns that were not retracted, in the order recorded."""
    for observed in debate.observations:
        for number, mark in enumerate(observed.marks):
            turn = find_turn(debate, mark.said)
            if turn and debate.is_active(turn):
                yield Allegation(observed.round, number, mark)


def list_contestable(debate: Debate, seat: str) -> tuple[Allegation, ...]:
    """What is told against a debater and was not put to it yet: it may contest it in its next argument."""
    if not debate.observations:
        return ()
    argued = [turn.round for turn in debate.turns if turn.seat == seat and turn.act == "argument"]
    since = max((number for number in argued if number < debate.round), default=0)
    if debate.round in argued:
        return ()
    found = (one for one in list_marks(debate) if one.mark.said.seat == seat and one.round >= since)
    return tuple(one for one in found if one.mark.pattern in ALLEGATIONS and one.round < debate.round)


def find_contest(debate: Debate, allegation: Allegation) -> str:
    """What the accused said against it; "" for nothing."""
    made = (contest for turn in debate.turns for contest in turn.contests)
    key = (allegation.round, allegation.number)
    return next((contest.why for contest in made if (contest.round, contest.number) == key), "")


def find_contest_problem(debate: Debate, turn: Spoke) -> str:
    """Why a turn cannot contest what it does; "" where it can."""
    if not turn.contests:
        return ""
    open_ones = {(one.round, one.number) for one in list_contestable(debate, turn.seat)}
    named = [(contest.round, contest.number) for contest in turn.contests]
    is_possible = len(set(named)) == len(named) and open_ones.issuperset(named)
    return "" if is_possible and turn.act == "argument" else "it contests what was not put to it"


def find_observation_problem(debate: Debate, event: Observed) -> str:
    """Why an observation is not possible; "" where each of its spans stands where it says."""
    for mark in event.marks:
        spans = (mark.said, mark.original) if mark.original else (mark.said,)
        if any(not is_in_turn(debate, span) for span in spans):
            return "its words are not in the turn that it names"
        if mark.said.round != event.round:
            return "it is about another round"
        if (mark.original is not None) != (mark.pattern == "straw_man"):
            return "a straw man is made of the words of another, and nothing else is"
        if mark.original and mark.original.seat == mark.said.seat:
            return "nobody makes a straw man of their own words"
    return "" if len(event.marks) <= MAX_MARKS else "there are too many marks"


def describe_observation(debate: Debate, observed: Observed) -> str:
    """What the observer alleges of a round: a line and the words for each mark. `debate`: as people read it."""
    parts = ["As the observer alleges:" if observed.marks else "The observer marked nothing."]
    for number, mark in enumerate(observed.marks):
        contest = find_contest(debate, Allegation(observed.round, number, mark))
        of = f" of what {mark.original.seat} said" if mark.original else ""
        parts += [f"**{mark.said.seat}, {name_pattern(mark.pattern)}**", quote(mark.said.quote)]
        parts += [f"made{of}:", quote(mark.original.quote)] if mark.original else []
        parts += [f"{mark.said.seat} contests it: {quote_heading(contest)}"] if contest else []
    if observed.dropped:
        left = format_count(observed.dropped, "allegation")
        parts.append(f"Left out: {left} whose words are not in the turns named.")
    return "\n\n".join(parts)


def name_pattern(pattern: Pattern) -> str:
    return pattern.replace("_", " ")


def count_patterns(debate: Debate) -> dict[str, dict[Pattern, int]]:
    """In how many turns of each debater each pattern was seen."""
    seen: dict[str, dict[Pattern, set[tuple[int, int]]]] = {name: {} for name in debate.names}
    for _, _, mark in list_marks(debate):
        turns = seen[mark.said.seat].setdefault(mark.pattern, set())
        turns.add((mark.said.round, mark.said.slot_index))
    return {name: {pattern: len(turns) for pattern, turns in rows.items()} for name, rows in seen.items()}


def count_active_turns(debate: Debate, seat: str) -> int:
    return sum(turn.seat == seat and debate.is_active(turn) for turn in debate.turns)


def list_rhetoric_lines(debate: Debate) -> list[str]:
    """A line for each debater in whose turns the observer saw something; [] without an observer."""
    lines = []
    contested = [one.mark for one in list_marks(debate) if find_contest(debate, one)]
    for name, patterns in count_patterns(debate).items():
        turns = count_active_turns(debate, name)
        parts = []
        for pattern, count in patterns.items():
            against = sum((mark.said.seat, mark.pattern) == (name, pattern) for mark in contested)
            parts.append(f"{name_pattern(pattern)} in {count}{f' ({against} contested)' if against else ''}")
        if parts:
            lines.append(f"{name}, of {turns} turns, as the observer alleges: {', '.join(parts)}")
    return lines


def build_rhetoric(debate: Debate) -> dict[str, Any]:
    """The report over the debate: how many turns of each debater have each pattern, and every mark with its span."""
    return {
        "observed_rounds": [observed.round for observed in debate.observations if observed.informative],
        "dropped": sum(observed.dropped for observed in debate.observations),
        "debaters": {
            name: {"turns": count_active_turns(debate, name), "patterns": dict(patterns)}
            for name, patterns in count_patterns(debate).items()
        },
        "marks": [build_mark_row(debate, one) for one in list_marks(debate)],
    }


def build_mark_row(debate: Debate, allegation: Allegation) -> dict[str, Any]:
    mark = allegation.mark
    return {
        "pattern": mark.pattern,
        "said": mark.said.model_dump(),
        "original": mark.original.model_dump() if mark.original else None,
        "why": mark.why,
        "contested": find_contest(debate, allegation),
        "alleged_by": "observer",
    }
