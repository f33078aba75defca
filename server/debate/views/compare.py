"""Two debates side by side: outcome, cost, differences in the setup, shared rounds."""

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import BaseModel

from server.debate.commands.fork import find_inherited_entries
from server.debate.facts.events import Event, Opened, Paused, Recorded, Resumed
from server.debate.facts.interventions import InterventionFact
from server.debate.facts.state import Debate
from server.debate.facts.text import format_count, shorten_to_bytes
from server.debate.rules.decide import status
from server.debate.rules.schedule import candidate_models, seat_models
from server.debate.views.markdown import cost_line, format_heading
from server.debate.views.state import UsageSum, sum_usage
from server.debate.views.verdict import build_verdict, vote_line

MAX_VALUE_LENGTH = 300
"""Bytes of each value that differs in the setups; the events have it whole."""


class StoredDebate(Protocol):
    """A debate under its id, with its entries."""

    @property
    def id(self) -> str: ...
    @property
    def debate(self) -> Debate: ...
    @property
    def entries(self) -> Sequence[Recorded]: ...


class ComparedDebate(BaseModel):
    """One of the debates. `margin` is the lowest of the votes for the winner: 0 (none) to 3 (clear)."""

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
    models: dict[str, str]  # by seat
    usage: UsageSum  # without the inherited rounds of a fork


class Difference(BaseModel):
    field: str
    one: str
    other: str


class Comparison(BaseModel):
    one: ComparedDebate
    other: ComparedDebate
    agree: str  # yes, no, open (one of them has no verdict)
    relation: str  # what the other is to the one: fork, parent, sibling, or ""
    shared_rounds: int  # number of equal first rounds
    provenance: str  # verified, broken, or "" where neither is a fork of the other
    differences: list[Difference]
    summary: str


class DebateFamily(BaseModel):
    """A debate beside its parent, its forks and its siblings."""

    debate_id: str
    relatives: list[Comparison]
    unavailable: list[str]  # ids that are not in this database, or cannot be read

    def as_data(self) -> dict[str, Any]:
        """Without the debate itself, which would be repeated in every comparison."""
        return self.model_dump(exclude={"relatives": {"__all__": {"one"}}})


def build_comparison(one: StoredDebate, other: StoredDebate) -> Comparison:
    relation = find_relation(one, other)
    forked = one.debate.setup.forked_from or other.debate.setup.forked_from
    shared = count_shared_rounds(one, other, relation) if forked else 0
    agree = compute_agreement(one.debate, other.debate)
    return Comparison(
        one=build_compared_debate(one.id, one.debate),
        other=build_compared_debate(other.id, other.debate),
        agree=agree,
        relation=relation,
        shared_rounds=shared,
        provenance=verify_provenance(one, other, relation),
        differences=find_differences(one.debate.setup, other.debate.setup),
        summary=render_summary(one, other, relation, shared, agree),
    )


def build_compared_debate(debate_id: str, debate: Debate) -> ComparedDebate:
    found = build_verdict(debate)
    votes = debate.verdict.votes if debate.verdict else ()
    return ComparedDebate(
        debate_id=debate_id,
        question=debate.setup.question,
        status=status(debate),
        outcome=found.outcome,
        winner=found.winner,
        winner_stance=found.winner_stance,
        votes=[vote_line(debate, vote.judge) for vote in votes],
        margin=min((v.margin for v in votes if v.winner == found.winner and not v.abstains), default=0),
        rounds_of_talk=debate.held_round_count,
        turns=len(debate.turns),
        models={seat: candidate_models(debate, seat)[0] for seat in seat_models(debate.setup)},
        usage=sum_usage(debate.usage),
    )


def find_relation(one: StoredDebate, other: StoredDebate) -> str:
    """The relation of the other debate to this one."""
    if other.debate.setup.forked_from == one.id:
        return "fork"
    if one.debate.setup.forked_from == other.id:
        return "parent"
    mine, theirs = one.debate.setup.forked_from, other.debate.setup.forked_from
    return "sibling" if mine and mine == theirs else ""


def count_shared_rounds(one: StoredDebate, other: StoredDebate, relation: str) -> int:
    """The number of first rounds with equal events, at most as many as were inherited."""
    forks = {"fork": [other], "parent": [one], "sibling": [one, other]}.get(relation, [])
    most = [
        min(one.debate.round, other.debate.round),
        *(stored.debate.setup.forked_at_round for stored in forks),
    ]
    number = 0
    while number < min(most):
        ours, theirs = (find_round_events(stored.entries, number + 1) for stored in (one, other))
        if ours != theirs:
            break
        number += 1
    return number


def find_round_events(log: Sequence[Recorded], last_round: int) -> list[Event]:
    """The events of the rounds without interventions, which may follow after the fork."""
    inherited = (entry.event for entry in find_inherited_entries(log, last_round))
    return [event for event in inherited if not isinstance(event, InterventionFact | Paused | Resumed)]


def verify_provenance(one: StoredDebate, other: StoredDebate, relation: str) -> str:
    """Whether the entry after which the fork was made is in the parent's journal."""
    if relation not in ("fork", "parent"):
        return ""
    parent, fork = (one, other) if relation == "fork" else (other, one)
    is_known = any(entry.hash == fork.debate.setup.forked_hash for entry in parent.entries)
    return "verified" if is_known else "broken"


def compute_agreement(one: Debate, other: Debate) -> str:
    if one.verdict is None or other.verdict is None:
        return "open"
    stances = [build_verdict(debate).winner_stance for debate in (one, other)]
    return "yes" if stances[0] == stances[1] else "no"


def find_differences(one: Opened, other: Opened) -> list[Difference]:
    """The fields that differ in the two setups; debaters and documents are matched by name."""
    ours, theirs = flatten_setup(one), flatten_setup(other)
    return [
        Difference(field=what, one=ours.get(what, ""), other=theirs.get(what, ""))
        for what in dict.fromkeys((*ours, *theirs))
        if ours.get(what, "") != theirs.get(what, "")
    ]


def flatten_setup(setup: Opened) -> dict[str, str]:
    """A setup as text by field path, without fields about the origin or the running of the debate."""
    excluded = {"kind", "run", "tags", "prices"} | {
        name for name in Opened.model_fields if name.startswith("forked_")
    }
    found: dict[str, str] = {}
    for name, value in setup.model_dump(mode="json", exclude=excluded).items():
        found |= flatten_value(name, value)
    return {what: shorten_to_bytes(text, MAX_VALUE_LENGTH) for what, text in found.items()}


def flatten_value(name: str, value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {
            key: text for part in value for key, text in flatten_value(f"{name}.{part}", value[part]).items()
        }
    if isinstance(value, list) and value and isinstance(value[0], dict):
        parts = {f"{name}.{one.get('name') or one.get('title')}": one for one in value}
        return {
            key: text
            for part, one in parts.items()
            for key, text in flatten_value(part, drop_name(one)).items()
        }
    if isinstance(value, list):
        return {name: ", ".join(map(str, value))}
    return {name: "" if value is None else str(value)}


def drop_name(item: dict[str, Any]) -> dict[str, Any]:
    """An item without its name, which is part of its path."""
    return {key: part for key, part in item.items() if key not in ("name", "title")}


def render_summary(one: StoredDebate, other: StoredDebate, relation: str, shared: int, agree: str) -> str:
    how = {
        "fork": f"{other.id} is a fork of {one.id}",
        "parent": f"{one.id} is a fork of {other.id}",
        "sibling": f"Both are forks of {one.debate.setup.forked_from}",
    }.get(relation, "Neither is a fork of the other")
    past = f"; they share round 1{f' to {shared}' if shared > 1 else ''}" if shared else ""
    if agree == "open":
        return f"{how}{past}. There is no verdict to compare yet."
    finding = "They come to the same finding" if agree == "yes" else "They come to different findings"
    outcomes = [build_verdict(stored.debate).outcome for stored in (one, other)]
    certainty = (
        "" if outcomes[0] == outcomes[1] else f": {outcomes[0]} in {one.id}, {outcomes[1]} in {other.id}"
    )
    return f"{how}{past}. {finding}{certainty}."


def render_comparison(comparison: Comparison) -> str:
    """The comparison as Markdown. Texts of models and users stay on one line."""
    lines = [f"## {comparison.one.debate_id} and {comparison.other.debate_id}", "", comparison.summary]
    if comparison.provenance == "broken":
        lines.append("The entry that the fork was made after is not in the record of the other debate.")
    for each in (comparison.one, comparison.other):
        finding = f"{each.outcome} {format_heading(each.winner_stance)}".strip() or "no verdict"
        margin = f", margin {each.margin} of 3" if each.winner and each.votes else ""
        length = f"{format_count(each.rounds_of_talk, 'round')} of talk, {format_count(each.turns, 'turn')}"
        lines += [
            "",
            f"**{each.debate_id}**",
            f"- {each.status}: {finding}{margin}",
            *(f"- {format_heading(vote)}" for vote in each.votes),
            f"- {length}; of its own: {cost_line(each.usage)}",
        ]
    if comparison.differences:
        lines += ["", "**What differs in the set-up**"]
    lines += [
        f"- {format_heading(d.field)}: {format_heading(d.one) or 'none'} | {format_heading(d.other) or 'none'}"
        for d in comparison.differences
    ]
    return "\n".join(lines) + "\n"
