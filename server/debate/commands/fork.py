"""Forks: a new debate that begins with the first rounds of another one.

The inherited turns are unchanged, whoever speaks from now on. Inherited are the events of the rounds, but not
how the parent was brought to its end, and no verdict.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from server.debate.commands.requests import ChangesInput, JudgesInput, TeamInput
from server.debate.commands.setup.debaters import find_same_stance
from server.debate.commands.setup.documents import build_documents
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.open import build_breakpoints, check_breakpoints
from server.debate.commands.setup.team import MOST_JUDGES, add_team, check_drawable
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
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.events import Event, Recorded
from server.debate.facts.setup import seats
from server.debate.facts.setup.documents import Document
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import MODERATOR, WRITTEN, Debater, JudgePanel
from server.debate.facts.setup.team import Team
from server.debate.rules import decide
from server.debate.rules.advance import add_alert, build_alert, find_talk_end, next_phase
from server.debate.rules.calls import pending_calls
from server.debate.rules.pauses import build_fallback_round_plan, find_quorum_shortfall
from server.debate.rules.transitions import IllegalEvent, replay
from server.debate.state.debate import Debate, judge_seats, replace
from server.debate.state.seats import seat_models
from server.debate.votes.teams import TeamRequest

FORKED = "forked"
"""The reason of a replacement that a fork begins with."""


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
    entries = find_inherited_entries(log, at_round)
    changes = add_choice(changes, team, debate) if team else changes
    setup = apply_changes(debate, changes, at_round)
    past = adapt_events(entries, debate.setup, setup, changes)
    past += list_later_retractions(log, at_round)
    past += build_model_replacements(setup, past, changes)
    forked: dict[str, Any] = {
        "forked_from": debate_id,
        "forked_root": debate.setup.forked_root or debate_id,
        "forked_at_round": at_round,
        "forked_hash": entries[-1].hash if entries else log[0].hash,
        "forked_restanced": list_restanced(debate.setup, setup) if at_round else (),
        "tags": debate.tags,
        "team": keep_choice(setup.team, changes),
        "ledger": None,  # what is known of its judges when it begins
        "memory": setup.memory and setup.memory.forget_texts(),
        "mirror_of": "",
        "mirrored_hash": "",
    }
    if changes.max_rounds:
        extended = sum(event.rounds for event in past if isinstance(event, interventions.RoundsExtended))
        forked["max_rounds"] = max(changes.max_rounds - extended, 1)
    setup = setup.model_copy(update=forked)
    setup = add_team(setup, team) if team else setup
    if at_round:
        check_can_continue(setup, past, at_round)
    return setup, tuple(past)


def list_later_retractions(log: Sequence[Recorded], at_round: int) -> list[Event]:
    """Inherited turns that were retracted after the inherited rounds stay retracted."""
    made = (entry.event for entry in log if isinstance(entry.event, interventions.TurnRetracted))
    later = (event for event in made if event.turn_round <= at_round < event.round)
    return [event.model_copy(update={"round": at_round, "request_id": ""}) for event in later]


def keep_choice(team: Team | None, changes: ChangesInput) -> Team | None:
    """What a fork keeps of a choice: nothing where debaters get other models, no judges where others are named."""
    if team is None or changes.models:
        return None
    is_named = changes.judges and changes.judges.models
    return team.model_copy(update={"judges": (), "judge_gains": ()}) if is_named else team


def list_restanced(before: Opened, after: Opened) -> tuple[str, ...]:
    """The debaters whose inherited turns argue for another stance than theirs."""
    pairs = zip(before.debaters, after.debaters, strict=True)
    restanced = {new.name for old, new in pairs if old.stance != new.stance}.union(before.forked_restanced)
    return tuple(debater.name for debater in after.debaters if debater.name in restanced)


def plan_fork_team(
    debate: Debate, at_round: int, changes: ChangesInput, models: Sequence[str]
) -> TeamRequest:
    """What a fork with `changes.team` chooses of these candidates: its debaters, and judges that were not heard yet.

    Whom changes.models and changes.judges.models name stays, and so do seats of callers, and a panel with one.

    Raises:
        InvalidRequestError: the team does not fit the debaters, or nobody is left to be chosen.
    """
    team, setup = changes.team or TeamInput(), apply_changes(debate, changes, at_round)
    check_drawable(models, "in changes.models")
    free = list_free_debaters(debate, changes)
    count = len(setup.framer.models) if setup.framer else len(free)
    problem = (
        f"changes.team.size={team.size}, and there are {len(setup.debaters)} debaters: leave the size out."
    )
    require(team.size in (0, count if setup.framer else len(setup.debaters)), problem)
    judges = setup.judges.models
    is_named = bool(changes.judges and changes.judges.models) or not WRITTEN.isdisjoint(judges)
    has_own_panel = not judges or is_named or were_judges_heard(debate, at_round)
    require(count or not has_own_panel, "changes.team: every seat has a model. Leave changes.team out.")
    return TeamRequest(
        candidates=tuple(dict.fromkeys(models)),
        count=count,
        seated=() if setup.framer else tuple(one.model for one in setup.debaters if one.name not in free),
        judges=0 if has_own_panel else MOST_JUDGES,
        topic=team.topic,
        diversity=Fraction(str(team.diversity)),
    )


def list_free_debaters(debate: Debate, changes: ChangesInput) -> list[str]:
    """The debaters that a team is chosen for."""
    named = {*map(str.strip, changes.models)}
    seats = debate.setup.debaters
    return [one.name for one in seats if one.name not in named and one.model not in WRITTEN]


def add_choice(changes: ChangesInput, team: Team, debate: Debate) -> ChangesInput:
    """The changes with the models that were chosen."""
    models = dict(zip(list_free_debaters(debate, changes), team.chosen, strict=False)) | changes.models
    judges = changes.judges
    if team.judges:
        given = judges or JudgesInput()
        count = given.count or len(drop_added_judges(debate).judges.models)
        judges = given.model_copy(update={"models": [*team.judges], "count": count})
    return changes.model_copy(update={"models": models, "judges": judges})


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


def apply_changes(debate: Debate, changes: ChangesInput, at_round: int) -> Opened:
    """The setup with the changes applied."""
    setup = drop_added_judges(debate)
    other: dict[str, Any] = {
        "run": changes.run,
        "debaters": build_changed_debaters(setup, changes),
        "seed": changes.seed or setup.seed,
        "documents": build_documents(changes.documents, list_inherited_documents(setup, at_round), at_round),
    }
    if not at_round:
        other["reader"] = None  # planned anew, since nothing that was read is inherited
    if setup.framing or changes.stances:
        other["framer"] = None
    if changes.judges:
        other["judges"] = build_changed_panel(debate, changes.judges, at_round)
    if changes.moderator:
        if setup.moderator is None:
            raise InvalidRequestError("This debate has no moderator: leave changes.moderator out.")
        other["moderator"] = setup.moderator.model_copy(update={"model": changes.moderator})
    if requested := changes.max_rounds:
        row = FORMATS.get(setup.format)  # a debate of another release may be in a format of its own
        held = sum(debate.round_phase(number).is_talk for number in range(1, at_round + 1))
        most = max(row.max_allowed_rounds if row else 0, len(setup.phases), setup.max_rounds)
        allowed = f"{max(held, 1)} to {most} rounds of talk, of which {held} are taken over"
        is_allowed = max(held, 1) <= requested <= most
        require(is_allowed, f"changes.max_rounds={requested} is out of range: {allowed}.")
        other |= {"max_rounds": requested} | ({"max_turns": requested} if row and row.default_turns else {})
    if changes.instructions is not None:
        other["instructions"] = changes.instructions
        other["prompt_functions"] = tuple(filter(None, setup.prompt_functions))
    if changes.pause_when is not None:
        other["pause_when"] = build_breakpoints(changes.pause_when)
    if setup.effort and changes.judges:
        left = tuple(name for name in setup.effort.open if name != "judges")
        other["effort"] = setup.effort.model_copy(update={"open": left})
    changed = setup.model_copy(update=other)
    check_breakpoints(changed)
    return changed


def drop_added_judges(debate: Debate) -> Opened:
    """The setup with the judges that it began with: a fork adds more by its own votes."""
    panel, added = debate.setup.judges, sum(len(event.models) for event in debate.judges_added)
    models = panel.models[: len(panel.models) - added]
    return debate.setup.model_copy(update={"judges": panel.model_copy(update={"models": models})})


def list_inherited_documents(setup: Opened, at_round: int) -> list[Document]:
    added = (min(document.after_round, at_round) for document in setup.documents)
    return [
        document.model_copy(update={"after_round": number})
        for document, number in zip(setup.documents, added, strict=True)
    ]


def build_changed_debaters(setup: Opened, changes: ChangesInput) -> tuple[Debater, ...]:
    updates: dict[str, dict[str, str]] = {debater.name: {} for debater in setup.debaters}
    for field, requested in (("model", changes.models), ("stance", changes.stances)):
        for name, value in ((key.strip(), value) for key, value in requested.items()):
            known = ", ".join(updates)
            require(name in updates, f"changes.{field}s: nobody is called {name!r}. Debaters: {known}.")
            require(value, f"changes.{field}s: there is nothing for {name}. Leave it out.")
            updates[name][field] = value
    stances = [(debater.name, debater.stance) for debater in setup.debaters]
    if changes.stances and not find_same_stance(stances):
        stances = [(d.name, updates[d.name].get("stance", d.stance)) for d in setup.debaters]
        problem = find_same_stance(stances)
        require(not problem, f"{problem} Give each a position of its own in changes.stances.")
    return tuple(debater.model_copy(update=updates[debater.name]) for debater in setup.debaters)


def build_changed_panel(debate: Debate, requested: JudgesInput, at_round: int) -> JudgePanel:
    setup = drop_added_judges(debate)
    require(setup.judges.models, f"{setup.format} has no judges here: leave changes.judges out.")
    heard = were_judges_heard(debate, at_round)
    require(not heard, f"The judges were heard in the rounds up to {at_round}: fork before them.")
    pool = requested.models or setup.judges.models
    models = tuple(pool[index % len(pool)] for index in range(requested.count or len(pool)))
    changed = requested.model_dump(exclude_unset=True, exclude_none=True, exclude={"count"})
    named = changed.get("reserve", setup.judges.reserve)
    reserve = tuple(model for model in named if model not in models)
    return setup.judges.model_copy(update=changed | {"models": models, "reserve": reserve})


def were_judges_heard(debate: Debate, at_round: int) -> bool:
    return any(debate.round_phase(number).participants == "judges" for number in range(1, at_round + 1))
