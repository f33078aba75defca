"""A new debate that begins with the first rounds of another one. The inherited turns are unchanged."""

from collections.abc import Sequence
from typing import Any

from server.debate.commands.forks.changes import apply_changes, list_restanced
from server.debate.commands.forks.inheritance import (
    adapt_events,
    build_model_replacements,
    list_later_changes,
    replay_rounds,
)
from server.debate.commands.forks.teams import add_choice, keep_choice
from server.debate.commands.requests import ChangesInput
from server.debate.commands.setup.team import add_team
from server.debate.facts import interventions
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import Event, Recorded
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.team import Team
from server.debate.interventions.action import Inheritance
from server.debate.machine import decide
from server.debate.machine.transitions import replay
from server.debate.rules.advance import add_alert, build_alert, find_talk_end, next_phase
from server.debate.rules.calls import pending_calls
from server.debate.rules.pauses import build_fallback_round_plan, find_quorum_shortfall
from server.debate.state.debate import Debate, judge_seats, replace
from server.debate.state.seats import seat_models


class RoundError(InvalidRequestError):
    """No fork can begin after this round. `advice`: what else may help than an earlier one."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem)
        self.advice = advice


def fork(
    debate_id: str,
    debate: Debate,
    log: Sequence[Recorded],
    at_round: int,
    changes: ChangesInput,
    team: Team | None = None,
) -> tuple[Opened, tuple[Event, ...]]:
    """As `build_fork`. A refusal of the round names the last one before it that is possible."""
    try:
        return build_fork(debate_id, debate, log, at_round, changes, team)
    except RoundError as error:
        last = min(at_round - 1, debate.round)
        while last > 0 and not can_fork(debate_id, debate, log, last, changes, team):
            last -= 1
        how = f"{error.advice}, or pass" if error.advice else "Pass"
        raise InvalidRequestError(f"{error} {how} at_round={last}{', or less' if last else ''}.") from None


def can_fork(*asked: Any) -> bool:
    """Whether `build_fork` does not refuse this."""
    try:
        build_fork(*asked)
    except InvalidRequestError:
        return False
    return True


def build_fork(
    debate_id: str,
    debate: Debate,
    log: Sequence[Recorded],
    at_round: int,
    changes: ChangesInput,
    team: Team | None = None,
) -> tuple[Opened, tuple[Event, ...]]:
    """Return the setup of a fork and the events that it inherits; round 0 inherits the setup only.

    `team`: was chosen as `plan_fork_team` says.

    Raises:
        InvalidRequestError: the round is not over, no round would follow it, or a change is not possible.
    """
    over = decide.is_round_over(replace(debate, paused=None))
    last = debate.round if over else max(debate.round - 1, 0)
    which = f"{last} is the last that is" if last else "none is yet"
    if at_round > last:
        raise RoundError(f"Round {at_round} is not over, and {which}.")
    at, entries = replay_rounds(log, at_round)
    changes = add_choice(changes, team, at) if team else changes
    setup = apply_changes(at, changes, at_round)
    inheritance = build_inheritance(at, setup, at_round, changes)
    past = adapt_events(log, entries, inheritance, setup.prompt_functions)
    past += list_later_changes(log[at.version :], inheritance)
    past += build_model_replacements(setup, past, changes)
    forked: dict[str, Any] = {
        "forked_from": debate_id,
        "forked_root": debate.setup.forked_root or debate_id,
        "forked_import": debate_id if log[0].restored else debate.setup.forked_import,
        "forked_at_round": at_round,
        "forked_hash": entries[-1].hash if entries else log[0].hash,
        "forked_restanced": list_restanced(at.setup, setup) if at_round else (),
        "tags": debate.tags,
        "team": keep_choice(setup.team, changes),
        "ledger": None,  # what is known of its judges when it begins
        "memory": debate.setup.memory and debate.setup.memory.forget_texts(),  # without what is gone by now
        "mirror_of": "",
    }
    if changes.max_rounds:
        extended = sum(event.rounds for event in past if isinstance(event, interventions.RoundsExtended))
        forked["max_rounds"] = max(changes.max_rounds - extended, 1)
    setup = setup.model_copy(update=forked)
    setup = add_team(setup, team) if team else setup
    if at_round:
        check_can_continue(setup, past, at_round)
    return setup, tuple(past)


def build_inheritance(at: Debate, setup: Opened, at_round: int, changes: ChangesInput) -> Inheritance:
    old, new = seat_models(at.setup), seat_models(setup)
    other_judges = {seat for seat in judge_seats(setup) if old.get(seat) != new[seat]}
    keeps_instructions = changes.instructions is None
    return Inheritance(at_round, frozenset(new), frozenset(other_judges), keeps_instructions)


def check_can_continue(setup: Opened, past: Sequence[Event], at_round: int) -> None:
    """Refuse inherited events that do not fit the setup, or that no round would follow."""
    cut = RoundError(f"Round {at_round} was cut short, or rests on what was decided before it.")
    try:
        debate = replay((setup, *past))
    except IllegalEvent:
        raise cut from None
    if find_quorum_shortfall(debate) or pending_calls(debate) or build_fallback_round_plan(debate):
        raise cut
    debate = add_alert(debate, build_alert(debate))  # it may bring a round more
    end = find_talk_end(debate)
    if next_phase(debate, end) is None:
        talked = debate.round_phase(at_round).is_talk
        more = "Raise changes.max_rounds" if talked and end and end.cause == "max_rounds" else ""
        raise RoundError(f"Nothing would come after round {at_round}.", more)
