"""The debate so far: a fold over its events.

Rules of this file:

1. `apply` is the only way a debate changes, and it is all or nothing: an event that cannot happen
   raises `IllegalEvent` and the debate at hand is untouched.
2. Nothing says "in progress". What is under way is what has been asked for and not answered, and
   that is derived (`rules.pending`), so that a crash at any instant leaves nothing to clean up.
3. An answer is welcome as long as its question is open: while paused, and while the talk is being
   concluded, too. What has been paid for is kept.
4. Answers of a round arrive in any order. Whatever depends on order goes by `PhaseEntered.order`
   or by seat, never by arrival.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import assert_never

from server.debate.events import (
    Cause,
    Concluded,
    Debater,
    Ended,
    Event,
    Failed,
    Intervened,
    Judged,
    Opened,
    Paused,
    Phase,
    PhaseEntered,
    Resumed,
    Spoke,
    Usage,
)

ASKED_AGAIN: frozenset[Cause] = frozenset({"empty", "unreadable"})
"""Bad replies, as opposed to failing providers: the same seat is asked once more, told what was wrong."""


class IllegalEvent(Exception):  # noqa: N818  (it is named for what happened)
    """This event cannot happen in this debate now: a bug of ours, never a user's mistake."""


@dataclass(frozen=True, slots=True)
class Debate:
    setup: Opened
    version: int = 1  # how many events it has seen
    rounds: tuple[PhaseEntered, ...] = ()
    talk: tuple[Spoke | Intervened, ...] = ()  # as it was recorded
    judged: tuple[Judged, ...] = ()
    failures: tuple[Failed, ...] = ()
    heard: frozenset[tuple[str, int]] = frozenset()  # (seat, reading) that answered in this round
    missed: tuple[Failed, ...] = ()  # the failures of this round that keep a seat from being asked
    paused: Paused | None = None
    concluding: bool = False
    verdict: Concluded | None = None
    ended: Ended | None = None

    @property
    def round(self) -> int:
        return len(self.rounds)

    @property
    def phase(self) -> Phase | None:
        return self.phase_of(self.round) if self.rounds else None

    def phase_of(self, number: int) -> Phase:
        name = self.rounds[number - 1].phase
        return next(phase for phase in self.setup.phases if phase.name == name)

    @property
    def talk_rounds(self) -> int:
        return sum(self.phase_of(entered.round).asks == "debaters" for entered in self.rounds)

    @property
    def turns(self) -> tuple[Spoke, ...]:
        return tuple(fact for fact in self.talk if isinstance(fact, Spoke))

    @property
    def notes(self) -> tuple[Intervened, ...]:
        return tuple(fact for fact in self.talk if isinstance(fact, Intervened))

    def turns_of(self, number: int) -> tuple[Spoke, ...]:
        """The turns of a round in the order in which they are read, whatever order they arrived in."""
        order = self.rounds[number - 1].order
        turns = [turn for turn in self.turns if turn.round == number]
        return tuple(sorted(turns, key=lambda turn: order.index(turn.seat)))

    def debater(self, name: str) -> Debater:
        return next(debater for debater in self.setup.debaters if debater.name == name)

    @property
    def usage(self) -> tuple[Usage, ...]:
        """Every answer that was paid for, the useless ones too."""
        paid: tuple[Spoke | Judged | Failed, ...] = (*self.turns, *self.judged, *self.failures)
        return tuple(fact.usage for fact in paid if fact.usage is not None)

    @property
    def status(self) -> str:
        """One of running, paused, concluded, truncated."""
        if self.ended:
            return self.ended.ending
        return "paused" if self.paused else "running"


def seats(debate: Debate) -> tuple[tuple[str, int], ...]:
    """Who is asked in this round, as (seat, reading); reading is 0 for debaters."""
    phase = debate.phase
    if phase is None:
        return ()
    if phase.asks == "debaters":
        return tuple((debater.name, 0) for debater in debate.setup.debaters)
    readings = (1, 2) if debate.setup.judges.both_orders else (1,)
    return tuple((judge, reading) for reading in readings for judge in judges(debate.setup))


def judges(setup: Opened) -> tuple[str, ...]:
    """The judges' seats, in order. Debaters cannot take these names."""
    return tuple(f"judge {number}" for number in range(1, len(setup.judges.models) + 1))


def failures_of(debate: Debate, seat: str, reading: int) -> tuple[Failed, ...]:
    """The failures of a seat in this round that still count; resuming a paused debate forgives them."""
    return tuple(failure for failure in debate.missed if (failure.seat, failure.reading) == (seat, reading))


def gave_up(debate: Debate, seat: str, reading: int) -> bool:
    failures = failures_of(debate, seat, reading)
    return len(failures) > 1 or any(failure.cause not in ASKED_AGAIN for failure in failures)


def open_seats(debate: Debate) -> tuple[tuple[str, int], ...]:
    """The seats of this round whose answer is missing and would still be taken."""
    if debate.ended:
        return ()
    return tuple(
        (seat, reading)
        for seat, reading in seats(debate)
        if (seat, reading) not in debate.heard and not gave_up(debate, seat, reading)
    )


def apply(debate: Debate | None, event: Event) -> Debate:  # noqa: C901, PLR0911, PLR0912  (a table of cases)
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
    after = replace(debate, version=debate.version + 1)
    match event:
        case PhaseEntered():
            after = replace(after, rounds=(*debate.rounds, event), heard=frozenset(), missed=())
            check_round(after, event)
            return after
        case Spoke():
            check_open(debate, event.seat, event.round, 0)
            return replace(after, talk=(*debate.talk, event), heard=debate.heard | {(event.seat, 0)})
        case Judged():
            check_judged(debate, event)
            heard = debate.heard | {(event.seat, event.reading)}
            return replace(after, judged=(*debate.judged, event), heard=heard)
        case Failed():
            check_open(debate, event.seat, event.round, event.reading)
            missed = (*debate.missed, event)
            return replace(after, failures=(*debate.failures, event), missed=missed)
        case Concluded():
            check_verdict(debate, event)
            return replace(after, verdict=event)
        case Intervened(action="inject"):
            return replace(after, talk=(*debate.talk, event))
        case Intervened():
            return replace(after, concluding=True, paused=None)
        case Paused():
            check(debate.paused is None, "it is paused already")
            return replace(after, paused=event)
        case Resumed():
            check(debate.paused is not None, "it is not paused")
            return replace(after, paused=None, missed=())
        case Ended():
            check(event.ending == "truncated" or debate.verdict is not None, "concluded without a verdict")
            return replace(after, ended=event)
        case Opened():
            raise IllegalEvent("it was opened already")
        case _:
            assert_never(event)


def check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise IllegalEvent(otherwise)


def check_round(debate: Debate, event: PhaseEntered) -> None:
    check(event.round == debate.round, "rounds follow one another")
    check(event.phase in {phase.name for phase in debate.setup.phases}, f"no phase {event.phase}")
    asked = {seat for seat, _ in seats(debate)}
    check(sorted(event.order) == sorted(asked), "the order is not one of those who are asked")


def check_judged(debate: Debate, event: Judged) -> None:
    check(event.seat in judges(debate.setup), f"{event.seat} is no judge")
    check_winner(debate, event.winner)
    check_open(debate, event.seat, event.round, event.reading)


def check_verdict(debate: Debate, event: Concluded) -> None:
    check(debate.verdict is None, "there is a verdict already")
    check(debate.phase is not None and debate.phase.asks == "judges", "the judges were not heard")
    check_winner(debate, event.winner)


def check_open(debate: Debate, seat: str, number: int, reading: int) -> None:
    check(number == debate.round, f"an answer for round {number} in round {debate.round}")
    check((seat, reading) in open_seats(debate), f"nobody is asking {seat} (reading {reading})")


def check_winner(debate: Debate, name: str) -> None:
    names = {debater.name for debater in debate.setup.debaters}
    check(not name or name in names, f"nobody here is called {name}")


def replay(events: Iterable[Event], start: Debate | None = None) -> Debate:
    """The debate that these events tell.

    Raises:
        IllegalEvent: they tell none.
    """
    debate = reduce(apply, events, start)
    if debate is None:
        raise IllegalEvent("a debate without events")
    return debate
