"""Breakpoints (`options.pause_when`): what pauses a debate before it goes on, so that somebody can read and steer it.

They are checked against the step that would come next, and hold it back. None holds twice for the same thing: going on
past it, by resuming or concluding, is part of the state (`Debate.passed_breakpoints`).

    verdict    the verdict comes next: the judges or the last vote are asked, or it follows without a call
    contested  the votes are there, and the verdict that would be recorded is contested; or a block's vote is
    failure    a seat was given up in this round
    unheard    a debater was never heard, and a round or the verdict comes next
    round:N    round N comes next
    budget:S   the calls that come next would take more than this share of a limit
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from server.debate.facts.config import Breakpoint, BreakpointCondition, Phase
from server.debate.facts.events import Concluded, Ended, Event, Opened, Paused, PhaseEntered
from server.debate.facts.interventions import LimitsChanged
from server.debate.facts.state import Debate, find_phase, replace
from server.debate.rules.advance import count_last_vote
from server.debate.rules.budget import ElapsedTime, find_share_excess
from server.debate.rules.quorum import join_causes
from server.debate.rules.schedule import is_exhausted, last_ballot_phase, seat_models, verdict_source

MAX_HOLD_LENGTH = 900  # characters of why one breakpoint holds: several may hold at once


@dataclass(frozen=True, slots=True)
class NextStep:
    """What a debate would do next: record events, or make calls."""

    events: tuple[Event, ...]
    calls: int
    elapsed: ElapsedTime


class Hold(NamedTuple):
    """Why a point holds, and for which seats."""

    reason: str
    seats: tuple[str, ...] = ()


def find_breakpoint_pause(debate: Debate, step: NextStep) -> Paused | None:
    """The pause in place of the next step; None where no point holds."""
    held = []
    for point in debate.setup.pause_when:
        is_passed = (point, find_occasion(debate, point)) in debate.passed_breakpoints
        hold = None if is_passed else CONDITIONS[point.condition](debate, point, step)
        held += [(point, hold)] if hold else []
    if not held:
        return None
    names = ", ".join(str(point) for point, _ in held)
    reasons = "; ".join(hold.reason[:MAX_HOLD_LENGTH].rstrip(".") for _, hold in held)
    return Paused(
        cause="pause_when",
        breakpoints=tuple(point for point, _ in held),
        seats=tuple(dict.fromkeys(seat for _, hold in held for seat in hold.seats)),
        reason=f"pause_when {names}: {reasons}. Read it, steer it if need be, and resume it to go on.",
    )


def find_occasion(debate: Debate, point: Breakpoint, seat: str = "") -> str:
    """What a point holds for now, if it holds. `seat`: the one that failed."""
    match point.condition:
        case "verdict" | "contested" | "failure":
            return f"{debate.round} {seat}"
        case "budget":
            return str(len(debate.find_interventions(LimitsChanged)))
        case _:
            return ""


def find_pause_problem(debate: Debate, paused: Paused) -> str:
    """Why a pause is not possible now, or ""."""
    if debate.paused:
        return "it is paused already"
    if not set(paused.seats) <= seat_models(debate.setup).keys():
        return "nobody here is called so"
    has_breakpoints = paused.cause == "pause_when"
    return "" if bool(paused.breakpoints) == has_breakpoints else "its breakpoints are not its cause"


def pause(debate: Debate, paused: Paused) -> Debate:
    return replace(debate, paused=paused, unheard=debate.unheard.union(paused.seats))


def go_on(debate: Debate) -> Debate:
    """The debate without its pause, past the breakpoints that caused it."""
    passed = set(debate.passed_breakpoints)
    for point in debate.paused.breakpoints if debate.paused else ():
        seats = debate.paused.seats if debate.paused and point.condition == "failure" else ("",)
        passed |= {(point, find_occasion(debate, point, seat)) for seat in seats}
    return replace(debate, paused=None, passed_breakpoints=frozenset(passed))


def is_before_verdict(debate: Debate, events: tuple[Event, ...]) -> bool:
    """Whether these events begin the round that makes the verdict or the result, or are it."""
    phase = debate.phase
    if phase is None or phase.is_baseline or makes_verdict(debate.setup, phase):
        return False
    following = next((event for event in events if isinstance(event, PhaseEntered)), None)
    if following:
        return makes_verdict(debate.setup, find_phase(debate.setup, following.phase))
    return any(isinstance(event, Concluded | Ended) for event in events)


def makes_verdict(setup: Opened, phase: Phase) -> bool:
    if phase.is_private:
        return False
    if phase.wants == "ballot":
        return verdict_source(setup) in ("ballots", "swing") and phase == last_ballot_phase(setup)
    return not phase.is_talk


def check_verdict(debate: Debate, _: Breakpoint, step: NextStep) -> Hold | None:
    if not is_before_verdict(debate, step.events):
        return None
    return Hold(f"the verdict comes next, after round {debate.round}")


def check_contested(debate: Debate, _: Breakpoint, step: NextStep) -> Hold | None:
    if any(isinstance(event, Concluded) and event.outcome == "contested" for event in step.events):
        return Hold("the votes came out contested, and would be recorded so")
    block = debate.phase.block if debate.phase else None
    goes_on = any(isinstance(event, PhaseEntered) for event in step.events)
    if block and block.until == "consensus" and goes_on and count_last_vote(debate).outcome == "contested":
        return Hold(f"the vote of round {debate.round} came out contested")
    return None


def check_failure(debate: Debate, point: Breakpoint, _: NextStep) -> Hold | None:
    lost = {
        failure.seat: failure.detail
        for failure in debate.round_failures
        if is_exhausted(debate, (failure.seat, failure.slot_index))
        and (point, find_occasion(debate, point, failure.seat)) not in debate.passed_breakpoints
    }
    if not lost:
        return None
    return Hold(f"no answer of {join_causes(lost.items())}", tuple(lost))


def check_unheard(debate: Debate, _: Breakpoint, step: NextStep) -> Hold | None:
    for event in step.events:
        if isinstance(event, Paused) and event.cause == "unheard":
            return Hold(event.reason, event.seats)
    heard = {turn.seat for turn in debate.turns} | debate.unheard
    silent = tuple(name for name in debate.names if name not in heard)
    if not silent or not is_before_verdict(debate, step.events):
        return None
    return Hold(f"the verdict comes next, and nobody heard {', '.join(silent)}", silent)


def check_round(_: Debate, point: Breakpoint, step: NextStep) -> Hold | None:
    for event in step.events:
        if isinstance(event, PhaseEntered) and event.round == point.round:
            return Hold(f"round {event.round} ({event.phase}) comes next")
    return None


def check_budget(debate: Debate, point: Breakpoint, step: NextStep) -> Hold | None:
    excess = find_share_excess(debate, Decimal(point.share), step.calls, step.elapsed) if step.calls else ""
    return Hold(excess) if excess else None


CONDITIONS: dict[BreakpointCondition, Callable[[Debate, Breakpoint, NextStep], Hold | None]] = {
    "verdict": check_verdict,
    "contested": check_contested,
    "failure": check_failure,
    "unheard": check_unheard,
    "round": check_round,
    "budget": check_budget,
}
