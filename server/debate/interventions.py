"""Steering a debate: what a caller may do to it, when, and from when on it counts."""

from dataclasses import dataclass

from server.debate.events import Event, Intervened, Paused, Resumed
from server.debate.refused import Refused
from server.debate.speaking import talk_is_over
from server.debate.state import Debate
from server.debate.text import clean

ACTIONS = ("pause", "resume", "inject", "conclude")
LONGEST_NOTE = 8_000


@dataclass(frozen=True, slots=True)
class Intervention:
    event: Event
    takes_effect: str


def intervention(debate: Debate, action: str, *, text: str, to: str, reason: str) -> Intervention:
    """The event an action is, and from when on it counts.

    Raises:
        Refused: it cannot be done to this debate now.
    """
    text, reason = clean(text), clean(reason)
    if debate.ended:
        raise Refused(
            f"The debate is over ({debate.ended.ending}). Start another, or read it with get_verdict."
        )
    match action:
        case "pause":
            return pause(debate, reason)
        case "resume":
            return resume(debate, reason)
        case "inject":
            return inject(debate, text, to, reason)
        case "conclude":
            return conclude_now(debate, reason)
        case _:
            raise Refused(f"There is no action {action[:40]!r}. Actions: {', '.join(ACTIONS)}.")


def pause(debate: Debate, reason: str) -> Intervention:
    if debate.paused:
        raise Refused(f"The debate is paused already: {debate.paused.reason}")
    event = Paused(reason=reason or "paused on request")
    return Intervention(
        event, "Answers that are on their way are kept; nothing more is asked until it is resumed."
    )


def resume(debate: Debate, reason: str) -> Intervention:
    if not debate.paused:
        raise Refused("The debate is not paused. Call step_round to go on.")
    return Intervention(
        Resumed(reason=reason), "Seats that failed in this round are asked again with the next step_round."
    )


def inject(debate: Debate, text: str, to: str, reason: str) -> Intervention:
    names = debate.names
    phase = debate.phase
    if phase and talk_is_over(debate) and not (debate.concluding and phase.is_talk):
        raise Refused("The talk is over, and notes are for those who talk. Call get_verdict.")
    if not text:
        raise Refused("There is nothing to inject. Pass the note in `text`.")
    if len(text) > LONGEST_NOTE:
        raise Refused(f"The note has {len(text):,} characters; {LONGEST_NOTE:,} are allowed.")
    if to and to not in names:
        raise Refused(
            f"Nobody here is called {to[:60]!r}. Debaters: {', '.join(names)}; leave `to` out for all."
        )
    event = Intervened(action="inject", text=text, round=debate.round, to=to, reason=reason)
    return Intervention(event, f"{to or 'Everybody'} reads it with every question put from now on.")


def conclude_now(debate: Debate, reason: str) -> Intervention:
    if talk_is_over(debate):
        raise Refused("The talk is over already. Call get_verdict.")
    if not debate.turns:
        raise Refused("Nothing has been said yet, so there is nothing to judge. Call step_round first.")
    event = Intervened(action="conclude", round=debate.round, reason=reason)
    return Intervention(event, "Turns that are on their way are kept; then it is decided on what is there.")
