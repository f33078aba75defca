"""Whether an intervention could have been made: its request is rebuilt from the event, and made again."""

from dataclasses import replace
from typing import assert_never

from server.debate.commands.interventions.actions import Intervention, build_intervention
from server.debate.commands.interventions.request import InterventionRequest
from server.debate.commands.revise_positions import build_revision
from server.debate.facts import interventions as changes
from server.debate.facts.errors import require
from server.debate.facts.events import Event, Paused, Resumed
from server.debate.facts.interventions import InterventionEvent
from server.debate.state.debate import Debate


def check_change(debate: Debate, event: InterventionEvent | Paused | Resumed) -> None:
    """Raise InvalidRequestError unless somebody could have changed the debate so; the text is that of the refusal."""
    again: tuple[Event, ...] = rebuild_change(debate, event).events
    require(event in again, "such a change has other consequences")


def rebuild_change(  # noqa: C901, PLR0912  (a table of cases)
    debate: Debate, event: InterventionEvent | Paused | Resumed
) -> Intervention:
    asked = InterventionRequest(reason=event.reason, request_id=event.request_id)
    action = event.action if isinstance(event, changes.InterventionFact) else ""
    match event:
        case Paused():
            action = "pause"
        case Resumed():
            action = "resume"
        case changes.PositionsRevised():
            return build_revision(debate, {each.debater: each.stance for each in event.stances})
        case changes.NoteAdded() | changes.Challenged() | changes.InstructionGiven():
            asked = replace(asked, text=event.text, to=event.to)
        case changes.TalkConcluded():
            pass
        case changes.RoundsExtended():
            asked = replace(asked, rounds=event.rounds)
        case changes.LimitsChanged():
            in_force = {name: value for name, value in event.limits if value}
            asked = replace(asked, limits=in_force)
        case changes.WeightsChanged():
            asked = replace(asked, weights={each.seat: each.weight for each in event.weights})
        case changes.ThresholdChanged():
            asked = replace(asked, threshold=event.threshold)
        case changes.ModelReplaced():
            asked = replace(asked, to=event.seat, model=event.model, price=event.price, window=event.window)
            is_its_price = event.price is None or event.price.model == event.model
            require(is_its_price, "price: it is another model's")
        case changes.TurnRetracted():
            asked = replace(asked, to=event.seat, round=event.turn_round)
        case changes.OutcomeRecorded():
            asked = replace(asked, to=event.truth or "none")
        case changes.Tagged() | changes.Untagged():
            asked = replace(asked, text="\n".join(event.tags))
        case _:
            assert_never(event)
    return build_intervention(debate, action, asked)
