"""Two debates side by side: outcome, cost, differences of the set-up, shared rounds."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from server.debate.commands.fork import is_inherited, list_rounds
from server.debate.facts.answers import SlotFact
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.events import Event, Paused, Recorded, Resumed
from server.debate.facts.interventions import InterventionFact
from server.debate.facts.quoting import disarm_markup, quote_heading
from server.debate.facts.setup.opened import Opened
from server.debate.facts.text import format_count, format_heading, shorten_to_bytes
from server.debate.state.debate import Debate
from server.debate.state.seats import candidate_models, find_officers, seat_models
from server.debate.views.provenance import Provenance, describe_provenance
from server.debate.views.state import StoredDebate, UsageSum, cost_line, sum_usage, tell_standing
from server.debate.views.verdict import Verdict, build_verdict, read_made_position

MAX_VALUE_LENGTH = 300
"""Bytes of each value that differs in the set-ups; the events have it whole."""


def build_comparison(one: StoredDebate, other: StoredDebate) -> dict[str, Any]:
    """Both as `describe_debate` describes them, and what follows from the pair.

    agree: yes, no, or open (one of them has no finding, or not yet). relation of the other to the one: fork, parent,
    sibling, or "". shared_rounds: the number of equal first rounds. provenance: verified or broken; "" where neither
    is a fork of the other. differences: {"field", "one", "other"} of the set-ups.
    """
    relation, forks = classify_relation(one, other)
    shared_rounds = count_shared_rounds(one, other, forks)
    provenance = ""
    if len(forks) == 1:
        parent = one if relation == "fork" else other
        is_known = forks[0].debate.setup.forked_hash in (entry.hash for entry in parent.entries)
        provenance = "verified" if is_known else "broken"
    ours, theirs = describe_debate(one), describe_debate(other)
    findings = [(description["found"], description["finding"]) for description in (ours, theirs)]
    is_open = not all(map(has_result, (ours, theirs))) or not any(text for _, text in findings)
    agree = "open" if is_open else "yes" if findings[0] == findings[1] else "no"
    return {
        "one": ours,
        "other": theirs,
        "agree": agree,
        "relation": relation,
        "shared_rounds": shared_rounds,
        "provenance": provenance,
        "differences": list_differences_of_setups(one.debate.setup, other.debate.setup),
        "summary": render_summary(ours, theirs, relation, one.debate.setup.forked_from, shared_rounds, agree),
    }


def describe_debate(stored: StoredDebate) -> dict[str, Any]:
    """One of the debates. `position`: in a synthesis, the one made of the others; "" otherwise.

    `found` says what kind `finding` is: the stance of the winner, such a position, a moderator's decision, the
    synthesizer's result, the stance that is ahead without having won, or "".

    `margin` is the lowest one of the votes for the winner: 0 (none) to 3 (clear).
    """
    debate = stored.debate
    verdict = build_verdict(debate)
    votes = debate.verdict.votes if debate.verdict else ()
    kind, finding = choose_finding(debate, verdict)
    return {
        "debate_id": stored.id,
        "question": debate.setup.question,
        "status": stored.status,
        "tags": list(debate.tags),
        "outcome": verdict.outcome,
        "winner": verdict.winner,
        "winner_stance": verdict.winner_stance,
        "position": read_made_position(debate),
        "found": kind,
        "finding": finding,
        "votes": verdict.votes,
        "margin": min((v.margin for v in votes if v.winner == verdict.winner and not v.abstains), default=0),
        "rounds_of_talk": debate.held_round_count,
        "turns": len(debate.turns),
        "models": {seat: candidate_models(debate, seat)[0] for seat in seat_models(debate.setup)},
        "usage": sum_usage(debate.usage).model_dump(),  # without the inherited rounds of a fork
        "provenance": stored.provenance.model_dump(),
    }


def choose_finding(debate: Debate, verdict: Verdict) -> tuple[str, str]:
    """("winner" | "position" | "decision" | "result" | "ahead" | "", its words): the strongest finding there is."""
    findings = {
        "winner": verdict.winner_stance,
        "position": read_made_position(debate),
        "decision": verdict.verdict if verdict.outcome == "leaning" else "",
        "result": verdict.deliverable,
        "ahead": debate.debater(verdict.ahead).stance if verdict.ahead else "",
    }
    return next(((kind, text) for kind, text in findings.items() if text), ("", ""))


def has_result(description: dict[str, Any]) -> bool:
    return bool(description["outcome"] or description["finding"])


def build_family(
    debate: StoredDebate, relatives: list[dict[str, Any]], unavailable: list[str], left_out: int
) -> dict[str, Any]:
    """A debate beside its relatives. It is left out of the comparisons, which would all repeat it.

    `unavailable`: ids that cannot be read here. `left_out`: how many more relatives there are; `note` names them.
    """
    comparisons = [{name: part for name, part in pair.items() if name != "one"} for pair in relatives]
    return {
        "debate_id": debate.id,
        "note": describe_left_out(debate.id, debate.debate.setup.forked_from, unavailable, left_out),
        "left_out": left_out,
        "unavailable": unavailable,
        "relatives": comparisons,
    }


def describe_left_out(debate_id: str, parent: str, unavailable: list[str], left_out: int) -> str:
    """Which relatives the comparisons of a debate lack, and how to find them; "" for none.

    `parent`: the id of the debate that it was forked from, if any.
    """
    unreadable = f"Not in this database, or not readable: {', '.join(unavailable)}." if unavailable else ""
    verb = "is" if left_out == 1 else "are"
    advice = f"A search of the list for {debate_id} finds its forks"
    advice += f", and one for {parent} the other forks of its parent." if parent else "."
    uncompared = f"{format_count(left_out, 'more relative')} {verb} not compared here: the oldest. {advice}"
    return " ".join(filter(None, (unreadable, uncompared if left_out else "")))


def classify_relation(one: StoredDebate, other: StoredDebate) -> tuple[str, list[StoredDebate]]:
    """The relation of the other debate to this one, and which of the two are forks."""
    mine, theirs = one.debate.setup.forked_from, other.debate.setup.forked_from
    if theirs == one.id:
        return "fork", [other]
    if mine == other.id:
        return "parent", [one]
    return ("sibling", [one, other]) if mine and mine == theirs else ("", [])


def count_shared_rounds(one: StoredDebate, other: StoredDebate, forks: list[StoredDebate]) -> int:
    """The number of first rounds with equal events; at most as many as were inherited."""
    if not (one.debate.setup.forked_from or other.debate.setup.forked_from):
        return 0
    limit = min(one.debate.round, other.debate.round, *(fork.debate.setup.forked_at_round for fork in forks))
    equal = (
        list_round_events(one.entries, number) == list_round_events(other.entries, number)
        for number in range(1, limit + 1)
    )
    return sum(takewhile(bool, equal))


def list_round_events(log: Sequence[Recorded], last_round: int) -> list[Event]:
    """The events of the rounds without interventions: those can be added after the fork.

    `seen` is a version of the debate, which differs in a fork that inherits fewer facts; so it is set to 1.
    """
    events = list_rounds(log, last_round)
    return [
        event.model_copy(update={"seen": 1}) if isinstance(event, SlotFact) else event
        for event in events
        if not isinstance(event, InterventionFact | Paused | Resumed | EarlierWithdrawn)
        and is_inherited(event, last_round)
    ]


def list_differences_of_setups(one: Opened, other: Opened) -> list[dict[str, str]]:
    """The fields that differ in the two set-ups, apart from the origin and the running of the debate."""
    ours, theirs = (
        {path: shorten_to_bytes(text, MAX_VALUE_LENGTH) for path, text in flatten("", build_fields(setup))}
        for setup in (one, other)
    )
    return [
        {"field": field, "one": ours.get(field, ""), "other": theirs.get(field, "")}
        for field in ours | theirs
        if ours.get(field, "") != theirs.get(field, "")
    ]


def build_fields(setup: Opened) -> dict[str, Any]:
    """The request, and the models and debates chosen for it; not what was known about these."""
    excluded = {"kind", "run", "tags", "prices", "windows", "framer", "effort", "reader", "ledger"}
    excluded |= {name for name in Opened.model_fields if name.startswith("forked_")}
    team = setup.team and setup.team.model_dump(include={"chosen", "judges", "topic", "diversity"})
    memory = setup.memory and {"most": setup.memory.most, "recalled": setup.memory.ids}
    summaries: dict[str, Any] = {
        "pause_when": [str(condition) for condition in setup.pause_when],
        "weights": {weight.seat: weight.weight for weight in setup.weights},
        "team": team,
        "memory": memory,
    }
    officers = find_officers(setup)
    summaries |= {name: officer.model_dump(exclude={"seat"}) for name, officer in officers.items()}
    excluded |= {"officers", "moderator", "synthesizer"}
    return setup.model_dump(mode="json", exclude=excluded | summaries.keys()) | summaries


def flatten(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """(path, text) of each field. Debaters, documents and phases are listed by name."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = name_items(value)
    if isinstance(value, dict):
        for key, part in value.items():
            if key == "after_round":
                continue  # of a document: it only says that the fork added it
            yield from flatten(f"{path}.{key}" if path else key, part)
    elif isinstance(value, list | tuple):
        yield path, ", ".join(map(str, value))
    else:
        yield path, "" if value is None else str(value)


def name_items(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Items by name or title; with their position, too, if an earlier one has the same."""
    items_by_name = dict[str, dict[str, Any]]()
    for place, item in enumerate(items, start=1):
        name = item.pop("name", "") or item.pop("title", "")
        items_by_name[f"{name} ({place})" if name in items_by_name else name] = item
    return items_by_name


def render_summary(
    one: dict[str, Any], other: dict[str, Any], relation: str, parent: str, shared: int, agree: str
) -> str:
    relation_text = {
        "fork": f"{other['debate_id']} is a fork of {one['debate_id']}",
        "parent": f"{one['debate_id']} is a fork of {other['debate_id']}",
        "sibling": f"Both are forks of {parent}",
    }.get(relation, "Neither is a fork of the other")
    shared_text = f"; they share round 1{f' to {shared}' if shared > 1 else ''}" if shared else ""
    return f"{relation_text}{shared_text}. {describe_agreement(one, other, agree)}"


def describe_agreement(one: dict[str, Any], other: dict[str, Any], agree: str) -> str:
    one_id, other_id = one["debate_id"], other["debate_id"]
    outcomes = f"{tell_standing(one['outcome'])} in {one_id}, {tell_standing(other['outcome'])} in {other_id}"
    if not (has_result(one) and has_result(other)):
        return "There is no verdict to compare yet."
    if agree == "open":
        return f"Neither found for a position: {outcomes}."
    if {one["found"], other["found"]} <= {"ahead", ""}:
        ahead = [
            quote_heading(description["finding"]) if description["finding"] else "none"
            for description in (one, other)
        ]
        leaders = (
            f"{ahead[0]} is ahead in both"
            if agree == "yes"
            else (f"ahead is {ahead[0]} in {one_id}, {ahead[1]} in {other_id}")
        )
        return f"Neither has a winner: {outcomes}; {leaders}."
    finding = "They come to the same finding" if agree == "yes" else "They come to different findings"
    if one["outcome"] != other["outcome"]:
        finding += f": {outcomes}"
    return f"{finding}."


def render_comparison(comparison: dict[str, Any]) -> str:
    """The comparison as Markdown. Texts of models and users stay on one line."""
    one, other = comparison["one"], comparison["other"]
    lines = [f"## {one['debate_id']} and {other['debate_id']}", "", comparison["summary"]]
    if comparison["provenance"] == "broken":
        lines.append("The entry that the fork was made after is not in the record of the other debate.")
    for description in (one, other):
        position = quote_heading(description["finding"]) if description["finding"] else ""
        is_ahead = ", ahead is" if description["found"] == "ahead" else ""
        finding = f"{tell_standing(description['outcome'])}{is_ahead} {position}".strip() or "no verdict"
        margin = (
            f", margin {description['margin']} of 3" if description["winner"] and description["votes"] else ""
        )
        rounds = f"{format_count(description['rounds_of_talk'], 'round')} of talk"
        cost = cost_line(UsageSum(**description["usage"]))
        lines += [
            "",
            f"**{description['debate_id']}**",
            f"- {tell_standing(description['status'])}: {finding}{margin}",
        ]
        lines += [f"- {disarm_markup(format_heading(vote))}" for vote in description["votes"]]
        if provenance := describe_provenance(Provenance(**description["provenance"])):
            lines.append(f"- {provenance}")
        if description["tags"]:
            lines.append(f"- tags: {disarm_markup(format_heading(', '.join(description['tags'])))}")
        lines.append(f"- {rounds}, {format_count(description['turns'], 'turn')}; of its own: {cost}")
    if comparison["differences"]:
        lines += ["", "**What differs in the set-up**"]
    for row in comparison["differences"]:
        mine, theirs = (quote_heading(row[name]) if row[name] else "none" for name in ("one", "other"))
        lines.append(f"- {disarm_markup(format_heading(row['field']))}: {mine} | {theirs}")
    return "\n".join(lines) + "\n"
