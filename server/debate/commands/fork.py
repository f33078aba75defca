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
from server.debate.facts.config import MODERATOR, Debater, JudgePanel
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import (
    Concluded,
    Ended,
    Event,
    Failed,
    Opened,
    Paused,
    PhaseEntered,
    Recorded,
    Resumed,
)
from server.debate.facts.interventions import (
    InstructionGiven,
    ModelReplaced,
    RoundsExtended,
    TalkConcluded,
    TurnRetracted,
    WeightsChanged,
)
from server.debate.facts.state import Debate, judge_seats
from server.debate.facts.text import clean
from server.debate.rules.decide import (
    build_fallback_round_plan,
    find_talk_end,
    is_round_over,
    next_phase,
    pending_calls,
)
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
    taken = find_inherited_entries(log, at_round)
    setup = apply_changes(debate, changes, at_round)
    setup = setup.model_copy(
        update={
            "forked_restanced": find_debaters_with_new_stance(debate.setup, setup, at_round),
            "forked_from": debate_id,
            "forked_at_round": at_round,
            "forked_hash": taken[-1].hash if taken else log[0].hash,
        }
    )
    weighed = find_seats_keeping_weight(debate.setup, setup)
    past = tuple(event for entry in taken for event in drop_removed_seats(setup, entry.event, weighed))
    if changes.instructions is not None:
        past = tuple(event for event in past if not isinstance(event, InstructionGiven))
    past += find_later_retractions(log, at_round)
    past += build_model_replacements(setup, past, changes)
    setup = setup.model_copy(update={"max_rounds": compute_base_max_rounds(setup, past, changes)})
    check_can_continue(setup, past, at_round)
    return setup, past


def find_seats_keeping_weight(before: Opened, after: Opened) -> set[str]:
    """The seats whose votes keep their weight: all but judges with another model."""
    old, new = seat_models(before), seat_models(after)
    return {seat for seat in new if seat not in judge_seats(after) or old.get(seat) == new[seat]}


def find_later_retractions(log: Sequence[Recorded], at_round: int) -> tuple[TurnRetracted, ...]:
    """Retractions of inherited turns that were made after the inherited rounds."""
    made = (entry.event for entry in log if isinstance(entry.event, TurnRetracted))
    return tuple(
        event.model_copy(update={"round": at_round})
        for event in made
        if event.turn_round <= at_round < event.round
    )


def drop_removed_seats(setup: Opened, event: Event, seats_keeping_weight: set[str]) -> tuple[Event, ...]:
    """The event without what is about judges that the fork does not have; () if nothing is left."""
    if isinstance(event, ModelReplaced) and event.seat not in seat_models(setup):
        return ()
    if isinstance(event, WeightsChanged):
        kept = tuple(weight for weight in event.weights if weight.seat in seats_keeping_weight)
        return (event.model_copy(update={"weights": kept}),) if kept else ()
    return (event,)


def build_model_replacements(
    setup: Opened, past: Sequence[Event], changes: ChangesInput
) -> tuple[Event, ...]:
    """Put the requested models on seats whose model was replaced in the inherited rounds."""
    changed_seats = {*changes.models, *(judge_seats(setup) if changes.judges else ())}
    changed_seats |= {MODERATOR} if changes.moderator.strip() else set()
    replaced = {event.seat for event in past if isinstance(event, ModelReplaced)}
    models = seat_models(setup)
    return tuple(
        ModelReplaced(seat=seat, model=models[seat], reason="forked")
        for seat in sorted(changed_seats & replaced & models.keys())
    )


def compute_base_max_rounds(setup: Opened, past: Sequence[Event], changes: ChangesInput) -> int:
    """The requested `max_rounds`, less the rounds that inherited extensions add."""
    extra_rounds = sum(event.rounds for event in past if isinstance(event, RoundsExtended))
    return max(setup.max_rounds - extra_rounds, 1) if changes.max_rounds else setup.max_rounds


def check_round_is_over(debate: Debate, at_round: int) -> None:
    over = is_round_over(replace(debate, paused=None))
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
    needed, taken = find_retry_pauses(log), []
    for entry in log[1:]:
        match entry.event:
            case PhaseEntered(round=number) if number > at_round:
                break
            case Paused() | Resumed() if entry.seq not in needed:
                pass
            case TalkConcluded() | Concluded() | Ended():
                pass
            case _:
                taken.append(entry)
    return taken


def find_retry_pauses(log: Sequence[Recorded]) -> set[int]:
    """Pauses after which failed seats were called again: their answers are not possible without them."""
    needed: set[int] = set()
    paused, failed = 0, False
    for entry in log:
        match entry.event:
            case PhaseEntered():
                failed = False
            case Failed():
                failed = True
            case Paused():
                paused = entry.seq
            case Resumed():
                needed |= {paused, entry.seq} if failed else set()
                failed = False
            case _:
                pass
    return needed


def check_can_continue(setup: Opened, past: Sequence[Event], at_round: int) -> None:
    """Refuse inherited events that do not fit the setup, or that no round would follow."""
    if not at_round:
        return
    earlier = f"pass at_round={at_round - 1}, or less"
    cut = InvalidRequestError(
        f"Round {at_round} was cut short, or rests on what was decided before it: {earlier}."
    )
    try:
        debate = replay((setup, *past))
    except IllegalEvent:
        raise cut from None
    if find_quorum_shortfall(debate) or pending_calls(debate) or build_fallback_round_plan(debate):
        raise cut
    end = find_talk_end(debate)
    if next_phase(debate, end) is None:
        talked = debate.round_phase(at_round).is_talk
        more = " raise changes.max_rounds, or" if talked and end and end.cause == "max_rounds" else ""
        raise InvalidRequestError(f"Nothing would come after round {at_round}:{more} {earlier}.")


# What is changed ----------------------------------------------------------------------------------


def apply_changes(debate: Debate, changes: ChangesInput, at_round: int) -> Opened:
    """The setup with the changes applied."""
    setup = debate.setup
    other: dict[str, Any] = {"run": changes.run, "debaters": build_changed_debaters(setup, changes)}
    if changes.judges:
        other["judges"] = build_changed_panel(debate, changes.judges, at_round)
    if model := changes.moderator.strip():
        if setup.moderator is None:
            raise InvalidRequestError("This debate has no moderator: leave changes.moderator out.")
        other["moderator"] = setup.moderator.model_copy(update={"model": model})
    if changes.documents:
        other["documents"] = build_documents(changes.documents, setup.documents)
    if changes.max_rounds:
        other |= build_round_limits(debate, changes.max_rounds, at_round)
    if changes.instructions is not None:
        other["instructions"] = clean(changes.instructions)
    if changes.seed:
        other["seed"] = changes.seed
    return setup.model_copy(update=other)


def build_changed_debaters(setup: Opened, changes: ChangesInput) -> tuple[Debater, ...]:
    models, stances = (
        parse_debater_values(setup, changes.models, "models"),
        parse_debater_values(setup, changes.stances, "stances"),
    )
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
    given = {name.strip(): clean(value) for name, value in requested.items()}
    for name, value in given.items():
        if name not in names:
            raise InvalidRequestError(
                f"changes.{field_name}: nobody is called {name!r}. Debaters: {', '.join(names)}."
            )
        if not value:
            raise InvalidRequestError(
                f"changes.{field_name}: there is nothing for {name}. Leave it out to change nothing."
            )
    return given


def build_changed_panel(debate: Debate, requested: JudgesInput, at_round: int) -> JudgePanel:
    setup = debate.setup
    if not setup.judges.models:
        raise InvalidRequestError(f"{setup.format} has no judges here: leave changes.judges out.")
    if any(debate.round_phase(number).participants == "judges" for number in range(1, at_round + 1)):
        raise InvalidRequestError(f"The judges were heard in the rounds up to {at_round}: fork before them.")
    pool = requested.models or setup.judges.models
    models = tuple(pool[index % len(pool)] for index in range(requested.count or len(pool)))
    given: dict[str, Any] = {
        name: getattr(requested, name) for name in requested.model_fields_set - {"count"}
    }
    kept = {
        name: clean(value) if isinstance(value, str) else value
        for name, value in given.items()
        if value is not None
    }
    return setup.judges.model_copy(update={**kept, "models": models})


def build_round_limits(debate: Debate, requested: int, at_round: int) -> dict[str, int]:
    setup = debate.setup
    row = FORMATS.get(setup.format)  # a debate of another release may be in a format of its own
    held = sum(debate.round_phase(number).is_talk for number in range(1, at_round + 1))
    most = max(row.max_allowed_rounds, len(setup.phases)) if row else max(setup.max_rounds, len(setup.phases))
    if not max(held, 1) <= requested <= most:
        raise InvalidRequestError(
            f"changes.max_rounds={requested} is out of range: {max(held, 1)} to {most} rounds of talk, of which "
            f"{held} are taken over."
        )
    return {"max_rounds": requested, "max_turns": requested if row and row.default_turns else setup.max_turns}


def find_debaters_with_new_stance(before: Opened, after: Opened, at_round: int) -> tuple[str, ...]:
    """The debaters who had another stance in the inherited rounds."""
    if not at_round:
        return ()
    pairs = zip(before.debaters, after.debaters, strict=True)
    return tuple(
        new.name for old, new in pairs if old.stance != new.stance or new.name in before.forked_restanced
    )
