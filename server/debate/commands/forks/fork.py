"""A new debate that begins with the first rounds of another one. Inherited turns are unchanged."""

from collections.abc import Sequence
from typing import Any

from server.debate.commands.forks.changes import apply_changes, list_restanced
from server.debate.commands.forks.inheritance import (
    adapt_events,
    build_model_replacements,
    list_later_changes,
    replay_rounds,
)
from server.debate.commands.requests import ChangesInput
from server.debate.facts import interventions
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import Event, Recorded
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.team import Team
from server.debate.interventions.action import Inheritance
from server.debate.machine import decide
from server.debate.machine.transitions import replay
from server.debate.rules.calls import pending_calls
from server.debate.rules.course import add_alert, build_alert, find_talk_end, next_phase
from server.debate.rules.pauses import build_fallback_round_plan, find_quorum_shortfall, join_seats
from server.debate.state.debate import Debate, judge_seats, replace
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
        possible_round = min(at_round - 1, debate.round)
        while possible_round > 0 and not can_fork(debate_id, debate, log, possible_round, changes):
            possible_round -= 1
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
    past += list_later_changes(log[at.version :], inheritance)
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
        seats = join_seats([*dict.fromkeys(call.seat for call in pending)])
        raise RoundError(f"Round {at_round} was cut short: {seats} did not answer.")
    if build_fallback_round_plan(debate):
        raise RoundError(f"Round {at_round} was cut short: nobody said who speaks in it.")
    debate = add_alert(debate, build_alert(debate))  # an alert may add a round
    end = find_talk_end(debate)
    if next_phase(debate, end) is None:
        is_talk = debate.round_phase(at_round).is_talk
        advice = "Raise changes.max_rounds" if is_talk and end and end.cause == "max_rounds" else ""
        raise RoundError(f"Nothing would come after round {at_round}.", advice)
