"""What happens next. `decide` looks only at the debate and answers one of four things.

    Record(events)   nothing to ask anyone: these facts follow
    Ask(calls)       put these questions, in any order; each answer is a fact of its own
    Wait(reason)     nothing will happen until somebody intervenes
    Over(ended)      nothing will ever happen again

The rounds of a debate, in the terms of its format's phases:

    (opened) -> phase 1 -> phase 2 -> ... -> the judges' phase -> Concluded, Ended

A phase that repeats takes every round of talk that is left, less one for each phase of talk that
follows it. The talk ends early when a caller concludes it or `terminate_when` says so; the judges
then read what is there. A round that too few voices can complete pauses the debate, and resuming
it asks the missing seats again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from server.debate.events import Ended, Event, Opened, Paused, Phase, PhaseEntered
from server.debate.judging import conclude
from server.debate.state import Debate, failures_of, judges, open_seats, seats

MOST_CAUSES = 3
"""How many failures the reason of a pause tells; the record has them all."""

TerminateWhen = Callable[[Debate], bool]
"""A pure, total predicate, asked after each round of talk: has enough been said?"""


@dataclass(frozen=True, slots=True)
class Call:
    """A question for one seat's model. Compared by key alone: prompts are rendered when it is put."""

    key: str
    seat: str
    round: int
    reading: int  # 0 for debaters; a judge's first or second
    model: str
    attempt: int  # 2 when the first reply was bad
    seed: int  # drawn from the debate's: the same call is always made with the same one

    @property
    def answers(self) -> tuple[str, int]:
        """The open place that an answer to this call fills: (seat, reading)."""
        return self.seat, self.reading


@dataclass(frozen=True, slots=True)
class Record:
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    reason: str


@dataclass(frozen=True, slots=True)
class Over:
    ended: Ended


Step = Record | Ask | Wait | Over


def decide(debate: Debate, terminate_when: TerminateWhen | None = None) -> Step:
    """The next step. Raises only what `terminate_when` raises."""
    if debate.ended:
        return Over(debate.ended)
    if debate.paused:
        return Wait(debate.paused.reason)
    if reason := lacks_quorum(debate):
        return Record((Paused(reason=reason),))
    if calls := pending(debate):
        return Ask(calls)
    return Record(advance(debate, terminate_when))


def pending(debate: Debate) -> tuple[Call, ...]:
    """The questions to put now: those whose answers are missing and whose turn it is."""
    phase = debate.phase
    if phase is None or (debate.concluding and phase.asks == "debaters"):
        return ()
    calls = wanted(debate)
    return calls if phase.order == "together" else calls[:1]


def wanted(debate: Debate) -> tuple[Call, ...]:
    """The questions of this round whose answers would still be taken, should they have been put."""
    return tuple(call(debate, seat, reading) for seat, reading in open_seats(debate))


def call(debate: Debate, seat: str, reading: int) -> Call:
    attempt = len(failures_of(debate, seat, reading)) + 1
    here = (seat, reading, debate.round)
    # Failures that were forgiven count too: a seat that is asked again after a pause draws anew.
    tries = sum((f.seat, f.reading, f.round) == here for f in debate.failures) + 1
    key = f"{debate.round}.{seat}.{reading}.{tries}"
    seed = int.from_bytes(sha256(f"{debate.setup.seed}:{key}".encode()).digest()[:4]) >> 1
    return Call(key, seat, debate.round, reading, model_of(debate.setup, seat), attempt, seed)


def model_of(setup: Opened, seat: str) -> str:
    models = {debater.name: debater.model for debater in setup.debaters}
    models |= dict(zip(judges(setup), setup.judges.models, strict=True))
    return models[seat]


def round_is_over(debate: Debate) -> bool:
    """Whether this round has all the answers it will get; the judges' round ends with the debate."""
    phase = debate.phase
    if debate.ended or phase is None:
        return debate.ended is not None
    waits = debate.paused or lacks_quorum(debate) or pending(debate)
    return phase.asks == "debaters" and not waits


def lacks_quorum(debate: Debate) -> str:
    """Why this round cannot be completed, or "".

    A debate needs two voices, and one judge; a talk that is being concluded needs no more of either.
    """
    phase = debate.phase
    if phase is None or (debate.concluding and phase.asks == "debaters"):
        return ""
    needed = debate.setup.quorum if phase.asks == "debaters" else 1
    possible = len(debate.heard) + len(open_seats(debate))
    if possible >= needed:
        return ""
    causes = list(dict.fromkeys(f"{failure.seat}: {failure.detail}" for failure in debate.missed))
    told = "; ".join(causes[:MOST_CAUSES])
    if len(causes) > MOST_CAUSES:
        told += f"; and {len(causes) - MOST_CAUSES} more"
    return (
        f"{len(debate.heard)} of {len(seats(debate))} answered in round {debate.round} ({phase.name}), "
        f"{needed} needed. {told}"
    )


def advance(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[Event, ...]:
    """What follows a finished round: the next one, or the end."""
    phase = debate.phase
    if phase is not None and phase.asks == "judges":
        verdict = () if debate.verdict else (conclude(debate),)
        return *verdict, Ended(ending="concluded", reason=debate.rounds[-1].because)
    reason = talk_ended(debate, terminate_when) if phase else ""
    following = judging_phase(debate.setup) if reason else next_phase(debate)
    number = debate.round + 1
    order = reading_order(debate.setup, following, number)
    return (PhaseEntered(phase=following.name, round=number, order=order, because=reason),)


def talk_ended(debate: Debate, terminate_when: TerminateWhen | None) -> str:
    """Why there are no more rounds of talk, or ""."""
    if debate.concluding:
        return "concluded on request"
    if debate.talk_rounds >= debate.setup.max_rounds:
        return "max_rounds"
    if terminate_when and terminate_when(debate):
        return "terminate_when"
    return ""


def next_phase(debate: Debate) -> Phase:
    phases = debate.setup.phases
    if debate.phase is None:
        return phases[0]
    here = phases.index(debate.phase)
    later = [phase for phase in phases[here + 1 :] if phase.asks == "debaters"]
    if debate.phase.repeats and debate.talk_rounds + len(later) < debate.setup.max_rounds:
        return debate.phase
    return phases[here + 1]


def judging_phase(setup: Opened) -> Phase:
    return next(phase for phase in setup.phases if phase.asks == "judges")


def reading_order(setup: Opened, phase: Phase, number: int) -> tuple[str, ...]:
    """The order in which a round is read: as declared, or drawn from the debate's seed.

    Drawn by hash and not by a generator, so that every release and every Python draws the same.
    """
    names = judges(setup) if phase.asks == "judges" else tuple(d.name for d in setup.debaters)
    if phase.asks == "judges" or not setup.judges.shuffle:
        return names
    return tuple(sorted(names, key=lambda name: sha256(f"{setup.seed}:{number}:{name}".encode()).digest()))
