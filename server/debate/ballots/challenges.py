"""Alerts about hollow agreement, and the challenge that a next round has to answer.

An alert is a fact about a round of talk: what debaters say they hold is not what they hold in private. Where options
ask for challenges, one stands before the next round, names points by their ids, and asks for evidence, an error, or the
case for what somebody held before. How many there may be, and how far apart, follows from the facts.
"""

from fractions import Fraction
from itertools import islice
from typing import assert_never

from server.debate.arguments.citations import find_citations
from server.debate.arguments.graph import ATTACKS
from server.debate.arguments.points import format_id, list_points
from server.debate.ballots.convergence import build_converged, measure_movement
from server.debate.ballots.hollow import choose_leader_of_ballots, find_gap, list_ballots, list_last_ballots
from server.debate.facts.beliefs import Alerted, Citation, Converged, Effect, Gap, format_share
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
    """The alert after this round of talk: the gap, and the effect of a challenge; None without either."""
    phase = debate.phase
    is_recorded = any(alert.round == debate.round for alert in debate.alerts)
    is_talk = phase is not None and phase.is_talk and bool(debate.round_turns(debate.round))
    if debate.setup.challenges == "off" or debate.setup.brief != "panel" or is_recorded or not is_talk:
        return None
    gap, effect = find_gap(debate), compute_effect(debate)
    return Alerted(round=debate.round, gap=gap, effect=effect) if gap or effect else None


def wants_challenge(debate: Debate) -> bool:
    """Whether the next round, if there is one, gets a challenge: by the gap, the number so far and the distance."""
    challenges = list_challenges(debate)
    is_far = not challenges or debate.round - challenges[-1].round >= COOLDOWN
    is_allowed = len(challenges) < MOST_CHALLENGES and is_far
    return debate.setup.challenges == "challenge" and is_allowed and find_gap(debate) is not None


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
    text = describe_challenge(debate)
    return (Challenged(round=debate.round, alert=alert.round, reason="agreement may be hollow", text=text),)


def describe_challenge(debate: Debate) -> str:
    """The text of a challenge, with points by the labels of prompts."""
    labels = side_labels(debate)
    point_ids = ", ".join(f"[{format_id(point, labels[point.seat])}]" for point in choose_points(debate))
    about = f" Look at {point_ids} first." if point_ids else ""
    return (
        f"What is said here is not what is held in private.{about} In this round each of you gives one of these, and "
        "cites the point by its id: evidence for or against it that nobody gave; an error in it; or the best case for "
        "what you yourself held before the talk, where you gave that up."
    )


def choose_points(debate: Debate) -> list[Citation]:
    """Unattacked points of the position ahead, the latest first; then one of another side that nobody took up."""
    active = [point for point, said in list_points(debate).items() if debate.is_active(said.turn)]
    citations = find_citations(debate)
    links = [link for point in active for link in citations[point].links]
    attacked_points = {link.target for link in links if link.relation in ATTACKS}
    taken_up = {link.target for link in links if link.source.seat != link.target.seat}
    leader = choose_leader_of_ballots(list_last_ballots(debate))
    points = [point for point in active if point.round < debate.round]
    ahead = (point for point in reversed(points) if point.seat == leader and point not in attacked_points)
    forgotten_points = (point for point in points if point.seat != leader and point not in taken_up)
    return [*islice(ahead, MOST_POINTS - 1), *islice(forgotten_points, 1)]


def describe_gap(gap: Gap) -> str:
    """What is said against what is held, in a sentence."""
    belief = f"{float(100 * (1 - Fraction(gap.disbelief))):.0f} %"
    return (
        f"What is said is not what is held: {gap.apart} of {gap.debaters} debaters choose otherwise in private than "
        f"they say, and what they say has {belief} of their belief on average."
    )


def describe_alert(alert: Alerted) -> str:
    """An alert in a line, with what came of a challenge."""
    parts = [f"Round {alert.round}: {describe_gap(alert.gap)}"] if alert.gap else []
    parts += ["The next round has a challenge to answer."] if alert.challenged else []
    if effect := alert.effect:
        parts.append(
            f"After the challenge of round {alert.round} voters moved by {effect.movement} at most, {effect.changed} "
            f"of {effect.voters} chose otherwise than before, and {effect.new_points} name a new point."
        )
    return " ".join(parts)
