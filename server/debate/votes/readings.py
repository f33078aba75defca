"""The order in which a judge reads the turns of a round, and features of the talk that alone could decide a vote.

Whether somebody argued for each position is asked of the seats that decide, without a call of its own.
"""

from collections import Counter
from itertools import chain
from typing import NamedTuple

from server.debate.facts.beliefs import BLIND_WAVES
from server.debate.facts.events import Spoke
from server.debate.facts.interventions import NoteAdded, TalkConcluded
from server.debate.facts.setup.seats import WRITTEN
from server.debate.facts.text import collapse_whitespace
from server.debate.state.debate import Debate
from server.debate.state.labels import SECOND_READING
from server.debate.state.memo import once

LENGTH_RATIO = 2
"""From this ratio on, the length of the winner's turns is a caution: so much longer than those of anybody else."""


def order_turns(debate: Debate, round_number: int, reading: int) -> tuple[tuple[Spoke, ...], ...]:
    """The turns of a round, each message followed by its answer.

    Turns that answer each other keep the order in which they were made. Turns that were written without seeing
    each other are read in the order drawn; in a second reading the first one comes last. Both hold only among turns
    that had seen the same notes, because a turn stands before the notes that it had not seen.
    """
    arguments = tuple((t,) for t in debate.transcript_turns(round_number) if t.act == "argument")
    exchanges = debate.round_exchanges(round_number)
    if debate.round_phase(round_number).order != "together":
        return (*arguments, *exchanges)
    groups_together = (arguments, exchanges)
    return tuple(
        chain.from_iterable(
            order_together(debate, round_number, groups, reading) for groups in groups_together
        )
    )


def order_together(
    debate: Debate, round_number: int, groups: tuple[tuple[Spoke, ...], ...], reading: int
) -> tuple[tuple[Spoke, ...], ...]:
    """Turns that were written together, in the order drawn; in a second reading the first one comes last."""
    notes = [
        version
        for note, version in debate.round_notes(round_number)
        if not (isinstance(note, NoteAdded) and note.to)
    ]
    parts: dict[int, list[tuple[Spoke, ...]]] = {}
    for group in groups:
        parts.setdefault(sum(version <= group[0].seen for version in notes), []).append(group)
    shift = int(reading == SECOND_READING)
    return tuple(chain.from_iterable((*part[shift:], *part[:shift]) for _, part in sorted(parts.items())))


def find_fixed_ends(debate: Debate) -> list[str]:
    """The ends of the talk, "first" or "last", at which both readings have a turn of the same debater."""
    ends = []
    for end, rounds, index in (("first", debate.talk_rounds, 0), ("last", debate.talk_rounds[::-1], -1)):
        round_number = next((number for number in rounds if debate.round_turns(number)), None)
        orders = (
            [order_turns(debate, round_number, reading) for reading in (1, SECOND_READING)]
            if round_number
            else []
        )
        ends += [end] if len({order[index][index].seat for order in orders}) == 1 else []
    return ends


def find_talk_caps(debate: Debate) -> list[str]:
    """Flaws of the talk that cap how sure a verdict is: sides without a voice, one side alone, uneven turns."""
    counts = Counter(turn.seat for turn in debate.active_turns if turn.act == "argument")
    caps = []
    if counts and (silent := [name for name in debate.names if not counts[name]]):
        caps.append(f"Never heard: {', '.join(silent)}. Nobody argued their side.")
    caps += describe_unargued(debate)
    stances = {collapse_whitespace(debater.stance).casefold() for debater in debate.setup.debaters}
    if len(stances) == 1 < len(debate.names) and "" not in stances and debate.setup.brief != "panel":
        caps.append("All debaters stood for the same: nobody argued for another position.")
    everybody = all(phase.order in ("together", "declared") for phase in debate.setup.phases if phase.is_talk)
    if not caps and len({counts[name] for name in debate.names}) > 1:
        by_budget = any(
            conclusion.cause == "budget" for conclusion in debate.find_interventions(TalkConcluded)
        )
        if everybody or by_budget:
            counts_by_name = ", ".join(f"{name} {counts[name]}" for name in debate.names)
            why = "A budget cut the talk, and turns" if by_budget else "Turns"
            caps.append(f"{why} are uneven: {counts_by_name}.")
    return caps


def find_length_caps(debate: Debate, ahead: str) -> list[str]:
    """A caution if the side ahead wrote far more than others: judges favour length (Saito et al., arXiv 2310.10076)."""
    lengths = dict.fromkeys(debate.names, 0)
    for turn in debate.active_turns:
        lengths[turn.seat] += len(turn.text)
    length, longest = lengths.pop(ahead, 0), max(lengths.values())
    if length < LENGTH_RATIO * longest:
        return []
    return [
        f"{ahead} wrote {length:,} characters, and nobody else more than {longest:,}: length could have decided."
    ]


def list_speaker_models(debate: Debate) -> dict[str, set[str]]:
    """The models that wrote the turns of each debater. Who writes those of a caller is unknown."""
    models = {name: set[str]() for name in debate.names}
    for seat, model in {(turn.seat, turn.usage.model) for turn in debate.turns}:
        models[seat] |= {model} - WRITTEN
    return models


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
