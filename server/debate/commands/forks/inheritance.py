"""What a fork inherits: the events of the first rounds, but not how its parent was brought to its end."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import assert_never

from server.debate.commands.requests import ChangesInput
from server.debate.facts import events, interventions
from server.debate.facts.answers import (
    DefaultPlanUsed,
    HandedOff,
    PassageRead,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
    SlotFact,
)
from server.debate.facts.beliefs import Agreed, Alerted, Converged
from server.debate.facts.earlier import EarlierWithdrawn
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
"""The reason of the replacements that a fork begins with."""


def replay_rounds(log: Sequence[Recorded], at_round: int) -> tuple[Debate, list[Recorded]]:
    """The debate as it was after its first rounds, and the entries that a fork may inherit.

    Entries that changed the set-up are left out: the fork is opened with the set-up then in force.
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
    """The events from the first round to the end of this one."""
    events_of_rounds: list[Event] = []
    for entry in log:
        entry_of_round = entry.event if isinstance(entry.event, events.PhaseEntered) else None
        if entry_of_round and entry_of_round.round > last_round:
            break
        if entry_of_round or events_of_rounds:
            events_of_rounds.append(entry.event)
    return events_of_rounds


def is_inherited(event: Event, at_round: int) -> bool:  # noqa: C901, PLR0911  (a table of cases)
    """Whether a fork inherits an event unchanged; for actions of callers, each action decides itself."""
    match event:
        case Opened() | events.AnsweredBlind() | events.PositionsFramed() | EarlierWithdrawn():
            return False  # the set-up of the fork contains them
        case events.Failed():
            return event.seat != seats.FRAMER  # as above
        case events.Concluded() | events.Ended():
            return False  # how the parent ended
        case PredicateLost() | PromptFunctionsLost():
            return False  # the fork has code of its own, or loses it again
        case EscalationFact():
            return False  # the fork asks for its own
        case events.PhaseEntered():
            return event.round <= at_round
        case Agreed() | Alerted() | events.BlockEnded() | Converged():
            return event.round < at_round  # those of the last round are computed again
        case SlotFact() | DefaultPlanUsed() | HandedOff() | PassageRead() | PromptsComputed():
            return True
        case events.Paused() | events.Resumed():
            return True  # if seats were called again after them
        case interventions.InterventionFact():
            return False
        case _:
            assert_never(event)


def list_retry_pauses(log: Sequence[Recorded]) -> set[int]:
    """Pauses after which failed seats were called again: without them those answers are impossible."""
    numbers: set[int] = set()
    pause, has_failure = 0, False
    for entry in log:
        if isinstance(entry.event, events.Paused):
            pause = entry.seq
        elif isinstance(entry.event, events.Failed):
            has_failure = True
        elif isinstance(entry.event, events.PhaseEntered):
            has_failure = False
        elif isinstance(entry.event, events.Resumed) and has_failure:
            numbers |= {pause, entry.seq}
            has_failure = False
    return numbers


def adapt_events(
    log: Sequence[Recorded], entries: Sequence[Recorded], fork: Inheritance, functions: tuple[str, ...]
) -> list[Event]:
    """The entries as a fork inherits them. `functions`: the seats whose prompts code writes in the fork.

    The version that an answer had seen becomes the version of the fork with the same inherited facts.
    """
    retry_pauses = list_retry_pauses(log)
    events_of_fork: list[Event] = []
    versions = [1]  # of the parent, one for each inherited event
    for entry in entries:
        event, count = entry.event, len(events_of_fork)
        if isinstance(event, events.Paused | events.Resumed | interventions.InterventionFact):
            is_change = isinstance(event, interventions.InterventionFact)
            events_of_fork += inherit_change(event, fork) if is_change or entry.seq in retry_pauses else []
        elif not is_inherited(event, fork.at_round):
            pass
        elif isinstance(event, SlotFact):
            events_of_fork.append(event.model_copy(update={"seen": bisect_right(versions, event.seen)}))
        elif isinstance(event, PromptsComputed) and not fork.keeps_instructions:
            prompts = tuple(prompt for prompt in event.prompts if prompt.seat in functions)
            events_of_fork += [event.model_copy(update={"prompts": prompts})] if prompts else []
        else:
            events_of_fork.append(event)
        versions += [entry.seq] * (len(events_of_fork) - count)
    return events_of_fork


def list_later_changes(log: Sequence[Recorded], fork: Inheritance) -> list[Event]:
    """What a fork inherits of the changes after the inherited rounds."""
    interventions_ = (entry.event for entry in log if isinstance(entry.event, interventions.InterventionFact))
    return [event for change in interventions_ for event in inherit_change(change, fork)]


def inherit_change(event: Steering, fork: Inheritance) -> list[Event]:
    """The event as the fork inherits it. It loses its request id: that request was to the parent."""
    change = find_action(event).inherit(event, fork)
    return [change.model_copy(update={"request_id": ""})] if change else []


def build_model_replacements(setup: Opened, past: Sequence[Event], changes: ChangesInput) -> list[Event]:
    """Put the requested models on seats whose model was replaced in the inherited rounds."""
    changed_seats = {*map(str.strip, changes.models), *(judge_seats(setup) if changes.judges else ())}
    changed_seats |= {MODERATOR} if changes.moderator else set()
    replaced_seats = {event.seat for event in past if isinstance(event, interventions.ModelReplaced)}
    models = seat_models(setup)
    return [
        interventions.ModelReplaced(seat=seat, model=models[seat], reason=FORKED)
        for seat in sorted(changed_seats & replaced_seats & models.keys())
    ]
