"""The model of a seat, and turns that are taken back."""

from server.debate.commands.interventions.request import Change, InterventionRequest, check_known, find_seats
from server.debate.facts.errors import require
from server.debate.facts.interventions import ModelReplaced, TurnRetracted
from server.debate.facts.setup.limits import check_prices_known
from server.debate.rules.windows import describe_misfit, estimate_prompt
from server.debate.state.debate import Debate


def replace_model(debate: Debate, request: InterventionRequest) -> Change:
    check_known(request.to, find_seats(debate), "Seats")
    model = request.model.strip()
    require(model, "Pass `model`: the name of the model that is to take the seat.")
    check_prices_known(debate.limits, [model], filter(None, (*debate.prices, request.price)))
    misfit = describe_misfit(model, request.window, estimate_prompt(debate), debate.setup.max_turn_tokens)
    problem = f"The debate is too long for it: {misfit}. Choose a model with a larger window."
    require(not misfit or debate.setup.on_window == "warn", problem)
    event = ModelReplaced(seat=request.to, model=model, price=request.price, window=request.window)
    effect = f"{request.to} uses it from the next question on, and again where it failed in this round."
    return [event], f"{effect} An answer in flight is kept."


def retract(debate: Debate, request: InterventionRequest) -> Change:
    turns = [turn for turn in debate.turns if turn.seat == request.to]
    left = [turn.slot_index for turn in turns if turn.round == request.round and debate.is_active(turn)]
    spoken = ", ".join(str(number) for number in sorted({turn.round for turn in turns}))
    hint = f"; it spoke in round {spoken}." if turns else "."
    missing = f"There is no turn of {request.to[:60]!r} in round {request.round} to retract."
    require(left, f"{missing} Pass `to` and `round`{hint}")
    is_judged = debate.phase and not debate.phase.is_talk and debate.verdict
    require(not is_judged, "The verdict was made with that turn. Fork the debate to judge without it.")
    event = TurnRetracted(seat=request.to, turn_round=request.round, slot_index=left[-1])
    return [event], "It is struck through, and left out of every prompt from now on."
