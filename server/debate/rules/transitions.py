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
from server.debate.facts.state import Debate, judges
from server.debate.rules.schedule import (
    Place,
    decided_by,
    failures_of,
    final,
    gave_up,
    last_word,
    model_of,
    open_places,
    seated,
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
    return replace(changed(debate, event), version=debate.version + 1)


def changed(debate: Debate, event: Event) -> Debate:  # noqa: C901, PLR0911, PLR0912  (a table of cases)
    match event:
        case Opened():
            raise IllegalEvent("it was opened already")
        case PhaseEntered():
            return entered(debate, event)
        case RoundOpened() | Spoke() | Audited() | RoundClosed():
            return said(debate, event)
        case Balloted():
            check_open(debate, event, 0, "ballot")
            check_name(debate, event.choice)
            return heard(debate, event.seat, 0, ballots=(*debate.ballots, event))
        case Judged():
            check(event.seat in judges(debate.setup), f"{event.seat} is no judge")
            check_open(debate, event, event.reading, "judgment")
            check_name(debate, event.winner)
            return heard(debate, event.seat, event.reading, judged=(*debate.judged, event))
        case Synthesized():
            check_open(debate, event, 0, "deliverable")
            return heard(debate, event.seat, 0, deliverable=event)
        case Researched():
            check_open(debate, event, event.reading)
            return replace(debate, research=(*debate.research, event))
        case HandedOff():
            check_handoff(debate, event)
            return replace(debate, handoffs=(*debate.handoffs, event))
        case Failed():
            return failed(debate, event)
        case Concluded():
            check_verdict(debate, event)
            return replace(debate, verdict=event)
        case Intervened() | Paused() | Resumed():
            return steered(debate, event)
        case Ended():
            decided = debate.verdict is not None or not decided_by(debate.setup)
            check(event.ending == "truncated" or decided, "concluded without a verdict")
            return replace(debate, ended=event)
        case _:
            assert_never(event)


def entered(debate: Debate, event: PhaseEntered) -> Debate:
    phase = next((phase for phase in debate.setup.phases if phase.name == event.phase), None)
    check(phase is not None, f"no phase {event.phase}")
    check(event.round == debate.round + 1, "rounds follow one another")
    assert phase is not None
    check(follows(debate, phase), f"{event.phase} cannot follow")
    asked = {
        "debaters": debate.names,
        "judges": judges(debate.setup),
        "synthesizer": ("synthesizer",),
    }[phase.asks]
    if phase.order == "handoff":
        check(len(event.order) == 1 and event.order[0] in asked, "one debater speaks at a time")
        chosen = [handed.to for handed in debate.handoffs if handed.round == debate.round]
        check(not chosen or event.order == (chosen[0],), "somebody else was chosen to speak")
    else:
        check(sorted(event.order) == sorted(asked), "the order is not one of those who are asked")
    return replace(debate, rounds=(*debate.rounds, event), heard=frozenset(), missed=())


def follows(debate: Debate, phase: Phase) -> bool:
    """Whether this phase may be held now: in their order, and the result made of what was decided."""
    if phase.asks == "synthesizer" and decided_by(debate.setup) and debate.verdict is None:
        return False
    here = debate.phase
    if here is None:
        return True
    phases = debate.setup.phases
    return phases.index(here) < phases.index(phase) or (here is phase and phase.repeats)


def said(debate: Debate, event: RoundOpened | Spoke | Audited | RoundClosed) -> Debate:
    match event:
        case RoundOpened():
            check_opening(debate, event)
            number = 0
        case Spoke():
            check_turn(debate, event)
            number = event.turn
        case Audited():
            check_open(debate, event, 0, "audit")
            number = 0
        case RoundClosed():
            check_open(debate, event, 1, "closing")
            check(not event.settled or bool(event.decision), "settled without a decision")
            number = 1
        case _:
            assert_never(event)
    return heard(debate, event.seat, number, talk=(*debate.talk, event))


def heard(debate: Debate, seat: str, number: int, **said: Any) -> Debate:
    return replace(debate, heard=debate.heard | {(seat, number)}, **said)


def failed(debate: Debate, event: Failed) -> Debate:
    failures = (*debate.failures, event)
    if event.handoff:
        turn = handing(debate, event)
        check(not turn.hands_to, "the choice was a good one")
        told = any(failure.handoff and failure.round == event.round for failure in debate.failures)
        check(not told, "it was told already")
        return replace(debate, failures=failures)
    check_open(debate, event, event.reading)
    model = event.model or model_of(debate, event.seat)
    after = replace(debate, failures=failures, missed=(*debate.missed, event))
    # A model that was too late for this round may be in time for the next.
    if event.cause != "late" and final(failures_of(after, (event.seat, event.reading))):
        return replace(after, gone=debate.gone | {(event.seat, model)})
    return after


def steered(debate: Debate, event: Intervened | Paused | Resumed) -> Debate:
    match event:
        case Intervened(action="inject" | "challenge"):
            return replace(debate, talk=(*debate.talk, event))
        case Intervened(action="conclude"):
            return replace(debate, concluding=True, paused=None, steering=(*debate.steering, event))
        case Intervened():
            return changed_course(debate, event)
        case Paused():
            check(debate.paused is None, "it is paused already")
            return replace(debate, paused=event)
        case Resumed():
            check(debate.paused is not None, "it is not paused")
            return replace(debate, paused=None, missed=(), gone=frozenset())
        case _:
            assert_never(event)


def changed_course(debate: Debate, event: Intervened) -> Debate:
    """Rounds, weights, threshold, a model or a retraction: from now on."""
    after = replace(debate, steering=(*debate.steering, event))
    if event.action == "retract":
        spoken = {(turn.seat, turn.round, turn.turn) for turn in debate.turns}
        check((event.to, *event.retracted) in spoken - debate.retracted, "there is no such turn")
    if event.action != "replace_model":
        return after
    check(event.to in seated(debate.setup), f"nobody here is called {event.to}")
    return replace(
        after,
        missed=tuple(failure for failure in debate.missed if failure.seat != event.to),
        gone=frozenset((seat, model) for seat, model in debate.gone if seat != event.to),
    )


def check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise IllegalEvent(otherwise)


Answer = RoundOpened | Spoke | Researched | Failed | Audited | RoundClosed | Balloted | Judged | Synthesized


def check_open(debate: Debate, event: Answer, number: int, *tasks: Task) -> Place:
    """The place that an answer fills."""
    check(event.round == debate.round, f"an answer for round {event.round} in round {debate.round}")
    wanted = (*open_places(debate), *last_word(debate))
    place = next((place for place in wanted if place.key == (event.seat, number)), None)
    if place is None or (tasks and place.task not in tasks):
        raise IllegalEvent(f"nobody is asking {event.seat} (number {number}) for that")
    return place


def check_opening(debate: Debate, event: RoundOpened) -> None:
    check(event.seat == MODERATOR, f"{event.seat} is no moderator")
    phase = debate.phase
    check(phase is not None and phase.order == "moderated", "nobody opens rounds here")
    check(event.round == debate.round, "another round is under way")
    check(debate.opening_of(debate.round) is None, "the round was opened already")
    spoken = bool(debate.turns) and event.done
    check(bool(event.next_speakers) or spoken, "nobody is to speak")
    for name in event.next_speakers:
        check(name in debate.names, f"nobody here is called {name}")
    if event.usage is None:
        check(gave_up(debate, (MODERATOR, 0)), "the moderator may still answer")
    else:
        check_open(debate, event, 0, "opening")


def check_turn(debate: Debate, event: Spoke) -> None:
    place = check_open(debate, event, event.turn, "argument", "message", "answer")
    others = {name for name in debate.names if name != event.seat}
    match place.task:
        case "argument":
            check(event.act == "argument" and not event.to, "an argument is for everybody")
        case "answer":
            check(event.act == "answer" and event.to == place.to, "it answers another message")
        case _:
            check(event.act in ("question", "proposal", "critique"), "a message was asked for")
            check(event.to in others, f"no message can go to {event.to}")
    check(not event.hands_to or event.hands_to in others, f"{event.hands_to} cannot speak next")


def check_handoff(debate: Debate, event: HandedOff) -> None:
    turn = handing(debate, event)
    check((event.because == "chosen") == bool(turn.hands_to), "that is not how it was handed over")
    check(event.to == (turn.hands_to or event.to), f"{turn.hands_to} was chosen")
    check(event.to in debate.names and event.to != event.seat, f"{event.to} cannot speak next")


def handing(debate: Debate, event: HandedOff | Failed) -> Spoke:
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
    if decided_by(debate.setup) == "judges":
        check(debate.phase.asks == "judges", "the judges were not heard")
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
