"""Steering a debate: what a caller may do to it, when, and from when on it counts."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from pydantic import ValidationError

from server.debate.commands.requests import LimitsAsked, limits_asked
from server.debate.facts.config import Limits, Price
from server.debate.facts.errors import Refused
from server.debate.facts.events import Event, Intervened, Paused, Resumed, Weight
from server.debate.facts.state import Debate, judges
from server.debate.facts.text import clean, counted
from server.debate.rules.budget import AT_ONCE, Elapsed, room
from server.debate.rules.decide import runs_by_itself
from server.debate.rules.schedule import candidates, decided_by, seated, talk_is_over

LONGEST_NOTE = 8_000
_FRACTION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}|/0*[1-9][0-9]{0,8})?")

MOST_ROUNDS = 20
"""By which a debate can be extended at a time."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What an action needs; each uses the fields that are about it."""

    text: str = ""
    to: str = ""  # a debater, or the seat it is about
    reason: str = ""
    rounds: int = 0
    round: int = 0
    model: str = ""
    price: Price | None = None  # of that model
    weights: Mapping[str, str | float] = field(default_factory=dict)
    threshold: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)  # those to change, as in options.limits
    elapsed: Elapsed = AT_ONCE  # how late it is


@dataclass(frozen=True, slots=True)
class Intervention:
    event: Event
    takes_effect: str


def intervention(debate: Debate, action: str, wish: Wish) -> Intervention:
    """The event an action is, and from when on it counts.

    Raises:
        Refused: it cannot be done to this debate now.
    """
    if debate.ended:
        raise Refused(
            f"The debate is over ({debate.ended.ending}). Start another, or read it with get_verdict."
        )
    if action not in ACTING:
        raise Refused(f"There is no action {action[:40]!r}. Actions: {', '.join(ACTIONS)}.")
    return ACTING[action](debate, wish)


def pause(debate: Debate, wish: Wish) -> Intervention:
    if debate.paused:
        raise Refused(f"The debate is paused already: {debate.paused.reason}")
    event = Paused(reason=clean(wish.reason) or "paused on request")
    return Intervention(
        event, "Answers that are on their way are kept; nothing more is asked until it is resumed."
    )


def resume(debate: Debate, wish: Wish) -> Intervention:
    if not debate.paused:
        raise Refused("The debate is not paused. Call step_round to go on.")
    later = "with the next step_round, or at once where answers are on their way"
    when = "at once" if runs_by_itself(debate) else later
    told = f"It goes on {when}; seats that failed in this round are asked again."
    return Intervention(Resumed(reason=clean(wish.reason)), told)


def inject(debate: Debate, wish: Wish) -> Intervention:
    event = said(debate, wish, "inject")
    return Intervention(event, f"{event.to or 'Everybody'} reads it with every question put from now on.")


def challenge(debate: Debate, wish: Wish) -> Intervention:
    event = said(debate, wish, "challenge")
    who = event.to or "Every debater"
    told = f"{who} is to answer it in the next turn, if one is left; everybody reads it in the record."
    return Intervention(event, told)


def said(debate: Debate, wish: Wish, action: str) -> Intervened:
    text = clean(wish.text)
    phase = debate.phase
    if phase and talk_is_over(debate) and not (debate.concluding and phase.is_talk):
        raise Refused("The talk is over, and notes are for those who talk. Call get_verdict.")
    if not text:
        raise Refused(f"There is nothing to {action}. Pass the note in `text`.")
    if len(text) > LONGEST_NOTE:
        raise Refused(f"The note has {len(text):,} characters; {LONGEST_NOTE:,} are allowed.")
    if wish.to and wish.to not in debate.names:
        raise Refused(
            f"Nobody here is called {wish.to[:60]!r}. Debaters: {', '.join(debate.names)}; leave `to` out "
            "for all."
        )
    if debate.concluding and (action == "challenge" or wish.to) and not votes_follow(debate):
        raise Refused(
            "The talk is being concluded, and no debater is asked for anything more. A note for all, with "
            "inject, is read by who decides."
        )
    return made(debate, wish, action, text=text, to=wish.to)


def votes_follow(debate: Debate) -> bool:
    """Whether the debaters are still asked for ballots when this talk is over."""
    phases, phase = debate.setup.phases, debate.phase
    assert phase is not None
    return any(later.wants == "ballot" for later in phases[phases.index(phase) + 1 :])


def made(debate: Debate, wish: Wish, action: str, **what: object) -> Intervened:
    return Intervened.model_validate(
        {"action": action, "round": debate.round, "reason": clean(wish.reason), **what}
    )


def conclude_now(debate: Debate, wish: Wish = Wish()) -> Intervention:
    if talk_is_over(debate):
        raise Refused("The talk is over already. Call get_verdict.")
    if not debate.turns:
        raise Refused("Nothing has been said yet, so there is nothing to judge. Call step_round first.")
    return Intervention(
        made(debate, wish, "conclude"),
        "Turns that are on their way are kept; then it is decided on what is there.",
    )


def extend(debate: Debate, wish: Wish) -> Intervention:
    limits = extended(debate, wish) if wish.limits else None
    if limits and not wish.rounds:
        event = made(debate, wish, "extend", limits=limits)
        return Intervention(event, in_force(debate, event, wish.elapsed))
    if not 1 <= wish.rounds <= MOST_ROUNDS:
        raise Refused(f"Pass `rounds`: how many more, 1 to {MOST_ROUNDS}; or `limits`, as in options.limits.")
    if debate.phase and talk_is_over(debate):
        raise Refused("The talk is over, and cannot be extended. Fork the debate, or start another.")
    repeating = [phase for phase in debate.setup.phases if phase.repeats]
    here = debate.setup.phases.index(debate.phase) if debate.phase else 0
    if not repeating or debate.setup.phases.index(repeating[0]) < here:
        raise Refused("No phase that is still to come repeats, so that more rounds would change nothing.")
    event = made(debate, wish, "extend", rounds=wish.rounds, limits=limits)
    most = debate.max_rounds + wish.rounds
    told = f"{counted(wish.rounds, 'round')} more, {most} in all, from the next round on."
    return Intervention(event, f"{told} {in_force(debate, event, wish.elapsed)}" if limits else told)


def in_force(debate: Debate, extension: Intervened, elapsed: Elapsed) -> str:
    """From when on the new limits count, and whether the debate can go on with them."""
    left = room(replace(debate, steering=(*debate.steering, extension)), elapsed)
    if not left.calls:
        return f"The new limits leave no room for another question ({left.reason})."
    told = "The new limits are in force from the next question on."
    return told + (" Resume the debate now." if debate.paused else "")


def extended(debate: Debate, wish: Wish) -> Limits:
    """The limits with those changed that were given."""
    for name in wish.limits:
        if name not in Limits.model_fields:
            there = ", ".join(Limits.model_fields)
            raise Refused(f"limits.{name[:60]} is none that can be changed. There are: {there}.")
    try:
        asked = limits_asked(LimitsAsked.model_validate(dict(wish.limits)))
    except ValidationError as error:
        wrong = str(error.errors(include_url=False)[0]["loc"][0])
        raise Refused(f"limits.{wrong} must be {LIMIT_VALUES.get(wrong, A_NUMBER)}.") from None
    given = asked.model_dump(include=set(wish.limits))
    limits = debate.limits.model_copy(update=given)
    seats = seated(debate.setup)
    unknown = unpriced(debate, [model for seat in seats for model in candidates(debate, seat)])
    if limits.max_cost_usd and unknown:
        raise Refused(f"limits.max_cost_usd cannot be held: {unknown}.")
    return limits


A_NUMBER = "a whole number above 0, and not beyond all measure"
LIMIT_VALUES = {
    "max_cost_usd": "a number of US dollars above 0, at most 1,000,000",
    "on_budget": "conclude or pause",
}


def unpriced(debate: Debate, models: Iterable[str], price: Price | None = None) -> str:
    """What is to be said of the models whose price is unknown; "" where there are none."""
    known = {row.model for row in (*debate.prices, *([price] if price else [])) if row.input}
    unknown = [model for model in dict.fromkeys(models) if model not in known]
    return f"the price of {', '.join(unknown)} is unknown, and unknown is not free" if unknown else ""


def voters_of(debate: Debate) -> tuple[str, ...]:
    """Whose votes make the verdict.

    Raises:
        Refused: nobody votes, or they have been counted.
    """
    voters = {"judges": judges(debate.setup), "ballots": debate.names}.get(decided_by(debate.setup))
    if voters is None:
        raise Refused("No votes are counted in this debate, so that there is nothing to weigh.")
    if debate.verdict:
        raise Refused("There is a verdict already; the votes were counted. Fork the debate instead.")
    return voters


def weights(debate: Debate, wish: Wish) -> Intervention:
    voters = voters_of(debate)
    if not wish.weights:
        raise Refused(f"Pass `weights`: a number or a fraction for each voter. Voters: {', '.join(voters)}.")
    for name in wish.weights:
        if name not in voters:
            raise Refused(f"Nobody here who votes is called {name[:60]!r}. Voters: {', '.join(voters)}.")
    given = tuple(
        Weight(seat=name, weight=str(fraction(str(value), f"weights.{name}", most=1000)))
        for name, value in wish.weights.items()
    )
    event = made(debate, wish, "weights", weights=given)
    return Intervention(event, "Votes are counted so when the verdict is made.")


def threshold(debate: Debate, wish: Wish) -> Intervention:
    voters_of(debate)
    share = fraction(wish.threshold, "threshold", most=1)
    event = made(debate, wish, "threshold", threshold=str(share))
    told = f"A position prevails with {share} of the votes' weight or more, when the verdict is made."
    return Intervention(event, told)


def fraction(text: str, name: str, *, most: int) -> Fraction:
    """An exact positive fraction: "2/3", "0.5", "2"."""
    written = text.strip()
    # Nothing with an exponent: computing it could take for ever.
    found = Fraction(written) if _FRACTION.fullmatch(written) else Fraction(0)
    if not 0 < found <= most:
        raise Refused(f'`{name}`: {text[:20]!r} is no fraction above 0 and at most {most}, such as "2/3".')
    return found


def replace_model(debate: Debate, wish: Wish) -> Intervention:
    seats = seated(debate.setup)
    if wish.to not in seats:
        raise Refused(f"There is no seat {wish.to[:60]!r}. Pass `to`: one of {', '.join(seats)}.")
    if not wish.model.strip():
        raise Refused("Pass `model`: the name of the model that is to take the seat.")
    model = wish.model.strip()
    if debate.limits.max_cost_usd and (unknown := unpriced(debate, [model], wish.price)):
        raise Refused(f"The debate's max_cost_usd could not be held: {unknown}. Choose another model.")
    event = made(debate, wish, "replace_model", to=wish.to, model=model, price=wish.price)
    told = f"{wish.to} is asked of it from the next question on, and again where it failed in this round."
    return Intervention(event, f"{told} An answer that is on its way is kept.")


def retract(debate: Debate, wish: Wish) -> Intervention:
    turns = [t for t in debate.turns if t.seat == wish.to and t.round == wish.round]
    left = [t for t in turns if (t.seat, t.round, t.turn) not in debate.retracted]
    if not left:
        said_in = sorted({t.round for t in debate.turns if t.seat == wish.to})
        raise Refused(
            f"There is no turn of {wish.to[:60]!r} in round {wish.round} to retract. Pass `to` and `round`"
            + (f"; it spoke in round {', '.join(map(str, said_in))}." if said_in else ".")
        )
    if debate.phase and not debate.phase.is_talk and debate.verdict:
        raise Refused("There is a verdict already, made with that turn. Fork the debate to judge without it.")
    event = made(debate, wish, "retract", to=wish.to, retracted=(wish.round, left[-1].turn))
    return Intervention(event, "It is struck through, and left out of every prompt from now on.")


ACTING: dict[str, Callable[[Debate, Wish], Intervention]] = {
    "pause": pause,
    "resume": resume,
    "inject": inject,
    "challenge": challenge,
    "conclude": conclude_now,
    "extend": extend,
    "weights": weights,
    "threshold": threshold,
    "replace_model": replace_model,
    "retract": retract,
}
ACTIONS = tuple(ACTING)
