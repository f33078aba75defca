"""What a fork inherits: the events of the first rounds, but not how its parent was brought to its end."""

from bisect import bisect_right
from collections.abc import Sequence

from server.debate.commands.requests import ChangesInput
from server.debate.facts import events, interventions
from server.debate.facts.answers import (
    DefaultPositionsUsed,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
    SlotFact,
)
from server.debate.facts.beliefs import Agreed, Alerted, Converged, TalkSkipped
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.events import Event, Recorded
from server.debate.facts.setup import seats
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import MODERATOR
from server.debate.state.debate import judge_seats
from server.debate.state.seats import seat_models

FORKED = "forked"
"""The reason of a replacement that a fork begins with."""


def find_inherited_entries(log: Sequence[Recorded], at_round: int) -> list[Recorded]:  # noqa: C901  (a table of cases)
    """The entries of the first rounds, unchanged."""
    needed, inherited = find_retry_pauses(log), []
    for entry in log[1:] if at_round else ():
        match entry.event:
            case events.PhaseEntered(round=number) if number > at_round:
                break
            case events.Paused() | events.Resumed() if entry.seq not in needed:
                pass
            case interventions.TalkConcluded() | TalkSkipped() | events.Concluded() | events.Ended():
                pass
            case interventions.RoundsExtended(alert=number) if number == at_round:
                pass  # the fork finds it again
            case interventions.OutcomeRecorded() | interventions.Tagged() | interventions.Untagged():
                pass  # how the parent ended, and tags, which are in the setup
            case EarlierWithdrawn() | PredicateLost() | PromptFunctionsLost():
                pass  # it is in the setup; and the fork has code of its own, or loses it again
            case EscalationFact():
                pass  # the fork asks for its own
            case Agreed() | Alerted() | events.BlockEnded() | Converged() if entry.event.round == at_round:
                pass
            case events.PositionsFramed() | DefaultPositionsUsed() | interventions.PositionsRevised():
                pass  # they are in the setup
            case events.Failed(seat=seats.FRAMER):
                pass
            case _:
                inherited.append(entry)
    return inherited


def find_retry_pauses(log: Sequence[Recorded]) -> set[int]:
    """Pauses after which failed seats were called again: their answers are not possible without them."""
    needed: set[int] = set()
    paused, failed = 0, False
    for entry in log:
        match entry.event:
            case events.Paused():
                paused = entry.seq
            case events.Failed():
                failed = True
            case events.PhaseEntered():
                failed = False
            case events.Resumed() if failed:
                needed |= {paused, entry.seq}
                failed = False
    return needed


def adapt_events(
    entries: Sequence[Recorded], before: Opened, after: Opened, changes: ChangesInput
) -> list[Event]:
    """The inherited events without what is about instructions or judges that the fork replaces.

    What an answer had seen becomes the version of the fork that has as much of it.
    """
    old, new = seat_models(before), seat_models(after)
    judges = {seat for seat in judge_seats(after) if old.get(seat) != new[seat]}
    adapted: list[Event] = []
    versions = [1]  # of the parent, of what the fork inherits
    anonymous = {"request_id": ""}  # a request to the parent is none to the fork
    for entry in entries:
        event, count = entry.event, len(adapted)
        match event:
            case SlotFact():
                seen = bisect_right(versions, event.seen)
                adapted.append(event.model_copy(update={"seen": seen}))
            case interventions.ModelReplaced() if event.seat not in new:
                pass
            case interventions.InstructionGiven() if changes.instructions is not None:
                pass
            case PromptsComputed() if changes.instructions is not None:
                own = tuple(prompt for prompt in event.prompts if prompt.seat in after.prompt_functions)
                adapted += [event.model_copy(update={"prompts": own})] if own else []
            case interventions.WeightsChanged():
                kept = tuple(w for w in event.weights if w.seat in new and w.seat not in judges)
                adapted += [event.model_copy(update={"weights": kept, **anonymous})] if kept else []
            case events.Paused() | events.Resumed() | interventions.InterventionFact():
                adapted.append(event.model_copy(update=anonymous))
            case _:
                adapted.append(event)
        versions += [entry.seq] * (len(adapted) - count)
    return adapted


def list_later_retractions(log: Sequence[Recorded], at_round: int) -> list[Event]:
    """Inherited turns that were retracted after the inherited rounds stay retracted."""
    made = (entry.event for entry in log if isinstance(entry.event, interventions.TurnRetracted))
    later = (event for event in made if event.turn_round <= at_round < event.round)
    return [event.model_copy(update={"round": at_round, "request_id": ""}) for event in later]


def build_model_replacements(setup: Opened, past: Sequence[Event], changes: ChangesInput) -> list[Event]:
    """Put the requested models on seats whose model was replaced in the inherited rounds."""
    changed = {*map(str.strip, changes.models), *(judge_seats(setup) if changes.judges else ())}
    changed |= {MODERATOR} if changes.moderator else set()
    replaced = {event.seat for event in past if isinstance(event, interventions.ModelReplaced)}
    models = seat_models(setup)
    return [
        interventions.ModelReplaced(seat=seat, model=models[seat], reason=FORKED)
        for seat in sorted(changed & replaced & models.keys())
    ]
