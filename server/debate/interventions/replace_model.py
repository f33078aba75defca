"""Gives a seat another model."""

from server.debate.facts.errors import check, require
from server.debate.facts.interventions import ModelReplaced
from server.debate.facts.setup.limits import check_prices_known
from server.debate.interventions.action import (
    Action,
    Change,
    Inheritance,
    InterventionRequest,
    check_known,
    list_seats_to_ask,
)
from server.debate.rules.windows import describe_misfit, estimate_prompt
from server.debate.state.debate import Debate, replace
from server.debate.state.seats import seat_models


class ReplaceModel(Action[ModelReplaced]):
    name = "replace_model"
    hint = "another model for the seat `to`"
    facts = (ModelReplaced,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        check_known(request.to, list_seats_to_ask(debate), "Seats")
        model = request.model.strip()
        require(model, "Name in `model` the one that is to take the seat.")
        check_prices_known(debate.limits, [model], filter(None, (*debate.prices, request.price)))
        misfit = describe_misfit(model, request.window, estimate_prompt(debate), debate.setup.max_turn_tokens)
        problem = f"The debate is too long for it: {misfit}. Choose a model with a larger window."
        require(not misfit, problem)
        event = ModelReplaced(seat=request.to, model=model, price=request.price, window=request.window)
        effect = f"{request.to} uses it from the next question on, and again where it failed in this round."
        return [event], f"{effect} An answer under way is kept."

    def rebuild(self, fact: ModelReplaced) -> InterventionRequest:
        require(fact.price is None or fact.price.model == fact.model, "price: it is another model's")
        return InterventionRequest(to=fact.seat, model=fact.model, price=fact.price, window=fact.window)

    def apply(self, debate: Debate, fact: ModelReplaced) -> Debate:
        check(fact.seat in seat_models(debate.setup), f"nobody here is called {fact.seat}")
        return replace(
            debate,
            round_failures=tuple(f for f in debate.round_failures if f.seat != fact.seat),
            failed_models=frozenset(pair for pair in debate.failed_models if pair[0] != fact.seat),
            unheard=debate.unheard - {fact.seat},
        )

    def describe(self, fact: ModelReplaced) -> tuple[str, str]:
        return fact.seat, fact.model

    def inherit(self, fact: ModelReplaced, fork: Inheritance) -> ModelReplaced | None:
        return super().inherit(fact, fork) if fact.seat in fork.seats else None
