"""Positions that a model proposed, in other words of who was asked to confirm them, before the first round."""

from server.debate.commands.setup.debaters import find_same_stance
from server.debate.facts.errors import check_fits, require, require_length
from server.debate.facts.interventions import PositionsRevised, StanceRevised
from server.debate.facts.text import clean
from server.debate.interventions.action import Action, Change, InterventionRequest
from server.debate.rules.framing import can_revise_positions, find_revision_problem, revise_positions
from server.debate.state.debate import Debate, replace
from server.debate.state.labels import label_debaters

MAX_STANCE_LENGTH = 500


class RevisePositions(Action[PositionsRevised]):
    name = "revise_positions"
    facts = (PositionsRevised,)
    is_offered = False  # the person at the client is asked in a form

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        can_revise = can_revise_positions(debate)
        require(can_revise, "The positions stand: the first round has begun, or nobody proposed them.")
        given = {name: clean(stance) for name, stance in request.stances.items()}
        before = {debater.name: debater.stance for debater in debate.setup.debaters}
        changed = {name: given[name] for name in before if given.get(name) and given[name] != before[name]}
        for name, stance in changed.items():
            require_length(f"The position of {name} has", len(stance), MAX_STANCE_LENGTH)
        require(not (problem := find_same_stance((before | changed).items())), problem)
        if not changed:
            return [], ""
        revised = tuple(StanceRevised(debater=name, stance=stance) for name, stance in changed.items())
        event = PositionsRevised(stances=revised, labels=debate.setup.labels)
        setup = revise_positions(debate.setup, event)
        labels = label_debaters(setup, setup.debaters)
        return [event.model_copy(update={"labels": labels})], "The debate is about these positions."

    def rebuild(self, fact: PositionsRevised) -> InterventionRequest:
        stances = {each.debater: each.stance for each in fact.stances}
        return InterventionRequest(stances=stances)

    def apply(self, debate: Debate, fact: PositionsRevised) -> Debate:
        check_fits(find_revision_problem(debate, fact))
        return replace(debate, setup=revise_positions(debate.setup, fact))

    def describe(self, fact: PositionsRevised) -> tuple[str, str]:
        return "", "; ".join(f"{revised.debater}: {revised.stance}" for revised in fact.stances)
