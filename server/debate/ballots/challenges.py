"""Alerts about hollow agreement, and the challenge that a next round has to answer.

An alert is a fact about a round of talk. Where the options ask for challenges, two signals bring one: it stands before
the next round, names points by their ids, and asks for evidence, an error, or the case for what somebody held before.
How many there may be, and how far apart, follows from the facts.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import assert_never

from pydantic import BaseModel, ConfigDict

from server.debate.arguments.points import format_id
from server.debate.ballots.convergence import build_converged, measure_movement
from server.debate.ballots.hollow import (
    ATTACKS,
    THRESHOLDS,
    CountedSignal,
    choose_leader_of_ballots,
    describe_counts,
    is_worth_a_challenge,
    list_active_points,
    list_ballots,
    list_last_ballots,
    list_links,
    list_patterns,
    measure_signals,
)
from server.debate.facts.beliefs import Alerted, Citation, Converged, Effect, format_share
from server.debate.facts.events import BallotEvent, Event
from server.debate.facts.interventions import Challenged
from server.debate.state.debate import Debate, replace
from server.debate.state.labels import side_labels

MOST_CHALLENGES = 2
"""Challenges in a debate."""

COOLDOWN = 1
"""Rounds from a challenge to the round after which the next one may be made."""

MOST_POINTS = 3
"""Points that a challenge names."""

SIGNAL_WORDS: dict[CountedSignal, str] = {
    "gap": "what is held in private is not what is said",
    "unexplained_flips": "minds changed without a new reason",
    "nothing_new": "agreement grew without anything new",
    "overlap": "the same passages are quoted again and again",
}


def is_due(debate: Debate, event: BallotEvent) -> bool:
    """Whether a fact about ballots holds now and is not recorded yet."""
    if isinstance(event, Alerted):
        if event.round < debate.setup.forked_at_round:
            return event.round == debate.round  # an alert of the debate that was forked
        alert = compute_alert(debate)
        return alert is not None and event in (
            alert,
            alert.model_copy(update={"challenged": wants_challenge(debate)}),
        )
    return event in build_converged(debate)


def add_ballot_event(debate: Debate, event: BallotEvent) -> Debate:
    match event:
        case Alerted():
            return replace(debate, alerts=(*debate.alerts, event))
        case Converged():
            return replace(debate, convergence=(*debate.convergence, event))
        case _:
            assert_never(event)


def compute_alert(debate: Debate) -> Alerted | None:
    """The alert after this round of talk: what the signals say, and the effect of a challenge; None without either."""
    phase, mode = debate.phase, debate.setup.challenges
    is_recorded = any(alert.round == debate.round for alert in debate.alerts)
    if (
        mode == "off"
        or phase is None
        or not phase.is_talk
        or is_recorded
        or not debate.round_turns(debate.round)
    ):
        return None
    signals, patterns, effect = measure_signals(debate), list_patterns(debate), compute_effect(debate)
    if not (patterns or effect or is_worth_a_challenge(signals)):
        return None
    return Alerted(round=debate.round, patterns=patterns, signals=signals, effect=effect)


def wants_challenge(debate: Debate) -> bool:
    """Whether the next round, if there is one, gets a challenge: by the signals, the number so far and the distance."""
    challenges = list_challenges(debate)
    is_far = not challenges or debate.round - challenges[-1].round >= COOLDOWN
    is_allowed = len(challenges) < MOST_CHALLENGES and is_far
    return (
        debate.setup.challenges == "challenge"
        and is_allowed
        and is_worth_a_challenge(measure_signals(debate))
    )


def list_challenges(debate: Debate) -> list[Challenged]:
    """The challenges that followed from alerts, not from a person."""
    return [note for note in debate.notes if isinstance(note, Challenged) and note.alert]


def is_challenged(debate: Debate) -> bool:
    """Whether the alert of this round brings a challenge."""
    return bool(debate.alerts) and debate.alerts[-1].round == debate.round and debate.alerts[-1].challenged


def compute_effect(debate: Debate) -> Effect | None:
    """What the challenge of this round changed: the largest movement, changed choices and new points in ballots."""
    if not any(challenge.round == debate.round for challenge in list_challenges(debate)):
        return None
    cast = [b for b in debate.round_ballots(debate.round) if b.wave == "round" and b.informative]
    ballots = list_ballots(debate)
    pairs = [ballots[ballot.seat][-2:] for ballot in cast if len(ballots[ballot.seat]) > 1]
    return Effect(
        movement=format_share(max((measure_movement(*pair) for pair in pairs), default=Fraction(0))),
        changed=sum(before.choice != after.choice for before, after in pairs),
        new_points=sum(bool(ballot.new_point) for ballot in cast),
        voters=len(cast),
    )


def build_challenge(debate: Debate) -> tuple[Event, ...]:
    """The challenge that comes before the first answer of a round of talk; () once it is recorded."""
    alert = debate.alerts[-1] if debate.alerts else None
    if alert is None or not alert.challenged or alert.round != debate.round - 1 or debate.ended:
        return ()
    if any(challenge.alert == alert.round for challenge in list_challenges(debate)):
        return ()
    text = describe_challenge(debate, alert)
    return (Challenged(round=debate.round, alert=alert.round, reason="agreement may be hollow", text=text),)


def describe_challenge(debate: Debate, alert: Alerted) -> str:
    """The text of a challenge, with points by the labels of prompts."""
    names_raised = {signal.name for signal in alert.signals if signal.raised}
    reasons = "; ".join(words for name, words in SIGNAL_WORDS.items() if name in names_raised)
    labels = side_labels(debate)
    point_ids = ", ".join(f"[{format_id(point, labels[point.seat])}]" for point in choose_points(debate))
    about = f" Look at {point_ids} first." if point_ids else ""
    return (
        f"The agreement so far may be hollow: {reasons}.{about} In this round each of you gives one of these, and "
        "cites the point by its id: evidence for or against it that nobody gave; an error in it; or the best case for "
        "what you yourself held before the talk, where you gave that up."
    )


def choose_points(debate: Debate) -> list[Citation]:
    """Unattacked points of the position ahead, the latest first; then one of another side that nobody took up."""
    links = list(list_links(debate))
    attacked_points = {link.target for link in links if link.relation in ATTACKS}
    taken_up = {link.target for link in links if link.source.seat != link.target.seat}
    leader = choose_leader_of_ballots(list_last_ballots(debate))
    points = [point for point in list_active_points(debate) if point.round < debate.round]
    ahead = (point for point in reversed(points) if point.seat == leader and point not in attacked_points)
    forgotten_points = (point for point in points if point.seat != leader and point not in taken_up)
    return [*islice(ahead, MOST_POINTS - 1), *islice(forgotten_points, 1)]


class SignalRow(BaseModel):
    """A sign that agreement may be hollow. It never moves the confidence."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    name: str
    raised: bool
    value: str
    threshold: str
    counts: str


def build_signals(debate: Debate) -> list[SignalRow]:
    """The seven signals; [] where they are off, or there is nothing that they could be about."""
    signals = measure_signals(debate)
    is_computed = any(signal.value for signal in signals if signal.name != "dependence")
    if debate.setup.challenges == "off" or not (debate.private_ballots or is_computed):
        return []
    return [
        SignalRow(
            name=signal.name,
            raised=signal.raised,
            value=signal.value,
            threshold=format_share(THRESHOLDS[signal.name]),
            counts=describe_counts(debate, signal),
        )
        for signal in signals
    ]


def describe_signs(rows: Sequence[SignalRow], alerts: Sequence[str]) -> tuple[str, list[str]]:
    """(a title; the alerts, a line for each computed signal, and one for each reason why others were not computed)."""
    names_raised = ", ".join(row.name for row in rows if row.raised)
    title = ": ".join(
        filter(None, ["Signs of hollow agreement", names_raised or ("" if alerts else "none raised")])
    )
    lines = [
        f"{row.name}: {row.value}{' raised' if row.raised else ''} (from {row.threshold} on): {row.counts}"
        for row in rows
        if row.value
    ]
    for reason in dict.fromkeys(row.counts for row in rows if not row.value):
        names = ", ".join(f"{row.name} ({row.threshold})" for row in rows if row.counts == reason)
        lines.append(f"{names}: {reason}")
    return title, [*alerts, *lines]


def describe_alert(alert: Alerted) -> str:
    """An alert in a line, with what came of a challenge."""
    names_raised = [signal.name.replace("_", " ") for signal in alert.signals if signal.raised]
    patterns = [pattern.replace("_", " ") for pattern in alert.patterns]
    signs = ", ".join([*patterns, *names_raised])
    parts = [f"Signs of hollow agreement in round {alert.round}: {signs}."] if signs else []
    parts += ["The next round has a challenge to answer."] if alert.challenged else []
    if effect := alert.effect:
        parts.append(
            f"After the challenge of round {alert.round} voters moved by {effect.movement} at most, {effect.changed} "
            f"of {effect.voters} chose otherwise than before, and {effect.new_points} name a new point."
        )
    return " ".join(parts)
