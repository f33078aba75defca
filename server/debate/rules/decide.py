"""What happens next. `decide` looks only at the debate and answers one of four things.

    Record(events)   nothing to ask anyone: these facts follow
    Ask(calls)       put these questions, in any order; each answer is a fact of its own
    Wait(reason)     nothing will happen until somebody intervenes, or writes the turn awaited
    Over(ended)      nothing will ever happen again

The rounds of a debate, in the terms of its format's phases:

    (opened) -> phase 1 -> phase 2 -> ... -> what decides: ballots, judges, the moderator -> Concluded, Ended

A phase that repeats takes every round of talk that is left, less one for each phase of talk that
follows it. The talk ends early when a caller concludes it, the moderator says so, or `terminate_when`
does; what decides then goes by what is there. A round that too few voices can complete pauses the
debate, and resuming it asks the missing seats again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from server.debate.facts.config import CALLER, SYNTHESIZER, Phase
from server.debate.facts.events import (
    Ended,
    Event,
    Failed,
    HandedOff,
    Intervened,
    Opened,
    Paused,
    PhaseEntered,
    RoundOpened,
    Task,
)
from server.debate.facts.state import Debate, judges
from server.debate.rules.budget import (
    AT_ONCE,
    NO_DEADLINE,
    NO_TIME_LEFT,
    UNBOUNDED,
    Deadline,
    Elapsed,
    deadline,
    room,
    time_left,
)
from server.debate.rules.quorum import lacks_quorum, quorum
from server.debate.rules.schedule import (
    Place,
    agenda,
    failures_of,
    is_open,
    last_word,
    model_of,
    open_places,
)
from server.debate.rules.verdict import conclude

TerminateWhen = Callable[[Debate], bool]
"""A pure, total predicate, asked after each round of talk: has enough been said?"""


@dataclass(frozen=True, slots=True)
class Call:
    """A question for one seat's model. Compared by key alone: prompts are rendered when it is put."""

    key: str
    seat: str
    round: int
    number: int
    task: Task
    model: str
    attempt: int  # 2 when the first reply was bad
    seed: int  # drawn from the debate's: the same call is always made with the same one
    to: str = ""  # whose message is to be answered

    @property
    def answers(self) -> tuple[str, int]:
        """The open place that an answer to this call fills: (seat, number)."""
        return self.seat, self.number

    @property
    def reading(self) -> int:
        """A judge's first or second; 0 for everybody else."""
        return self.number if self.task == "judgment" else 0


@dataclass(frozen=True, slots=True)
class Record:
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    calls: tuple[Call, ...]
    at_most: int = UNBOUNDED  # how many may be on their way together: what the budget leaves room for
    deadline: Deadline = NO_DEADLINE


@dataclass(frozen=True, slots=True)
class Wait:
    reason: str


@dataclass(frozen=True, slots=True)
class Over:
    ended: Ended


Step = Record | Ask | Wait | Over


def decide(debate: Debate, terminate_when: TerminateWhen | None = None, elapsed: Elapsed = AT_ONCE) -> Step:
    """The next step. Raises only what `terminate_when` raises."""
    if debate.ended:
        return Over(debate.ended)
    if debate.paused:
        return Wait(debate.paused.reason)
    if reason := lacks_quorum(debate):
        return Record(out_of_quorum(debate, reason, elapsed))
    calls = pending(debate)
    if asked := tuple(call for call in calls if call.model != CALLER):
        return ask(debate, asked, elapsed)
    if calls:
        return Wait(awaited(calls))
    return Record(everybody_speaks(debate) or advance(debate, terminate_when))


def out_of_quorum(debate: Debate, reason: str, elapsed: Elapsed) -> tuple[Event, ...]:
    """What follows where too few answered: a pause, or the end where no budget is left to ask again."""
    left, late = room(debate, elapsed), time_left(debate, elapsed)
    if not late.calls:
        return out_of_budget(debate, late.reason)
    phase = debate.phase
    something = debate.turns if phase is None or phase.is_talk else debate.heard
    if something and not left.calls and debate.limits.on_budget == "conclude":
        return out_of_budget(debate, left.reason)
    return (Paused(reason=reason),)


def ask(debate: Debate, calls: tuple[Call, ...], elapsed: Elapsed) -> Step:
    """To put these questions, as far as there is room and time for them."""
    left, until = room(debate, elapsed), deadline(debate, elapsed)
    if not left.calls:
        return Record(out_of_budget(debate, left.reason))
    return Ask(calls, left.calls, until) if until.seconds > NO_TIME_LEFT else Record(too_late(calls, until))


def out_of_budget(debate: Debate, reason: str) -> tuple[Event, ...]:
    """What follows where there is no room for another question: it is decided, or the debate pauses."""
    phase = debate.phase
    talking = phase is not None and phase.is_talk and not debate.concluding
    if debate.limits.on_budget == "pause":
        told = "Extend the limits, or conclude." if talking and debate.turns else "Extend the limits."
        return (Paused(reason=f"{reason}. {told}"),)
    if talking and debate.turns:
        return (Intervened(action="conclude", round=debate.round, reason=reason),)
    if debate.verdict:
        return (Ended(ending="concluded", reason=reason),)  # without the result that was to be made of it
    if phase is not None and not phase.is_talk:
        counted, needed = quorum(debate, phase)
        if not needed or any(place.key in debate.heard for place in counted):
            return advance(debate, None)  # on the findings, or the ballots, that there are
    if debate.turns:  # what was paid for is not thrown away: whoever comes back can extend the limits
        return (Paused(reason=f"{reason}. Extend the limits."),)
    return (Ended(ending="truncated", reason=reason),)


def runs_by_itself(debate: Debate) -> bool:
    """Whether it goes on to its end without being stepped: agreed so, or somebody has asked for the end."""
    return debate.setup.run or debate.concluding


def too_late(calls: tuple[Call, ...], until: Deadline) -> tuple[Event, ...]:
    """That these were not asked, because the time of their round was over."""
    detail = f"not asked: the {until.of} were over"
    return tuple(
        Failed(
            seat=call.seat,
            round=call.round,
            reading=call.number,
            cause="late",
            detail=detail,
            attempts=0,
            model=call.model,
        )
        for call in calls
    )


def status(debate: Debate) -> str:
    """One of running, waiting (for the caller's turn), paused, concluded, truncated."""
    if debate.ended:
        return debate.ended.ending
    if debate.paused:
        return "paused"
    calls = () if lacks_quorum(debate) else pending(debate)
    return "waiting" if calls and all(call.model == CALLER for call in calls) else "running"


def awaited(calls: tuple[Call, ...]) -> str:
    names = ", ".join(dict.fromkeys(call.seat for call in calls))
    return f"The caller is to write for {names}: call submit_turn."


def pending(debate: Debate) -> tuple[Call, ...]:
    """The questions to put now: those whose answers are missing and whose turn it is."""
    phase = debate.phase
    wanted_now = open_places(debate)
    if debate.concluding and phase and phase.is_talk:
        wanted_now = last_word(debate)
    return tuple(call(debate, place) for place in wanted_now)


def wanted(debate: Debate) -> tuple[Call, ...]:
    """The questions whose answers would be taken now, should they have been put."""
    found = dict.fromkeys((*open_places(debate), *last_word(debate)))
    return tuple(call(debate, place) for place in found)


def call(debate: Debate, place: Place) -> Call:
    model = model_of(debate, place.seat)
    attempt = 1 + sum(f.model in ("", model) for f in failures_of(debate, place.key))
    here = (place.seat, place.number, debate.round)
    # Failures that were forgiven count too: a seat that is asked again after a pause draws anew.
    tries = sum((f.seat, f.reading, f.round) == here for f in debate.failures if not f.handoff) + 1
    key = f"{debate.round}.{place.seat}.{place.number}.{tries}"
    if found := sum((r.seat, r.reading, r.round) == here for r in debate.research):
        key += f"+{found}"
    seed = int.from_bytes(sha256(f"{debate.setup.seed}:{key}".encode()).digest()[:4]) >> 1
    return Call(
        key,
        place.seat,
        debate.round,
        place.number,
        place.task,
        model,
        attempt,
        seed,
        place.to,
    )


def round_is_over(debate: Debate) -> bool:
    """Whether this round has all the answers it will get. The last round is over with the debate."""
    phase = debate.phase
    if debate.ended or phase is None:
        return debate.ended is not None
    if debate.paused or lacks_quorum(debate) or pending(debate) or everybody_speaks(debate):
        return False
    return phase.asks == "debaters" and next_phase(debate, talk_over_because(debate)) is not None


def everybody_speaks(debate: Debate) -> tuple[Event, ...]:
    """What stands in for the choice of a moderator who could make none."""
    groups = agenda(debate)
    if not groups or groups[0][0].task != "opening" or debate.opening_of(debate.round):
        return ()
    if debate.concluding or is_open(debate, groups[0][0]):
        return ()
    because = "the moderator gave no usable answer, so everybody speaks as declared"
    return (RoundOpened(round=debate.round, next_speakers=debate.names, because=because),)


def advance(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[Event, ...]:
    """What follows a finished round: the next one, or the end."""
    phase = debate.phase
    if phase is None:
        return (enter(debate, debate.setup.phases[0], ""),)
    reason = talk_over_because(debate, terminate_when)
    following = next_phase(debate, reason)
    verdict: tuple[Event, ...] = ()
    if debate.verdict is None and (following is None or following.asks == "synthesizer"):
        verdict = conclude(debate)
    if following is None:
        return *verdict, Ended(ending="concluded", reason=reason)
    handed = handed_over(debate) if following.order == "handoff" else ()
    return *verdict, *handed, enter(debate, following, reason, handed)


def talk_over_because(debate: Debate, terminate_when: TerminateWhen | None = None) -> str:
    """Why nobody will argue after this round, or ""."""
    phase = debate.phase
    assert phase is not None
    reason = debate.rounds[-1].because or (concluded_because(debate) if debate.concluding else "")
    if phase.is_talk and not reason:
        reason = talk_ended(debate, terminate_when)
    if reason:
        return reason
    here = debate.setup.phases.index(phase)
    more = any(later.is_talk for later in debate.setup.phases[here + 1 :])
    return "" if more or next_phase(debate, "") is phase else "every phase was held"


def enter(debate: Debate, phase: Phase, because: str, handed: tuple[Event, ...] = ()) -> PhaseEntered:
    number = debate.round + 1
    order = reading_order(debate.setup, phase, number)
    if phase.order == "handoff":
        choices = [fact for fact in (*debate.handoffs, *handed) if isinstance(fact, HandedOff)]
        chosen = [fact.to for fact in choices if fact.round == debate.round]
        order = (*chosen, *debate.names)[:1]
    return PhaseEntered(phase=phase.name, round=number, order=order, because=because)


def handed_over(debate: Debate) -> tuple[Event, ...]:
    """The choice of the next speaker: as the last one made it, or drawn from the debate's seed."""
    number = debate.round
    if debate.phase_of(number).order != "handoff" or any(done.round == number for done in debate.handoffs):
        return ()
    (turn,) = debate.turns_of(number)
    if turn.hands_to:
        return (HandedOff(seat=turn.seat, round=number, to=turn.hands_to, because="chosen"),)
    others = [name for name in debate.names if name != turn.seat]
    drawn = min(others, key=lambda name: draw(debate.setup, f"handoff:{number}:{name}"))
    problem = f"{turn.no_handoff or 'it named nobody to speak next'}; {drawn} was drawn"
    missed = Failed(seat=turn.seat, round=number, cause="unreadable", detail=problem, handoff=True)
    told = any(failure.handoff and failure.round == number for failure in debate.failures)
    handed = HandedOff(seat=turn.seat, round=number, to=drawn, because="drawn")
    return (handed,) if told else (missed, handed)


def talk_ended(debate: Debate, terminate_when: TerminateWhen | None) -> str:
    """Why there are no more rounds of talk, or ""; looked for in this order."""
    opening, closing = debate.opening_of(debate.round), next(reversed(debate.closings), None)
    reasons = {
        "settled": closing is not None and closing.settled,
        "max_turns": 0 < debate.max_turns <= len(debate.turns),
        "max_rounds": debate.talk_rounds >= debate.max_rounds,
        "moderator done": opening is not None and opening.done,
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), ""):
        return reason
    return "terminate_when" if terminate_when and terminate_when(debate) else ""


def concluded_because(debate: Debate) -> str:
    """By request, or by a budget, which says so itself."""
    reasons = [made.reason for made in debate.steering if made.action == "conclude"]
    return reasons[-1] if reasons and reasons[-1].startswith("budget: ") else "concluded on request"


def next_phase(debate: Debate, talk_is_over_because: str) -> Phase | None:
    """The phase of the next round; None where there is none."""
    phases, phase = debate.setup.phases, debate.phase
    assert phase is not None
    later = phases[phases.index(phase) + 1 :]
    if talk_is_over_because:
        return next((phase for phase in later if not phase.is_talk), None)
    talking = sum(phase.is_talk for phase in later)
    if phase.repeats and debate.talk_rounds + talking < debate.max_rounds:
        return phase
    return next(iter(later), None)


def reading_order(setup: Opened, phase: Phase, number: int) -> tuple[str, ...]:
    """The order in which a round is read: as declared, or drawn from the debate's seed.

    Drawn by hash and not by a generator, so that every release and every Python draws the same.
    """
    if phase.asks == "judges":
        return judges(setup)
    if phase.asks == "synthesizer":
        return (SYNTHESIZER,)
    names = tuple(debater.name for debater in setup.debaters)
    if not setup.judges.shuffle:
        return names
    return tuple(sorted(names, key=lambda name: draw(setup, f"{number}:{name}")))


def draw(setup: Opened, what: str) -> bytes:
    return sha256(f"{setup.seed}:{what}".encode()).digest()
