"""How facts change a debate.

Rules of this file:

1. `apply` is the only way a debate changes, and it is all or nothing: an event that cannot happen
   raises `IllegalEvent` and the debate at hand is untouched.
2. Nothing says "in progress". What is under way is what has been asked for and not answered, and
   that is derived (`rules.pending`), so that a crash at any instant leaves nothing to clean up.
3. An answer is welcome as long as its place is open: while paused, and while the talk is being
   concluded, too. What has been paid for is kept.
4. Answers of a group arrive in any order. Whatever depends on order goes by `PhaseEntered.order`
   or by seat, never by arrival.
5. Who speaks is a fact before anybody is asked: `PhaseEntered.order`, `RoundOpened`, `HandedOff`.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Any, assert_never

from server.debate.facts.config import MODERATOR, Phase
from server.debate.facts.events import (
    Audited,
    Balloted,
    Concluded,
    Ended,
    Event,
    Failed,
    HandedOff,
    Intervened,
    Judged,
    Opened,
    Paused,
    PhaseEntered,
    Researched,
    Resumed,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
    Task,
)
from server.debate.facts.state import Debate, judge_seats
from server.debate.rules.schedule import (
    Slot,
    current_model,
    final_closing_slots,
    has_final_failure,
    is_exhausted,
    open_slots,
    seat_models,
    slot_failures,
    verdict_source,
)


class IllegalEvent(Exception):  # noqa: N818  (it is named for what happened)
    """This event cannot happen in this debate now: a bug of ours, never a user's mistake."""


def apply(debate: Debate | None, event: Event) -> Debate:
    """The debate after this event.

    Raises:
        IllegalEvent: it cannot happen now. The debate is unchanged.
    """
    if debate is None:
        if isinstance(event, Opened):
            return Debate(setup=event)
        raise IllegalEvent(f"{event.kind} before the debate was opened")
    if debate.ended:
        raise IllegalEvent(f"{event.kind} after the end")
    return replace(apply_by_kind(debate, event), version=debate.version + 1)


def apply_by_kind(debate: Debate, event: Event) -> Debate:  # noqa: C901, PLR0911, PLR0912  (a table of cases)
    match event:
        case Opened():
            raise IllegalEvent("it was opened already")
        case PhaseEntered():
            return apply_phase_entered(debate, event)
        case RoundOpened() | Spoke() | Audited() | RoundClosed():
            return apply_transcript_event(debate, event)
        case Balloted():
            check_open_slot(debate, event, 0, "ballot")
            check_name(debate, event.choice)
            return fill_slot(debate, event.seat, 0, ballots=(*debate.ballots, event))
        case Judged():
            check(event.seat in judge_seats(debate.setup), f"{event.seat} is no judge")
            check_open_slot(debate, event, event.slot_index, "judgment")
            check_name(debate, event.winner)
            return fill_slot(debate, event.seat, event.slot_index, judgments=(*debate.judgments, event))
        case Synthesized():
            check_open_slot(debate, event, 0, "deliverable")
            return fill_slot(debate, event.seat, 0, deliverable=event)
        case Researched():
            check_open_slot(debate, event, event.slot_index)
            return replace(debate, research=(*debate.research, event))
        case HandedOff():
            check_handoff(debate, event)
            return replace(debate, handoffs=(*debate.handoffs, event))
        case Failed():
            return apply_failed(debate, event)
        case Concluded():
            check_verdict(debate, event)
            return replace(debate, verdict=event)
        case Intervened() | Paused() | Resumed():
            return apply_control_event(debate, event)
        case Ended():
            decided = debate.verdict is not None or not verdict_source(debate.setup)
            check(event.ending == "truncated" or decided, "concluded without a verdict")
            return replace(debate, ended=event)
        case _:
            assert_never(event)


def apply_phase_entered(debate: Debate, event: PhaseEntered) -> Debate:
    phase = next((phase for phase in debate.setup.phases if phase.name == event.phase), None)
    check(phase is not None, f"no phase {event.phase}")
    check(event.round == debate.round + 1, "rounds follow one another")
    assert phase is not None
    check(can_follow(debate, phase), f"{event.phase} cannot follow")
    asked = {
        "debaters": debate.names,
        "judges": judge_seats(debate.setup),
        "synthesizer": ("synthesizer",),
    }[phase.participants]
    if phase.order == "handoff":
        check(len(event.order) == 1 and event.order[0] in asked, "one debater speaks at a time")
        chosen = [handed.to for handed in debate.handoffs if handed.round == debate.round]
        check(not chosen or event.order == (chosen[0],), "somebody else was chosen to speak")
    else:
        check(sorted(event.order) == sorted(asked), "the order is not one of those who are asked")
    return replace(debate, rounds=(*debate.rounds, event), answered_slots=frozenset(), round_failures=())


def can_follow(debate: Debate, phase: Phase) -> bool:
    """Whether this phase may be held now: in their order, and the result made of what was decided."""
    if phase.participants == "synthesizer" and verdict_source(debate.setup) and debate.verdict is None:
        return False
    here = debate.phase
    if here is None:
        return True
    phases = debate.setup.phases
    return phases.index(here) < phases.index(phase) or (here is phase and phase.repeats)


def apply_transcript_event(debate: Debate, event: RoundOpened | Spoke | Audited | RoundClosed) -> Debate:
    match event:
        case RoundOpened():
            check_round_opened(debate, event)
            number = 0
        case Spoke():
            check_turn(debate, event)
            number = event.slot_index
        case Audited():
            check_open_slot(debate, event, 0, "audit")
            number = 0
        case RoundClosed():
            check_open_slot(debate, event, 1, "closing")
            check(not event.settled or bool(event.decision), "settled without a decision")
            number = 1
        case _:
            assert_never(event)
    return fill_slot(debate, event.seat, number, transcript_events=(*debate.transcript_events, event))


def fill_slot(debate: Debate, seat: str, slot_index: int, **changes: Any) -> Debate:
    return replace(debate, answered_slots=debate.answered_slots | {(seat, slot_index)}, **changes)


def apply_failed(debate: Debate, event: Failed) -> Debate:
    failures = (*debate.failures, event)
    if event.handoff:
        turn = find_handoff_turn(debate, event)
        check(not turn.hands_to, "the choice was a good one")
        told = any(failure.handoff and failure.round == event.round for failure in debate.failures)
        check(not told, "it was told already")
        return replace(debate, failures=failures)
    check_open_slot(debate, event, event.slot_index)
    model = event.model or current_model(debate, event.seat)
    after = replace(debate, failures=failures, round_failures=(*debate.round_failures, event))
    # A model that was too late for this round may be in time for the next.
    if event.cause != "late" and has_final_failure(slot_failures(after, (event.seat, event.slot_index))):
        return replace(after, failed_models=debate.failed_models | {(event.seat, model)})
    return after


def apply_control_event(debate: Debate, event: Intervened | Paused | Resumed) -> Debate:
    match event:
        case Intervened(action="inject" | "challenge"):
            return replace(debate, transcript_events=(*debate.transcript_events, event))
        case Intervened(action="conclude"):
            return replace(
                debate, is_concluding=True, paused=None, interventions=(*debate.interventions, event)
            )
        case Intervened():
            return apply_intervention(debate, event)
        case Paused():
            check(debate.paused is None, "it is paused already")
            return replace(debate, paused=event)
        case Resumed():
            check(debate.paused is not None, "it is not paused")
            return replace(debate, paused=None, round_failures=(), failed_models=frozenset())
        case _:
            assert_never(event)


def apply_intervention(debate: Debate, event: Intervened) -> Debate:
    """Rounds, weights, threshold, a model or a retraction: from now on."""
    after = replace(debate, interventions=(*debate.interventions, event))
    if event.action == "retract":
        spoken = {(turn.seat, turn.round, turn.slot_index) for turn in debate.turns}
        check((event.to, *event.retracted) in spoken - debate.retracted_turns, "there is no such turn")
    if event.action != "replace_model":
        return after
    check(event.to in seat_models(debate.setup), f"nobody here is called {event.to}")
    return replace(
        after,
        round_failures=tuple(failure for failure in debate.round_failures if failure.seat != event.to),
        failed_models=frozenset((seat, model) for seat, model in debate.failed_models if seat != event.to),
    )


def check(condition: bool, message: str) -> None:
    if not condition:
        raise IllegalEvent(message)


SlotEvent = (
    RoundOpened | Spoke | Researched | Failed | Audited | RoundClosed | Balloted | Judged | Synthesized
)


def check_open_slot(debate: Debate, event: SlotEvent, slot_index: int, *tasks: Task) -> Slot:
    """The place that an answer fills."""
    check(event.round == debate.round, f"an answer for round {event.round} in round {debate.round}")
    wanted = (*open_slots(debate), *final_closing_slots(debate))
    place = next((place for place in wanted if place.key == (event.seat, slot_index)), None)
    if place is None or (tasks and place.task not in tasks):
        raise IllegalEvent(f"nobody is asking {event.seat} (number {slot_index}) for that")
    return place


def check_round_opened(debate: Debate, event: RoundOpened) -> None:
    check(event.seat == MODERATOR, f"{event.seat} is no moderator")
    phase = debate.phase
    check(phase is not None and phase.order == "moderated", "nobody opens rounds here")
    check(event.round == debate.round, "another round is under way")
    check(debate.round_plan(debate.round) is None, "the round was opened already")
    spoken = bool(debate.turns) and event.done
    check(bool(event.next_speakers) or spoken, "nobody is to speak")
    for name in event.next_speakers:
        check(name in debate.names, f"nobody here is called {name}")
    if event.usage is None:
        check(is_exhausted(debate, (MODERATOR, 0)), "the moderator may still answer")
    else:
        check_open_slot(debate, event, 0, "opening")


def check_turn(debate: Debate, event: Spoke) -> None:
    place = check_open_slot(debate, event, event.slot_index, "argument", "message", "answer")
    others = {name for name in debate.names if name != event.seat}
    match place.task:
        case "argument":
            check(event.act == "argument" and not event.to, "an argument is for everybody")
        case "answer":
            check(event.act == "answer" and event.to == place.message_author, "it answers another message")
        case _:
            check(event.act in ("question", "proposal", "critique"), "a message was asked for")
            check(event.to in others, f"no message can go to {event.to}")
    check(not event.hands_to or event.hands_to in others, f"{event.hands_to} cannot speak next")


def check_handoff(debate: Debate, event: HandedOff) -> None:
    turn = find_handoff_turn(debate, event)
    check((event.because == "chosen") == bool(turn.hands_to), "that is not how it was handed over")
    check(event.to == (turn.hands_to or event.to), f"{turn.hands_to} was chosen")
    check(event.to in debate.names and event.to != event.seat, f"{event.to} cannot speak next")


def find_handoff_turn(debate: Debate, event: HandedOff | Failed) -> Spoke:
    """The turn whose choice of the next speaker this is about, made in this round and not yet followed."""
    phase = debate.phase
    check(phase is not None and phase.order == "handoff", "nobody hands over here")
    check(all(handed.round != debate.round for handed in debate.handoffs), "it was handed over already")
    turn = next((t for t in debate.turns if (t.seat, t.round) == (event.seat, debate.round)), None)
    if turn is None or event.round != debate.round:
        raise IllegalEvent("nobody spoke")
    return turn


def check_verdict(debate: Debate, event: Concluded) -> None:
    check(debate.verdict is None, "there is a verdict already")
    check(debate.phase is not None, "nothing was said")
    assert debate.phase is not None
    if verdict_source(debate.setup) == "judges":
        check(debate.phase.participants == "judges", "the judges were not heard")
    check_name(debate, event.winner)


def check_name(debate: Debate, name: str) -> None:
    check(not name or name in debate.names, f"nobody here is called {name}")


def replay(events: Iterable[Event], start: Debate | None = None) -> Debate:
    """The debate that these events tell.

    Raises:
        IllegalEvent: they tell none.
    """
    debate = reduce(apply, events, start)
    if debate is None:
        raise IllegalEvent("a debate without events")
    return debate
