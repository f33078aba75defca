"""Strikes a turn through, and leaves it out of every later prompt."""

from server.debate.ballots import convergence
from server.debate.facts.errors import check, require
from server.debate.facts.interventions import TurnRetracted
from server.debate.interventions.action import Action, Change, Inheritance, InterventionRequest
from server.debate.state.debate import Debate, replace


class Retract(Action[TurnRetracted]):
    name = "retract"
    hint = "take back a turn (to, round)"
    facts = (TurnRetracted,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        turns = [turn for turn in (*debate.turns, *debate.advice) if turn.seat == request.to]
        active_slots = [
            turn.slot_index for turn in turns if turn.round == request.round and debate.is_active(turn)
        ]
        rounds = ", ".join(str(number) for number in sorted({turn.round for turn in turns}))
        hint = f"; it spoke in round {rounds}." if turns else "."
        problem = f"There is no turn of {request.to[:60]!r} in round {request.round} to retract."
        require(active_slots, f"{problem} Say in `to` and `round` which{hint}")
        is_judged = debate.phase and not debate.phase.is_talk and debate.verdict
        require(not is_judged, "The verdict was made with that turn. Fork the debate to judge without it.")
        event = TurnRetracted(seat=request.to, turn_round=request.round, slot_index=active_slots[-1])
        return [event], "It is struck through, and left out of every prompt from now on."

    def rebuild(self, fact: TurnRetracted) -> InterventionRequest:
        return InterventionRequest(to=fact.seat, round=fact.turn_round)

    def apply(self, debate: Debate, fact: TurnRetracted) -> Debate:
        earlier_interventions = debate.interventions[:-1]
        retracted_turns = replace(debate, interventions=earlier_interventions).retracted_turns
        turns = (*debate.turns, *debate.advice)
        active = {(turn.seat, turn.round, turn.slot_index) for turn in turns} - retracted_turns
        check((fact.seat, fact.turn_round, fact.slot_index) in active, "there is no such turn")
        return convergence.supersede_votes(replace(debate, retracted_at=debate.version + 1))

    def describe(self, fact: TurnRetracted) -> tuple[str, str]:
        return fact.seat, f"the turn of round {fact.turn_round}"

    def inherit(self, fact: TurnRetracted, fork: Inheritance) -> TurnRetracted | None:
        """Turns that were retracted after the inherited rounds stay retracted."""
        round_number = min(fact.round, fork.at_round)
        return fact.model_copy(update={"round": round_number}) if fact.turn_round <= fork.at_round else None
