"""A turn is struck through, and left out of every later prompt."""

from server.debate.ballots import convergence
from server.debate.facts.errors import check, require
from server.debate.facts.interventions import TurnRetracted
from server.debate.interventions.action import Action, Change, Inheritance, InterventionRequest
from server.debate.state.debate import Debate, replace


class Retract(Action[TurnRetracted]):
    name = "retract"
    facts = (TurnRetracted,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
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

    def rebuild(self, fact: TurnRetracted) -> InterventionRequest:
        return InterventionRequest(to=fact.seat, round=fact.turn_round)

    def apply(self, debate: Debate, fact: TurnRetracted) -> Debate:
        before = debate.interventions[:-1]
        gone = replace(debate, interventions=before).retracted_turns
        active = {(turn.seat, turn.round, turn.slot_index) for turn in debate.turns} - gone
        check((fact.seat, fact.turn_round, fact.slot_index) in active, "there is no such turn")
        return convergence.supersede_votes(replace(debate, retracted_at=debate.version + 1))

    def describe(self, fact: TurnRetracted) -> tuple[str, str]:
        return fact.seat, f"the turn of round {fact.turn_round}"

    def inherit(self, fact: TurnRetracted, fork: Inheritance) -> TurnRetracted | None:
        """Turns that were retracted after the inherited rounds stay retracted."""
        made_in = min(fact.round, fork.at_round)
        return fact.model_copy(update={"round": made_in}) if fact.turn_round <= fork.at_round else None
