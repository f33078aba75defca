"""Adds rounds, changes limits, or both."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from server.debate.ballots.waves import is_talk_over
from server.debate.commands.requests import LimitsInput, build_limits
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.events import Event, PhaseEntered
from server.debate.facts.interventions import LimitsChanged, RoundsExtended
from server.debate.facts.setup.limits import Limits, check_prices_known
from server.debate.facts.text import format_count
from server.debate.interventions.action import Action, Change, Inheritance, InterventionRequest
from server.debate.rules.budget import ElapsedTime, compute_remaining, find_round_shortfall
from server.debate.rules.calls import due_slots
from server.debate.rules.course import advance
from server.debate.rules.pauses import build_fallback_round_plan, find_quorum_shortfall
from server.debate.state.debate import Debate, replace
from server.debate.state.seats import candidate_models, seat_models

MAX_EXTENSION_ROUNDS = 20  # at a time


class Extend(Action[RoundsExtended | LimitsChanged]):
    name = "extend"
    hint = "more rounds, or other limits"
    facts = (RoundsExtended, LimitsChanged)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        events: list[Event] = []
        effects = []
        if request.rounds or not request.limits:
            events.append(build_extension(debate, request.rounds))
            rounds, new_limit = format_count(request.rounds, "round"), debate.max_rounds + request.rounds
            effects.append(f"{rounds} more, {new_limit} in all, from the next round on.")
        if request.limits:
            event = LimitsChanged(limits=build_new_limits(debate, request.limits))
            events.append(event)
            debate_after = replace(debate, interventions=(*debate.interventions, *events))
            if reason := find_budget_shortfall(debate_after, request.elapsed):
                effects.append(f"The new limits leave no room for another question ({reason}).")
            else:
                effects.append("The new limits are in force from the next question on.")
                effects += ["Resume the debate now."] if debate.paused else []
        return events, " ".join(effects)

    def rebuild(self, fact: RoundsExtended | LimitsChanged) -> InterventionRequest:
        if isinstance(fact, RoundsExtended):
            return InterventionRequest(rounds=fact.rounds)
        return InterventionRequest(limits={name: value for name, value in fact.limits if value})

    def describe(self, fact: RoundsExtended | LimitsChanged) -> tuple[str, str]:
        if isinstance(fact, RoundsExtended):
            return "", f"{format_count(fact.rounds, 'round')} more"
        limits = fact.limits.model_dump(exclude_defaults=True)
        return "", ", ".join(f"{name}={value}" for name, value in limits.items())

    def inherit(
        self, fact: RoundsExtended | LimitsChanged, fork: Inheritance
    ) -> RoundsExtended | LimitsChanged | None:
        if isinstance(fact, RoundsExtended) and fact.alert == fork.at_round:
            return None  # it follows from an alert, which the fork computes again
        return super().inherit(fact, fork)


def build_extension(debate: Debate, rounds: int) -> RoundsExtended:
    hint = f"Say in `rounds` how many more, 1 to {MAX_EXTENSION_ROUNDS}; or in `limits` what they shall be."
    require(1 <= rounds <= MAX_EXTENSION_ROUNDS, hint)
    hint = "The talk is over: it cannot be extended. Fork the debate, or start another."
    require(not is_talk_over(debate), hint)
    index = debate.setup.phases.index(debate.phase) if debate.phase else 0
    can_repeat = any(phase.repeats for phase in debate.setup.phases[index:])
    require(can_repeat, "No phase to come repeats, so that more rounds would change nothing.")
    return RoundsExtended(rounds=rounds)


def build_new_limits(debate: Debate, changes: Mapping[str, Any]) -> Limits:
    """The limits in force, updated with the requested ones."""
    names = ", ".join(Limits.model_fields)
    for name in changes:
        is_known = name in Limits.model_fields
        require(is_known, f"limits.{name[:60]} cannot be changed. These can: {names}.")
    try:
        new_limits = build_limits(LimitsInput.model_validate(dict(changes)))
    except ValidationError as error:
        name = str(error.errors(include_url=False)[0]["loc"][0])
        amount = "a number of US dollars from 0.000001 to 1,000,000"
        shapes = {"max_cost_usd": amount, "on_budget": "conclude or pause"}
        shape = shapes.get(name, "a whole number above 0, and not beyond all measure")
        raise InvalidRequestError(f"limits.{name} must be {shape}.") from None
    limits = debate.limits.model_copy(update=new_limits.model_dump(include=set(changes)))
    models = [model for seat in seat_models(debate.setup) for model in candidate_models(debate, seat)]
    check_prices_known(limits, models, debate.prices)
    return limits


def find_budget_shortfall(debate: Debate, elapsed: ElapsedTime) -> str:
    """Why the budget does not allow another call, or the round that would begin now; "" if it does."""
    remaining = compute_remaining(debate, elapsed)
    if not remaining.calls:
        return remaining.reason
    if find_quorum_shortfall(debate) or due_slots(debate) or build_fallback_round_plan(debate):
        return ""
    next_event = advance(debate, None)[-1]
    return find_round_shortfall(debate, next_event, elapsed) if isinstance(next_event, PhaseEntered) else ""
