"""A new debate that begins with the first rounds of another one, but not with how that one was brought to its end.

Inherited turns are unchanged.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, assert_never

from server.debate.commands.requests import DEFAULT_FORMAT, ChangesInput, JudgesInput
from server.debate.commands.setup.advisors import JUDGE_OPTIONS, add_answering
from server.debate.commands.setup.debaters import check_name_is_free
from server.debate.commands.setup.documents import build_documents
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.open import build_breakpoints, check_breakpoints
from server.debate.commands.setup.seats import check_escalation
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
from server.debate.facts.errors import IllegalEvent, InvalidRequestError, require
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.events import Event, Recorded
from server.debate.facts.setup import seats
from server.debate.facts.setup.documents import Document
from server.debate.facts.setup.ledger import Team
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import AWAITED, MODERATOR, Debater, JudgePanel
from server.debate.facts.text import join_names
from server.debate.interventions.action import Inheritance
from server.debate.interventions.registry import Steering, find_action
from server.debate.machine import decide
from server.debate.machine.transitions import apply, replay
from server.debate.rules.calls import pending_calls
from server.debate.rules.course import add_alert, build_alert, find_talk_end, next_phase
from server.debate.rules.pauses import build_fallback_round_plan, find_quorum_shortfall
from server.debate.state.debate import Debate, judge_seats, replace
from server.debate.state.labels import find_taken, label_seats, list_texts
from server.debate.state.seats import seat_models


class RoundError(InvalidRequestError):
    """No fork can begin after this round. `advice`: what may help besides an earlier round."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem)
        self.advice = advice


def fork(
    debate_id: str,
    debate: Debate,
    log: Sequence[Recorded],
    at_round: int,
    changes: ChangesInput,
) -> tuple[Opened, tuple[Event, ...]]:
    """Like `build_fork`; if the round is refused, the error names the last earlier one that is possible."""
    try:
        return build_fork(debate_id, debate, log, at_round, changes)
    except RoundError as error:
        earlier = range(min(at_round - 1, debate.round), 0, -1)
        possible_round = next((n for n in earlier if can_fork(debate_id, debate, log, n, changes)), 0)
        instruction = f"{error.advice}, or pass" if error.advice else "Pass"
        raise InvalidRequestError(
            f"{error} {instruction} at_round={possible_round}{', or less' if possible_round else ''}."
        ) from None


def can_fork(*arguments: Any) -> bool:
    """Whether `build_fork` accepts this."""
    try:
        build_fork(*arguments)
    except InvalidRequestError:
        return False
    return True


def build_fork(
    debate_id: str,
    debate: Debate,
    log: Sequence[Recorded],
    at_round: int,
    changes: ChangesInput,
) -> tuple[Opened, tuple[Event, ...]]:
    """Return the set-up of a fork and the events that it inherits; round 0 inherits only the set-up.

    Raises:
        InvalidRequestError: the round is not over, no round would follow it, or a change is not possible.
    """
    is_over = decide.is_round_over(replace(debate, paused=None))
    last_round = debate.round if is_over else max(debate.round - 1, 0)
    last_finished = f"{last_round} is the last that is" if last_round else "none is yet"
    if at_round > last_round:
        raise RoundError(f"Round {at_round} is not over, and {last_finished}.")
    at, entries = replay_rounds(log, at_round)
    setup = apply_changes(at, changes, at_round)
    inheritance = build_inheritance(at, setup, at_round, changes)
    past = adapt_events(log, entries, inheritance, setup.prompt_functions)
    later = (entry.event for entry in log[at.version :])
    changes_since = (event for event in later if isinstance(event, interventions.InterventionFact))
    past += [event for change in changes_since for event in inherit_change(change, inheritance)]
    past += build_model_replacements(setup, past, changes)
    origin: dict[str, Any] = {
        "forked_from": debate_id,
        "forked_root": debate.setup.forked_root or debate_id,
        "forked_import": debate_id if log[0].restored else debate.setup.forked_import,
        "forked_at_round": at_round,
        "forked_hash": entries[-1].hash if entries else log[0].hash,
        "forked_restanced": list_restanced(at.setup, setup) if at_round else (),
        "tags": debate.tags,
        "team": keep_choice(setup.team, changes),
        "ledger": None,  # read again when the fork begins
        "memory": debate.setup.memory
        and debate.setup.memory.forget_texts(),  # without debates withdrawn since
        "mirror_of": "",
    }
    if changes.max_rounds:
        added_rounds = sum(event.rounds for event in past if isinstance(event, interventions.RoundsExtended))
        origin["max_rounds"] = max(changes.max_rounds - added_rounds, 1)
    setup = setup.model_copy(update=origin)
    if at_round:
        check_can_continue(setup, past, at_round)
    return setup, tuple(past)


def keep_choice(team: Team | None, changes: ChangesInput) -> Team | None:
    """What a fork keeps of a choice: nothing if debaters get other models, no judges if others are named."""
    if team is None or changes.models:
        return None
    is_named = changes.judges and changes.judges.models
    return team.model_copy(update={"judges": (), "judge_gains": ()}) if is_named else team


def build_inheritance(at: Debate, setup: Opened, at_round: int, changes: ChangesInput) -> Inheritance:
    models_before, models_after = seat_models(at.setup), seat_models(setup)
    other_judges = {seat for seat in judge_seats(setup) if models_before.get(seat) != models_after[seat]}
    keeps_instructions = changes.instructions is None
    return Inheritance(at_round, frozenset(models_after), frozenset(other_judges), keeps_instructions)


def check_can_continue(setup: Opened, past: Sequence[Event], at_round: int) -> None:
    """Refuse inherited events that do not fit the set-up, or that no round would follow."""
    try:
        debate = replay((setup, *past))
    except IllegalEvent as error:
        raise RoundError(f"Round {at_round} rests on what a fork does not take over: {error}.") from None
    if shortfall := find_quorum_shortfall(debate):
        raise RoundError(f"Round {at_round} was cut short: {shortfall.rstrip('. ')}.")
    if pending := pending_calls(debate):
        seats = join_names(call.seat for call in pending)
        raise RoundError(f"Round {at_round} was cut short: {seats} did not answer.")
    if build_fallback_round_plan(debate):
        raise RoundError(f"Round {at_round} was cut short: nobody said who speaks in it.")
    debate = add_alert(debate, build_alert(debate))  # an alert may add a round
    end = find_talk_end(debate)
    if next_phase(debate, end) is None:
        is_talk = debate.round_phase(at_round).is_talk
        advice = "Raise changes.max_rounds" if is_talk and end and end.cause == "max_rounds" else ""
        raise RoundError(f"Nothing would come after round {at_round}.", advice)


# The set-up: that of the parent with the changes that were asked for.


def apply_changes(debate: Debate, changes: ChangesInput, at_round: int) -> Opened:
    """The set-up with the changes applied. `debate`: as it was after the inherited rounds."""
    setup = debate.setup
    fields: dict[str, Any] = {
        "run": changes.run,
        "debaters": build_changed_debaters(setup, changes),
        "seed": changes.seed or setup.seed,
        "documents": build_documents(changes.documents, list_inherited_documents(setup, at_round), at_round),
    }
    if not at_round:
        fields["reader"] = None  # planned again, because nothing that was read is inherited
    if setup.framing or changes.stances:
        fields["framer"] = None
    if changes.judges:
        fields["judges"] = build_changed_panel(debate, changes.judges, at_round)
    if changes.moderator:
        if setup.moderator is None:
            raise InvalidRequestError("This debate has no moderator: leave changes.moderator out.")
        fields["moderator"] = setup.moderator.model_copy(update={"model": changes.moderator})
    if max_rounds := changes.max_rounds:
        row = FORMATS.get(setup.format)  # a debate of another release may be in a format of its own
        inherited_rounds = sum(debate.round_phase(number).is_talk for number in range(1, at_round + 1))
        limit = max(row.max_allowed_rounds if row else 0, len(setup.phases), setup.max_rounds)
        allowed = f"{max(inherited_rounds, 1)} to {limit} rounds of talk, of which {inherited_rounds} are taken over"
        is_allowed = max(inherited_rounds, 1) <= max_rounds <= limit
        require(is_allowed, f"changes.max_rounds={max_rounds} is out of range: {allowed}.")
        fields |= {"max_rounds": max_rounds} | (
            {"max_turns": max_rounds} if row and row.default_turns else {}
        )
    if changes.instructions is not None:
        fields["instructions"] = changes.instructions
        fields["prompt_functions"] = tuple(filter(None, setup.prompt_functions))
    if changes.pause_when is not None:
        fields["pause_when"] = build_breakpoints(changes.pause_when)
    if setup.effort and changes.judges:
        open_options = tuple(name for name in setup.effort.open if name != "judges")
        fields["effort"] = setup.effort.model_copy(update={"open": open_options})
    changed_setup = setup.model_copy(update=fields)
    has_other_seats = changes.models or changes.judges
    changed_setup = fit_to_seats(plan_answering(changed_setup) if has_other_seats else changed_setup)
    check_escalation(changed_setup)
    check_breakpoints(changed_setup)
    return keep_labels(changed_setup, at_round)


def plan_answering(setup: Opened) -> Opened:
    """The set-up with a label for each review, and who writes and checks; unchanged where there are no advisors."""
    answering = setup.answering
    if not (answering and setup.effort):
        return setup
    planned = add_answering(setup, FORMATS[DEFAULT_FORMAT], answering.mine, setup.effort.level)
    return label_seats(planned, answering.labels)


def fit_to_seats(setup: Opened) -> Opened:
    """The set-up without what is for seats that a fork does not have, or a mirror that its effort would not choose."""
    seats = seat_models(setup)
    fields: dict[str, Any] = {
        "weights": tuple(weight for weight in setup.weights if weight.seat in seats),
        "prompt_functions": tuple(seat for seat in setup.prompt_functions if not seat or seat in seats),
    }
    models = {*setup.judges.models, *(debater.model for debater in setup.debaters)}
    if setup.effort and "mirror" in setup.effort.open and models & AWAITED:
        fields["mirror"] = "off"
    return setup.model_copy(update=fields)


def keep_labels(setup: Opened, at_round: int) -> Opened:
    """The set-up with the labels that inherited rounds use; with others where nothing is inherited and texts hold them.

    Raises:
        InvalidRequestError: the changes hold a label that stands for somebody in inherited rounds.
    """
    labels = setup.answering.labels if setup.answering else setup.labels
    held = find_taken(list_texts(setup, setup.debaters)).intersection(labels)
    if not held:
        return setup
    problem = f"{', '.join(sorted(held))} stands for a seat in the rounds that are taken over"
    require(not at_round, f"{problem}. Write it otherwise in the changes, or pass at_round=0.")
    return label_seats(setup)


def list_inherited_documents(setup: Opened, at_round: int) -> list[Document]:
    rounds = (min(document.after_round, at_round) for document in setup.documents)
    return [
        document.model_copy(update={"after_round": round_number})
        for document, round_number in zip(setup.documents, rounds, strict=True)
    ]


def build_changed_debaters(setup: Opened, changes: ChangesInput) -> tuple[Debater, ...]:
    updates: dict[str, dict[str, str]] = {debater.name: {} for debater in setup.debaters}
    for name in updates:
        check_name_is_free(name)
    problem = "Advisors have roles and no stances: leave changes.stances out."
    require(not (setup.answering and changes.stances), problem)
    for field, values_by_name in (("model", changes.models), ("stance", changes.stances)):
        for name, value in ((key.strip(), value) for key, value in values_by_name.items()):
            names = ", ".join(updates)
            require(name in updates, f"changes.{field}s: nobody is called {name!r}. Debaters: {names}.")
            require(value, f"changes.{field}s: nothing is given for {name}. Leave it out.")
            updates[name][field] = value
    return tuple(debater.model_copy(update=updates[debater.name]) for debater in setup.debaters)


def build_changed_panel(debate: Debate, judges: JudgesInput, at_round: int) -> JudgePanel:
    setup = debate.setup
    require(setup.judges.models, f"{setup.format} has no judges here: leave changes.judges out.")
    have_judged = any(debate.round_phase(n).participants == "judges" for n in range(1, at_round + 1))
    require(not have_judged, f"The judges were heard in the rounds up to {at_round}: fork before them.")
    unused = judges.model_dump(exclude_defaults=True).keys() - JUDGE_OPTIONS - {"count"}
    problem = f"{setup.format} has no use for changes.judges.{', '.join(sorted(unused))}: leave it out."
    require(not (setup.answering and unused), problem)
    pool = judges.models or setup.judges.models
    models = tuple(pool[index % len(pool)] for index in range(judges.count or len(pool)))
    fields = judges.model_dump(exclude_unset=True, exclude_none=True, exclude={"count"})
    panel = setup.judges.model_copy(update=fields | {"models": models})
    return panel.model_copy(update={"quorum": min(panel.quorum, len(models))})


def list_restanced(before: Opened, after: Opened) -> tuple[str, ...]:
    """The debaters whose inherited turns argue for a stance that they no longer have."""
    pairs = zip(before.debaters, after.debaters, strict=True)
    names = {
        after_fork.name for before_fork, after_fork in pairs if before_fork.stance != after_fork.stance
    }.union(before.forked_restanced)
    return tuple(debater.name for debater in after.debaters if debater.name in names)


# What is inherited.

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
