"""Two debates side by side: what each came to, what it cost, what differs, what they share."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from server.debate.commands.fork import taken_over
from server.debate.facts.events import Event, Intervened, Opened, Paused, Recorded, Resumed
from server.debate.facts.state import Debate
from server.debate.facts.text import counted, shortened
from server.debate.rules.decide import status
from server.debate.rules.schedule import candidates, seated
from server.debate.views.markdown import cost_line, heading
from server.debate.views.state import UsageSum, usage_sum, verdict_of, vote_line

LONGEST_VALUE = 300
"""Bytes of what differs in a set-up; the events have it whole."""

Side = tuple[str, Debate, Sequence[Recorded]]


class Compared(BaseModel):
    """One of the debates. `margin` is the least of the votes for the winner: 0 (none) to 3 (clear)."""

    debate_id: str
    question: str
    status: str
    outcome: str
    winner: str
    winner_stance: str
    votes: list[str]
    margin: int
    rounds_of_talk: int
    turns: int
    models: dict[str, str]  # of each seat, as it was last given one
    usage: UsageSum  # of its own answers: what a fork was begun with is its parent's


class Difference(BaseModel):
    what: str
    one: str
    other: str


class Comparison(BaseModel):
    one: Compared
    other: Compared
    agree: str  # yes, no, open (one of them has no verdict)
    relation: str  # what the other is to the one: fork, parent, sibling, or ""
    shared_rounds: int  # how many of the first rounds are the same
    provenance: str  # verified, broken, or "" where neither is a fork of the other
    differences: list[Difference]
    summary: str


def compared(one: Side, other: Side) -> Comparison:
    relation = related(one, other)
    forked = one[1].setup.forked_from or other[1].setup.forked_from
    shared = shared_rounds(one, other, relation) if forked else 0
    agree = agreement(one[1], other[1])
    return Comparison(
        one=side(*one[:2]),
        other=side(*other[:2]),
        agree=agree,
        relation=relation,
        shared_rounds=shared,
        provenance=provenance(one, other, relation),
        differences=differences(one[1].setup, other[1].setup),
        summary=summary(one, other, relation, shared, agree),
    )


def side(debate_id: str, debate: Debate) -> Compared:
    found = verdict_of(debate)
    votes = debate.verdict.votes if debate.verdict else ()
    return Compared(
        debate_id=debate_id,
        question=debate.setup.question,
        status=status(debate),
        outcome=found.outcome,
        winner=found.winner,
        winner_stance=found.winner_stance,
        votes=[vote_line(debate, vote.judge) for vote in votes],
        margin=min((v.margin for v in votes if v.winner == found.winner and not v.abstains), default=0),
        rounds_of_talk=debate.rounds_held,
        turns=len(debate.turns),
        models={seat: candidates(debate, seat)[0] for seat in seated(debate.setup)},
        usage=usage_sum(debate.usage),
    )


def related(one: Side, other: Side) -> str:
    """What the other debate is to this one."""
    if other[1].setup.forked_from == one[0]:
        return "fork"
    if one[1].setup.forked_from == other[0]:
        return "parent"
    mine, theirs = one[1].setup.forked_from, other[1].setup.forked_from
    return "sibling" if mine and mine == theirs else ""


def shared_rounds(one: Side, other: Side, relation: str) -> int:
    """How many of the first rounds are the same, answer by answer: no more than were taken over."""
    forks = {"fork": [other], "parent": [one], "sibling": [one, other]}.get(relation, [])
    most = [min(one[1].round, other[1].round), *(debate.setup.forked_at_round for _, debate, _ in forks)]
    number = 0
    while number < min(most):
        mine, theirs = (held(log, number + 1) for _, _, log in (one, other))
        if mine != theirs:
            break
        number += 1
    return number


def held(log: Sequence[Recorded], last: int) -> list[Event]:
    """What happened in the rounds, however they were steered: a round can be steered after it was shared."""
    taken = (entry.event for entry in taken_over(log, last))
    return [event for event in taken if not isinstance(event, Intervened | Paused | Resumed)]


def provenance(one: Side, other: Side, relation: str) -> str:
    """Whether the entry that a fork was made after stands in the other's record."""
    if relation not in ("fork", "parent"):
        return ""
    parent, fork = (one, other) if relation == "fork" else (other, one)
    there = any(entry.hash == fork[1].setup.forked_hash for entry in parent[2])
    return "verified" if there else "broken"


def agreement(one: Debate, other: Debate) -> str:
    if one.verdict is None or other.verdict is None:
        return "open"
    stances = [verdict_of(debate).winner_stance for debate in (one, other)]
    return "yes" if stances[0] == stances[1] else "no"


def differences(one: Opened, other: Opened) -> list[Difference]:
    """What is not the same in the two set-ups, field by field; debaters and documents by their names."""
    mine, theirs = facets(one), facets(other)
    return [
        Difference(what=what, one=mine.get(what, ""), other=theirs.get(what, ""))
        for what in dict.fromkeys((*mine, *theirs))
        if mine.get(what, "") != theirs.get(what, "")
    ]


def facets(setup: Opened) -> dict[str, str]:
    """A set-up as flat text. What says only how the debate came about, or is run, is left out."""
    left_out = {"kind", "run", "tags", "prices"} | {
        name for name in Opened.model_fields if name.startswith("forked_")
    }
    found: dict[str, str] = {}
    for name, value in setup.model_dump(mode="json", exclude=left_out).items():
        found |= flat(name, value)
    return {what: shortened(text, LONGEST_VALUE) for what, text in found.items()}


def flat(name: str, value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {key: text for part in value for key, text in flat(f"{name}.{part}", value[part]).items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        parts = {f"{name}.{one.get('name') or one.get('title')}": one for one in value}
        return {key: text for part, one in parts.items() for key, text in flat(part, named(one)).items()}
    if isinstance(value, list):
        return {name: ", ".join(map(str, value))}
    return {name: "" if value is None else str(value)}


def named(one: dict[str, Any]) -> dict[str, Any]:
    """An entry of a list without the name that it is called by already."""
    return {key: part for key, part in one.items() if key not in ("name", "title")}


def summary(one: Side, other: Side, relation: str, shared: int, agree: str) -> str:
    how = {
        "fork": f"{other[0]} is a fork of {one[0]}",
        "parent": f"{one[0]} is a fork of {other[0]}",
        "sibling": f"Both are forks of {one[1].setup.forked_from}",
    }.get(relation, "Neither is a fork of the other")
    past = f"; they share round 1{f' to {shared}' if shared > 1 else ''}" if shared else ""
    if agree == "open":
        return f"{how}{past}. There is no verdict to compare yet."
    told = {True: "They come to the same finding", False: "They come to different findings"}[agree == "yes"]
    outcomes = [verdict_of(debate).outcome for _, debate, _ in (one, other)]
    sure = "" if outcomes[0] == outcomes[1] else f": {outcomes[0]} in {one[0]}, {outcomes[1]} in {other[0]}"
    return f"{how}{past}. {told}{sure}."


def as_markdown(found: Comparison) -> str:
    """The comparison for people. What models and users wrote stays on one line."""
    lines = [f"## {found.one.debate_id} and {found.other.debate_id}", "", found.summary]
    if found.provenance == "broken":
        lines.append("The entry that the fork was made after is not in the record of the other debate.")
    for each in (found.one, found.other):
        finding = f"{each.outcome} {heading(each.winner_stance)}".strip() or "no verdict"
        margin = f", margin {each.margin} of 3" if each.winner and each.votes else ""
        length = f"{counted(each.rounds_of_talk, 'round')} of talk, {counted(each.turns, 'turn')}"
        lines += [
            "",
            f"**{each.debate_id}**",
            f"- {each.status}: {finding}{margin}",
            *(f"- {heading(vote)}" for vote in each.votes),
            f"- {length}; of its own: {cost_line(each.usage)}",
        ]
    if found.differences:
        lines += ["", "**What differs in the set-up**"]
    lines += [
        f"- {heading(d.what)}: {heading(d.one) or 'none'} | {heading(d.other) or 'none'}"
        for d in found.differences
    ]
    return "\n".join(lines) + "\n"
