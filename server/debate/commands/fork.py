"""Forks: a new debate that begins with the first rounds of another one.

The inherited turns are unchanged, whoever speaks from now on. Inherited are the events of the rounds, but not
how the parent was brought to its end, and no verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from server.debate.commands.formats import FORMATS
from server.debate.commands.open import build_documents
from server.debate.commands.requests import ChangesInput, JudgesInput
from server.debate.facts import events, interventions
from server.debate.facts.config import MODERATOR, Debater, JudgePanel
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Event, Opened, Recorded
from server.debate.facts.state import Debate, judge_seats
from server.debate.facts.text import clean
from server.debate.rules import decide
from server.debate.rules.quorum import find_quorum_shortfall
from server.debate.rules.schedule import seat_models
from server.debate.rules.transitions import IllegalEvent, replay


def fork(
    debate_id: str, debate: Debate, log: Sequence[Recorded], at_round: int, changes: ChangesInput
) -> tuple[Opened, tuple[Event, ...]]:
    """Return the setup of a fork and the events that it inherits; round 0 inherits the setup only.

    Raises:
        InvalidRequestError: the round is not over, no round would follow it, or a change is not possible.
    """
    check_round_is_over(debate, at_round)
    entries = find_inherited_entries(log, at_round)
    setup = apply_changes(debate, changes, at_round)
    past = tuple(event for entry in entries for event in adapt_to_setup(entry.event, debate.setup, setup))
    if changes.instructions is not None:
        past = tuple(event for event in past if not isinstance(event, interventions.InstructionGiven))
    past += find_later_retractions(log, at_round)
    past += build_model_replacements(setup, past, changes)
    pairs = zip(debate.setup.debaters, setup.debaters, strict=True)
    restanced = [
        new.name for old, new in pairs if old.stance != new.stance or new.name in setup.forked_restanced
    ]
    forked: dict[str, Any] = {
        "forked_from": debate_id,
        "forked_at_round": at_round,
        "forked_hash": entries[-1].hash if entries else log[0].hash,
        "forked_restanced": tuple(restanced) if at_round else (),
    }
    if changes.max_rounds:
        extended = sum(event.rounds for event in past if isinstance(event, interventions.RoundsExtended))
        forked["max_rounds"] = max(changes.max_rounds - extended, 1)
    setup = setup.model_copy(update=forked)
    if at_round:
        check_can_continue(setup, past, at_round)
    return setup, past


def find_later_retractions(log: Sequence[Recorded], at_round: int) -> tuple[Event, ...]:
    """Retractions of inherited turns that were made after the inherited rounds."""
    made = (entry.event for entry in log if isinstance(entry.event, interventions.TurnRetracted))
    later = (event for event in made if event.turn_round <= at_round < event.round)
    return tuple(event.model_copy(update={"round": at_round}) for event in later)


def adapt_to_setup(event: Event, before: Opened, after: Opened) -> tuple[Event, ...]:
    """The event without what is about judges whom the fork lacks or gives another model.

    () if nothing is left.
    """
    old, new = seat_models(before), seat_models(after)
    if isinstance(event, interventions.ModelReplaced) and event.seat not in new:
        return ()
    if isinstance(event, interventions.WeightsChanged):
        judges = judge_seats(after)
        changed = old.keys() - new.keys() | {seat for seat in judges if old.get(seat) != new[seat]}
        kept = tuple(weight for weight in event.weights if weight.seat not in changed)
        return (event.model_copy(update={"weights": kept}),) if kept else ()
    return (event,)


def build_model_replacements(
    setup: Opened, past: Sequence[Event], changes: ChangesInput
) -> tuple[Event, ...]:
    """Put the requested models on seats whose model was replaced in the inherited rounds."""
    changed_seats = {*changes.models, *(judge_seats(setup) if changes.judges else ())}
    changed_seats |= {MODERATOR} if changes.moderator.strip() else set()
    replaced = {event.seat for event in past if isinstance(event, interventions.ModelReplaced)}
    models = seat_models(setup)
    return tuple(
        interventions.ModelReplaced(seat=seat, model=models[seat], reason="forked")
        for seat in sorted(changed_seats & replaced & models.keys())
    )


def check_round_is_over(debate: Debate, at_round: int) -> None:
    over = decide.is_round_over(replace(debate, paused=None))
    last = debate.round if over else max(debate.round - 1, 0)
    if at_round > last:
        which = f"{last} is the last that is" if last else "none is yet"
        raise InvalidRequestError(
            f"Round {at_round} is not over, and {which}: pass at_round={last}, or less."
        )


def find_inherited_entries(log: Sequence[Recorded], at_round: int) -> list[Recorded]:
    """The entries of the first rounds, unchanged."""
    if not at_round:
        return []
    needed, inherited = find_retry_pauses(log), []
    for entry in log[1:]:
        match entry.event:
            case events.PhaseEntered(round=number) if number > at_round:
                break
            case events.Paused() | events.Resumed() if entry.seq not in needed:
                pass
            case interventions.TalkConcluded() | events.Concluded() | events.Ended():
                pass
            case _:
                inherited.append(entry)
    return inherited


def find_retry_pauses(log: Sequence[Recorded]) -> set[int]:
    """Pauses after which failed seats were called again: their answers are not possible without them."""
    needed: set[int] = set()
    paused, failed = 0, False
    for entry in log:
        if isinstance(entry.event, events.Paused):
            paused = entry.seq
        elif isinstance(entry.event, events.Failed):
            failed = True
        elif isinstance(entry.event, events.PhaseEntered | events.Resumed):
            if failed and isinstance(entry.event, events.Resumed):
                needed |= {paused, entry.seq}
            failed = False
    return needed


def check_can_continue(setup: Opened, past: Sequence[Event], at_round: int) -> None:
    """Refuse inherited events that do not fit the setup, or that no round would follow."""
    earlier = f"pass at_round={at_round - 1}, or less"
    cut = InvalidRequestError(
        f"Round {at_round} was cut short, or rests on what was decided before it: {earlier}."
    )
    try:
        debate = replay((setup, *past))
    except IllegalEvent:
        raise cut from None
    if (
        find_quorum_shortfall(debate)
        or decide.pending_calls(debate)
        or decide.build_fallback_round_plan(debate)
    ):
        raise cut
    end = decide.find_talk_end(debate)
    if decide.next_phase(debate, end) is None:
        talked = debate.round_phase(at_round).is_talk
        more = " raise changes.max_rounds, or" if talked and end and end.cause == "max_rounds" else ""
        raise InvalidRequestError(f"Nothing would come after round {at_round}:{more} {earlier}.")


def apply_changes(debate: Debate, changes: ChangesInput, at_round: int) -> Opened:
    """The setup with the changes applied."""
    setup = debate.setup
    other: dict[str, Any] = {
        "run": changes.run,
        "debaters": build_changed_debaters(setup, changes),
        "seed": changes.seed or setup.seed,
        "documents": build_documents(changes.documents, setup.documents),
    }
    if changes.judges:
        other["judges"] = build_changed_panel(debate, changes.judges, at_round)
    if model := changes.moderator.strip():
        if setup.moderator is None:
            raise InvalidRequestError("This debate has no moderator: leave changes.moderator out.")
        other["moderator"] = setup.moderator.model_copy(update={"model": model})
    if changes.max_rounds:
        other |= build_round_limits(debate, changes.max_rounds, at_round)
    if changes.instructions is not None:
        other["instructions"] = clean(changes.instructions)
    return setup.model_copy(update=other)


def build_changed_debaters(setup: Opened, changes: ChangesInput) -> tuple[Debater, ...]:
    models = parse_debater_values(setup, changes.models, "models")
    stances = parse_debater_values(setup, changes.stances, "stances")
    return tuple(
        debater.model_copy(
            update={
                "model": models.get(debater.name, debater.model),
                "stance": stances.get(debater.name, debater.stance),
            }
        )
        for debater in setup.debaters
    )


def parse_debater_values(setup: Opened, requested: Mapping[str, str], field_name: str) -> dict[str, str]:
    names = [debater.name for debater in setup.debaters]
    values = {name.strip(): clean(value) for name, value in requested.items()}
    for name, value in values.items():
        if name not in names:
            known = ", ".join(names)
            raise InvalidRequestError(f"changes.{field_name}: nobody is called {name!r}. Debaters: {known}.")
        if not value:
            raise InvalidRequestError(f"changes.{field_name}: there is nothing for {name}. Leave it out.")
    return values


def build_changed_panel(debate: Debate, requested: JudgesInput, at_round: int) -> JudgePanel:
    setup = debate.setup
    if not setup.judges.models:
        raise InvalidRequestError(f"{setup.format} has no judges here: leave changes.judges out.")
    if any(debate.round_phase(number).participants == "judges" for number in range(1, at_round + 1)):
        raise InvalidRequestError(f"The judges were heard in the rounds up to {at_round}: fork before them.")
    pool = requested.models or setup.judges.models
    models = tuple(pool[index % len(pool)] for index in range(requested.count or len(pool)))
    changed = requested.model_dump(exclude_unset=True, exclude_none=True, exclude={"count"})
    if "prompt" in changed:
        changed["prompt"] = clean(changed["prompt"])
    return setup.judges.model_copy(update=changed | {"models": models})


def build_round_limits(debate: Debate, requested: int, at_round: int) -> dict[str, int]:
    setup = debate.setup
    row = FORMATS.get(setup.format)  # a debate of another release may be in a format of its own
    held = sum(debate.round_phase(number).is_talk for number in range(1, at_round + 1))
    most = max(row.max_allowed_rounds if row else setup.max_rounds, len(setup.phases))
    least = max(held, 1)
    if not least <= requested <= most:
        raise InvalidRequestError(
            f"changes.max_rounds={requested} is out of range: {least} to {most} rounds of talk, of which "
            f"{held} are taken over."
        )
    return {"max_rounds": requested, "max_turns": requested if row and row.default_turns else setup.max_turns}
