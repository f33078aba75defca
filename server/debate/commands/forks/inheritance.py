"""What a fork inherits: the events of the first rounds, but not how its parent was brought to its end."""

from bisect import bisect_right
from collections.abc import Sequence

from server.debate.commands.requests import ChangesInput
from server.debate.facts import events, interventions
from server.debate.facts.answers import PredicateLost, PromptFunctionsLost, PromptsComputed, SlotFact
from server.debate.facts.beliefs import Agreed, Alerted, Converged, TalkSkipped
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.events import Event, Recorded
from server.debate.facts.setup import seats
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import MODERATOR
from server.debate.interventions.action import Inheritance
from server.debate.interventions.registry import Steering, find_action
from server.debate.machine.transitions import apply
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.seats import seat_models

FORKED = "forked"
"""The reason of a replacement that a fork begins with."""


def replay_rounds(log: Sequence[Recorded], at_round: int) -> tuple[Debate, list[Recorded]]:
    """The debate as it was after its first rounds, and the entries that a fork may inherit.

    What changed the set-up is no such entry: the fork begins with the set-up that was in force.
    """
    debate, entries = apply(None, log[0].event), []
    for entry in log[1:]:
        if isinstance(entry.event, events.PhaseEntered) and entry.event.round > at_round:
            break
        before, debate = debate, apply(debate, entry.event)
        if at_round and debate.setup is before.setup:
            entries.append(entry)
    return debate, entries


def list_rounds(log: Sequence[Recorded], last_round: int) -> list[Event]:
    """What happened from the first round to the end of this one."""
    events_of_rounds: list[Event] = []
    for entry in log:
        entered = entry.event if isinstance(entry.event, events.PhaseEntered) else None
        if entered and entered.round > last_round:
            break
        if entered or events_of_rounds:
            events_of_rounds.append(entry.event)
    return events_of_rounds


def is_inherited(event: Event, at_round: int) -> bool:
    """Whether a fork inherits what no action of a caller recorded."""
    match event:
        case TalkSkipped() | events.Concluded() | events.Ended():
            return False  # how the parent ended
        case PredicateLost() | PromptFunctionsLost():
            return False  # the fork has code of its own, or loses it again
        case EscalationFact():
            return False  # the fork asks for its own
        case Agreed() | Alerted() | events.BlockEnded() | Converged():
            return event.round < at_round  # those of the last round are found again
        case events.Failed(seat=seats.FRAMER):
            return False  # the positions are in the set-up
        case _:
            return True


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
    log: Sequence[Recorded], entries: Sequence[Recorded], fork: Inheritance, functions: tuple[str, ...]
) -> list[Event]:
    """The entries as a fork inherits them. `functions`: the seats whose prompts code writes in the fork.

    What an answer had seen becomes the version of the fork that has as much of it.
    """
    needed = find_retry_pauses(log)
    adapted: list[Event] = []
    versions = [1]  # of the parent, of what the fork inherits
    for entry in entries:
        event, count = entry.event, len(adapted)
        match event:
            case events.Paused() | events.Resumed() if entry.seq not in needed:
                pass
            case events.Paused() | events.Resumed() | interventions.InterventionFact():
                adapted += inherit_change(event, fork)
            case _ if not is_inherited(event, fork.at_round):
                pass
            case SlotFact():
                seen = bisect_right(versions, event.seen)
                adapted.append(event.model_copy(update={"seen": seen}))
            case PromptsComputed() if not fork.keeps_instructions:
                own = tuple(prompt for prompt in event.prompts if prompt.seat in functions)
                adapted += [event.model_copy(update={"prompts": own})] if own else []
            case _:
                adapted.append(event)
        versions += [entry.seq] * (len(adapted) - count)
    return adapted


def list_later_changes(log: Sequence[Recorded], fork: Inheritance) -> list[Event]:
    """What a fork inherits of what was done after the inherited rounds."""
    made = (entry.event for entry in log if isinstance(entry.event, interventions.InterventionFact))
    return [event for change in made for event in inherit_change(change, fork)]


def inherit_change(event: Steering, fork: Inheritance) -> list[Event]:
    """A request to the parent is none to the fork."""
    inherited = find_action(event).inherit(event, fork)
    return [inherited.model_copy(update={"request_id": ""})] if inherited else []


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
