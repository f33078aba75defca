"""Interventions: what a caller can change in a running debate, and when the change takes effect."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from pydantic import ValidationError

from server.debate.commands.requests import LimitsInput, build_limits
from server.debate.facts import interventions
from server.debate.facts.config import Limits, Price
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Event, Paused, Resumed
from server.debate.facts.state import Debate
from server.debate.facts.text import clean, format_count
from server.debate.rules.budget import NO_ELAPSED_TIME, ElapsedTime, check_prices_known, compute_remaining
from server.debate.rules.decide import is_unattended
from server.debate.rules.schedule import candidate_models, find_voters, is_talk_over, seat_models
from server.debate.rules.transitions import replay

MAX_NOTE_LENGTH = 8_000
_FRACTION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}|/0*[1-9][0-9]{0,8})?")

MAX_EXTENSION_ROUNDS = 20
"""By which a debate can be extended at a time."""


@dataclass(frozen=True, slots=True)
class InterventionRequest:
    """The parameters of an action; each action uses its own (`HANDLERS`)."""

    text: str = ""
    to: str = ""  # a debater, or any seat, by action
    reason: str = ""
    rounds: int = 0
    round: int = 0
    model: str = ""
    price: Price | None = None  # of that model
    weights: Mapping[str, str | float] = field(default_factory=dict)
    threshold: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)  # the ones to change, as in options.limits
    elapsed: ElapsedTime = NO_ELAPSED_TIME
    delivery_id: str = ""  # of the hook that asks for it


@dataclass(frozen=True, slots=True)
class Intervention:
    events: tuple[Event, ...]
    effect: str


def build_intervention(debate: Debate, action: str, request: InterventionRequest) -> Intervention:
    """Return the events of an action, and a sentence that says when they take effect.

    Raises:
        InvalidRequestError: the action is not possible in this debate now.
    """
    if debate.ended:
        raise InvalidRequestError(
            f"The debate is over ({debate.ended.ending}). Start another, or read it with get_verdict."
        )
    if action not in HANDLERS:
        raise InvalidRequestError(f"There is no action {action[:40]!r}. Actions: {', '.join(ACTIONS)}.")
    return HANDLERS[action].build(debate, request)


def pause(debate: Debate, request: InterventionRequest) -> Intervention:
    if debate.paused:
        raise InvalidRequestError(f"The debate is paused already: {debate.paused.reason}")
    reason = clean(request.reason) or "paused on request"
    event = Paused(cause="request", reason=reason, delivery_id=request.delivery_id)
    return Intervention((event,), "Answers in flight are kept; nothing more is asked until it is resumed.")


def resume(debate: Debate, request: InterventionRequest) -> Intervention:
    if not debate.paused:
        raise InvalidRequestError("The debate is not paused. Call step_round to go on.")
    later = "with the next step_round, or at once where answers are on their way"
    when = "at once" if is_unattended(debate) else later
    effect = f"It goes on {when}; seats that failed in this round are asked again."
    event = Resumed(reason=clean(request.reason), delivery_id=request.delivery_id)
    return Intervention((event,), effect)


def inject(debate: Debate, request: InterventionRequest) -> Intervention:
    check_note(debate, request, is_for_debaters=bool(request.to))
    event = interventions.NoteAdded(**text_fields(debate, request, "inject"))
    return Intervention((event,), f"{event.to or 'Everybody'} reads it with every question put from now on.")


def challenge(debate: Debate, request: InterventionRequest) -> Intervention:
    check_note(debate, request, is_for_debaters=True)
    event = interventions.Challenged(**text_fields(debate, request, "challenge"))
    who = event.to or "Every debater"
    effect = f"{who} is to answer it in the next turn, if one is left; everybody reads it in the record."
    return Intervention((event,), effect)


def check_note(debate: Debate, request: InterventionRequest, *, is_for_debaters: bool) -> None:
    phases, phase = debate.setup.phases, debate.phase
    if request.to:
        check_known(request.to, debate.names, "Debaters")
    if phase is None or not is_talk_over(debate):
        return
    if not (debate.is_concluding and phase.is_talk):
        raise InvalidRequestError("The talk is over, and notes are for those who talk. Call get_verdict.")
    later = phases[phases.index(phase) + 1 :]
    has_ballots = any(p.wants == "ballot" and p.participants == "debaters" for p in later)
    if is_for_debaters and not has_ballots:
        raise InvalidRequestError(
            "The talk is being concluded, and no debater is asked for anything more. A note for all, with "
            "inject, is read by who decides."
        )


def instruct(debate: Debate, request: InterventionRequest) -> Intervention:
    if request.to:
        check_known(request.to, seat_models(debate.setup), "Seats")
    event = interventions.InstructionGiven(**text_fields(debate, request, "instruct"))
    return Intervention((event,), f"{request.to or 'Every seat'} follows it from the next round on.")


def check_known(name: str, known: Iterable[str], kind: str) -> None:
    if name not in known:
        raise InvalidRequestError(f"Nobody here is called {name[:60]!r}. {kind}: {', '.join(known)}.")


def text_fields(debate: Debate, request: InterventionRequest, action: str) -> dict[str, Any]:
    """The fields of an intervention that consists of a text."""
    text = clean(request.text)
    if not text:
        raise InvalidRequestError(f"There is nothing to {action}. Pass it in `text`.")
    if len(text) > MAX_NOTE_LENGTH:
        raise InvalidRequestError(f"The text has {len(text):,} characters; {MAX_NOTE_LENGTH:,} are allowed.")
    return {**common_fields(debate, request), "text": text, "to": request.to}


def common_fields(debate: Debate, request: InterventionRequest) -> dict[str, Any]:
    """The fields that every intervention has."""
    return {"round": debate.round, "reason": clean(request.reason), "delivery_id": request.delivery_id}


def conclude_now(debate: Debate, request: InterventionRequest = InterventionRequest()) -> Intervention:
    if is_talk_over(debate):
        raise InvalidRequestError("The talk is over already. Call get_verdict.")
    if not debate.turns:
        raise InvalidRequestError("Nobody has spoken yet: there is nothing to judge. Call step_round first.")
    event = interventions.TalkConcluded(**common_fields(debate, request))
    return Intervention((event,), "Turns in flight are kept; then it is decided on what is there.")


def extend(debate: Debate, request: InterventionRequest) -> Intervention:
    """Add rounds, change limits, or both, with an event for each."""
    events: list[Event] = []
    effects = []
    if request.rounds or not request.limits:
        check_can_extend_rounds(debate, request.rounds)
        events.append(interventions.RoundsExtended(**common_fields(debate, request), rounds=request.rounds))
        more, most = format_count(request.rounds, "round"), debate.max_rounds + request.rounds
        effects.append(f"{more} more, {most} in all, from the next round on.")
    if request.limits:
        limits = build_extended_limits(debate, request)
        events.append(interventions.LimitsChanged(**common_fields(debate, request), limits=limits))
        effects.append(describe_new_limits(replay(events, debate), request.elapsed))
    return Intervention(tuple(events), " ".join(effects))


def check_can_extend_rounds(debate: Debate, rounds: int) -> None:
    if not 1 <= rounds <= MAX_EXTENSION_ROUNDS:
        raise InvalidRequestError(
            f"Pass `rounds`: how many more, 1 to {MAX_EXTENSION_ROUNDS}; or `limits`, as in options.limits."
        )
    if debate.phase and is_talk_over(debate):
        raise InvalidRequestError(
            "The talk is over: it cannot be extended. Fork the debate, or start another."
        )
    here = debate.setup.phases.index(debate.phase) if debate.phase else 0
    if not any(phase.repeats for phase in debate.setup.phases[here:]):
        raise InvalidRequestError("No phase to come repeats, so that more rounds would change nothing.")


def describe_new_limits(debate: Debate, elapsed: ElapsedTime) -> str:
    """When the new limits take effect, and whether they allow another call."""
    remaining = compute_remaining(debate, elapsed)
    if not remaining.calls:
        return f"The new limits leave no room for another question ({remaining.reason})."
    effect = "The new limits are in force from the next question on."
    return effect + (" Resume the debate now." if debate.paused else "")


def build_extended_limits(debate: Debate, request: InterventionRequest) -> Limits:
    """The limits in force, updated with the requested ones."""
    if unknown := [name for name in request.limits if name not in Limits.model_fields]:
        known = ", ".join(Limits.model_fields)
        raise InvalidRequestError(
            f"limits.{unknown[0][:60]} is none that can be changed. There are: {known}."
        )
    try:
        requested = build_limits(LimitsInput.model_validate(dict(request.limits)))
    except ValidationError as error:
        name = str(error.errors(include_url=False)[0]["loc"][0])
        shape = LIMIT_DESCRIPTIONS.get(name, "a whole number above 0, and not beyond all measure")
        raise InvalidRequestError(f"limits.{name} must be {shape}.") from None
    limits = debate.limits.model_copy(update=requested.model_dump(include=set(request.limits)))
    models = [model for seat in seat_models(debate.setup) for model in candidate_models(debate, seat)]
    check_prices_known(limits, models, debate.prices)
    return limits


LIMIT_DESCRIPTIONS = {
    "max_cost_usd": "a number of US dollars above 0, at most 1,000,000",
    "on_budget": "conclude or pause",
}


def check_can_vote(debate: Debate) -> tuple[str, ...]:
    """Return the seats whose votes make the verdict, while their votes are not counted yet."""
    voters = find_voters(debate.setup)
    if not voters:
        raise InvalidRequestError("No votes are counted in this debate, so that there is nothing to weigh.")
    if debate.verdict:
        raise InvalidRequestError("There is a verdict: the votes were counted. Fork the debate instead.")
    return voters


def set_weights(debate: Debate, request: InterventionRequest) -> Intervention:
    voters = check_can_vote(debate)
    if not request.weights:
        raise InvalidRequestError(f"Pass `weights`: a fraction for each voter. Voters: {', '.join(voters)}.")
    weights = []
    for name, value in request.weights.items():
        check_known(name, voters, "Voters")
        fraction = parse_fraction(str(value), f"weights.{name}", maximum=1000)
        weights.append(interventions.Weight(seat=name, weight=str(fraction)))
    event = interventions.WeightsChanged(**common_fields(debate, request), weights=tuple(weights))
    return Intervention((event,), "Votes are counted so when the verdict is made.")


def set_threshold(debate: Debate, request: InterventionRequest) -> Intervention:
    check_can_vote(debate)
    share = parse_fraction(request.threshold, "threshold", maximum=1)
    event = interventions.ThresholdChanged(**common_fields(debate, request), threshold=str(share))
    effect = f"A position prevails with {share} of the votes' weight or more, when the verdict is made."
    return Intervention((event,), effect)


def parse_fraction(text: str, name: str, *, maximum: int) -> Fraction:
    """Parse an exact positive fraction: "2/3", "0.5", "2"."""
    number = text.strip()
    # No exponents: computing the number could take forever.
    fraction = Fraction(number) if _FRACTION.fullmatch(number) else Fraction(0)
    if not 0 < fraction <= maximum:
        raise InvalidRequestError(
            f'`{name}`: {text[:20]!r} is no fraction above 0 and at most {maximum}, such as "2/3".'
        )
    return fraction


def replace_model(debate: Debate, request: InterventionRequest) -> Intervention:
    check_known(request.to, seat_models(debate.setup), "Seats")
    model = request.model.strip()
    if not model:
        raise InvalidRequestError("Pass `model`: the name of the model that is to take the seat.")
    check_prices_known(debate.limits, [model], (*debate.prices, *([request.price] if request.price else [])))
    fields = common_fields(debate, request)
    event = interventions.ModelReplaced(**fields, seat=request.to, model=model, price=request.price)
    effect = f"{request.to} uses it from the next question on, and again where it failed in this round."
    return Intervention((event,), f"{effect} An answer in flight is kept.")


def retract(debate: Debate, request: InterventionRequest) -> Intervention:
    turns = [turn for turn in debate.turns if turn.seat == request.to]
    left = [turn for turn in turns if turn.round == request.round and debate.is_active(turn)]
    if not left:
        rounds = ", ".join(str(number) for number in sorted({turn.round for turn in turns}))
        raise InvalidRequestError(
            f"There is no turn of {request.to[:60]!r} in round {request.round} to retract. Pass `to` and `round`"
            + (f"; it spoke in round {rounds}." if rounds else ".")
        )
    if debate.phase and not debate.phase.is_talk and debate.verdict:
        raise InvalidRequestError("The verdict was made with that turn. Fork the debate to judge without it.")
    event = interventions.TurnRetracted(
        **common_fields(debate, request),
        seat=request.to,
        turn_round=request.round,
        slot_index=left[-1].slot_index,
    )
    return Intervention((event,), "It is struck through, and left out of every prompt from now on.")


class Handler(NamedTuple):
    build: Callable[[Debate, InterventionRequest], Intervention]
    parameters: tuple[str, ...] = ()  # the fields of a request that it uses, besides `reason`


HANDLERS: dict[str, Handler] = {
    "pause": Handler(pause),
    "resume": Handler(resume),
    "inject": Handler(inject, ("text", "to")),
    "challenge": Handler(challenge, ("text", "to")),
    "instruct": Handler(instruct, ("text", "to")),
    "conclude": Handler(conclude_now),
    "extend": Handler(extend, ("rounds", "limits")),
    "weights": Handler(set_weights, ("weights",)),
    "threshold": Handler(set_threshold, ("threshold",)),
    "replace_model": Handler(replace_model, ("to", "model")),
    "retract": Handler(retract, ("to", "round")),
}
ACTIONS = tuple(HANDLERS)
TEXT_ACTIONS = tuple(name for name, handler in HANDLERS.items() if "text" in handler.parameters)
HOOK_ACTIONS = tuple(name for name, handler in HANDLERS.items() if {*handler.parameters} <= {"text", "to"})
"""The actions that need nothing but words, so that a hook can be configured to make them."""
