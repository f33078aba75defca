"""What pauses a debate: too few seats that answer, a debater who was never heard, and breakpoints.

Breakpoints (`options.pause_when`) hold a debate before it goes on, so that somebody can read and steer it.
They are checked against the step that would come next, and hold it back. None holds twice for the same thing: going on
past it, by resuming or concluding, is part of the state (`Debate.passed_breakpoints`).

    verdict    the verdict comes next: the judges or the last vote are asked, or it follows without a call
    contested  the votes are there, and the verdict that would be recorded is contested; or a block's vote is
    failure    a seat was given up in this round
    unheard    a debater was never heard, and a round or the verdict comes next; or the verdict would be recorded, and
               those who decide say that one did not argue for its position
    round:N    round N comes next
    budget:S   the calls that come next would take more than this share of a limit
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, assert_never

from server.debate.ballots.waves import is_private_ballot
from server.debate.facts.answers import DefaultPlanUsed
from server.debate.facts.causes import PROVIDER_CAUSES
from server.debate.facts.events import Concluded, Ended, Event, Failed, Paused, PhaseEntered, Task
from server.debate.facts.interventions import LimitsChanged
from server.debate.facts.setup.limits import Breakpoint, BreakpointCondition
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import SYNTHESIZER
from server.debate.facts.text import join_names
from server.debate.rules.budget import ElapsedTime, find_share_excess
from server.debate.rules.schedule import (
    CLOSING_SLOT,
    FRAMING_SLOT,
    REPAIRABLE_CAUSES,
    Slot,
    build_slot_groups,
    is_exhausted,
    is_open,
    round_slots,
    slot_failures,
)
from server.debate.state.debate import Debate, find_phase, replace
from server.debate.state.memo import once
from server.debate.state.seats import seat_models, show_detail
from server.debate.votes.panel import count_last_vote
from server.debate.votes.readings import describe_unargued, list_unargued
from server.debate.votes.voters import last_ballot_phase, verdict_source

MAX_LISTED_CAUSES = 3
"""Failures that the reason of a pause lists; the transcript has all."""

QUORUM_TASKS: frozenset[Task] = frozenset({"argument", "message"})


@once
def find_quorum_shortfall(debate: Debate) -> str:
    """Why this round cannot be completed, or "".

    A round of talk needs `quorum` speakers, a judgment `judges.quorum` judges. A concluded talk needs no more
    speakers.
    """
    phase = debate.phase
    if not debate.round_failures:
        return ""
    if phase is None:
        return find_unread_reason(debate) or find_unframed_reason(debate)
    slots, quorum = compute_quorum(debate, phase)
    slots_by_seat: dict[str, list[Slot]] = {}
    for slot in slots:
        slots_by_seat.setdefault(slot.seat, []).append(slot)
    # A debater counts once, however often it speaks; a judge counts with all its readings.
    complete = all if phase.is_judgment else any
    answer_count, possible_count = 0, 0
    for seat_slots in slots_by_seat.values():
        is_possible = complete(
            slot.key in debate.answered_slots or is_open(debate, slot) for slot in seat_slots
        )
        possible_count += is_possible
        answer_count += is_possible and any(slot.key in debate.answered_slots for slot in seat_slots)
    if possible_count >= quorum:
        return ""
    failures = unify_details(debate, debate.round_failures)
    causes = join_causes((failure.seat, detail) for failure, detail in failures)
    counts = f"{answer_count} of {len(slots_by_seat)} answered"
    return f"{counts} in round {debate.round} ({phase.name}), {quorum} needed. {causes}"


def find_unread_reason(debate: Debate) -> str:
    """Why the talk does not begin: no section of the documents could be read."""
    slots = [slot for slot in round_slots(debate) if slot.task == "digest"]
    if debate.digests or not slots or not all(is_exhausted(debate, slot.key) for slot in slots):
        return ""
    causes = join_causes((failure.seat, failure.detail) for failure in debate.round_failures)
    return f"no section of the documents was read. {causes} Give the reader another model with replace_model and resume"


def find_unframed_reason(debate: Debate) -> str:
    """Why the talk does not begin: nobody says what it is about."""
    if not (debate.setup.needs_framing and is_exhausted(debate, FRAMING_SLOT.key)):
        return ""
    detail = slot_failures(debate, FRAMING_SLOT.key)[-1].detail.rstrip(". ")
    return (
        f"the positions of this question could not be named ({detail}). Name them: start another debate with debaters="
        '[{name, stance}, …] (--debater "NAME: STANCE"), one for each answer to it. Or resume, and a model is asked '
        "again. options.framing=false (--no-framing) debates it as for and against"
    )


def unify_details(debate: Debate, failures: Iterable[Failed]) -> Iterator[tuple[Failed, str]]:
    """Failures, each with its reason. Failures of a provider, by model and cause, all get the words of the first."""
    first_details: dict[tuple[str, str], str] = {}
    for failure in failures:
        detail = show_detail(debate.setup, failure)
        if failure.cause in PROVIDER_CAUSES:
            detail = first_details.setdefault((failure.model, failure.cause), detail)
        yield failure, detail


def join_causes(causes: Iterable[tuple[str, str]]) -> str:
    """The first causes, each once with its seats, and how many more there are."""
    seats: dict[str, list[str]] = {}
    for seat, detail in dict.fromkeys(causes):
        seats.setdefault(detail, []).append(seat)
    lines = [f"{join_names(names)}: {detail}" for detail, names in seats.items()]
    more_count = len(lines) - MAX_LISTED_CAUSES
    text = "; ".join(lines[:MAX_LISTED_CAUSES]).replace(".; ", "; ")
    return f"{text}; and {more_count} more" if more_count > 0 else text


def find_unheard(debate: Debate) -> tuple[str, ...]:
    """The debaters who failed whenever they were to speak, without those for whom the debate has paused already.

    A talk that is being concluded goes by what was said.
    """
    if debate.is_concluding or not debate.failures:
        return ()
    talk_failures = [
        failure
        for failure in debate.failures
        if failure.seat in debate.names and not is_private_ballot(failure.slot_index)
    ]
    failed_names = {failure.seat for failure in talk_failures if debate.round_phase(failure.round).is_talk}
    heard_names = {turn.seat for turn in debate.turns} | debate.unheard
    return tuple(name for name in debate.names if name in failed_names - heard_names)


def compute_quorum(debate: Debate, phase: Phase) -> tuple[tuple[Slot, ...], int]:  # noqa: PLR0911  (a table)
    """(the slots that count, how many of their seats must answer)."""
    slots = tuple(slot for slot in round_slots(debate) if not is_private_ballot(slot.index))
    if phase.is_advice:
        quorum = debate.setup.quorum if phase.wants == "advice" and not debate.is_concluding else 0
        return slots, min(quorum, len(slots))
    if phase.is_judgment:
        slots = tuple(slot for slot in slots if slot.task == "judgment")
        return slots, min(debate.setup.judges.quorum, len({slot.seat for slot in slots}))
    if phase.participants == "synthesizer":
        failures = slot_failures(debate, (SYNTHESIZER, 0))
        has_only_bad_replies = bool(failures) and all(f.cause in REPAIRABLE_CAUSES for f in failures)
        return slots, 0 if has_only_bad_replies else 1
    decides = verdict_source(debate.setup)
    if phase.wants == "ballot":
        # Private ballots decide nothing: the debate goes on without them.
        is_counted = debate.setup.counting or (
            decides == "ballots" and phase == last_ballot_phase(debate.setup)
        )
        is_counted = is_counted and not phase.is_baseline
        quorum_of_ballots = (
            min(debate.setup.judges.quorum, len(slots)) if phase.participants == "judges" else 1
        )
        return slots, quorum_of_ballots if is_counted else 0
    if decides == "moderator" and is_exhausted(debate, CLOSING_SLOT.key):
        return (CLOSING_SLOT,), 1
    if debate.is_concluding:
        return (), 0
    turns = tuple(slot for slot in slots if slot.task in QUORUM_TASKS)
    return turns, min(debate.setup.quorum, len({slot.seat for slot in turns}))


def build_unheard_pause(debate: Debate, seats: tuple[str, ...]) -> Paused:
    details = {failure.seat: detail for failure, detail in unify_details(debate, debate.failures)}
    causes = join_causes((seat, details[seat]) for seat in seats).rstrip(".")
    return Paused(
        cause="unheard",
        seats=seats,
        reason=f"never heard: {causes}. Give the seat another model with replace_model and resume. Or resume alone: it "
        "is asked once more, and the debate goes on without it if that fails.",
    )


@once
def build_fallback_round_plan(debate: Debate) -> tuple[Event, ...]:
    """The plan of a round whose moderator failed: everybody speaks as declared."""
    groups = build_slot_groups(debate)
    if not groups or groups[0][0].task != "opening" or debate.round_plan(debate.round):
        return ()
    if debate.is_concluding or is_open(debate, groups[0][0]):
        return ()
    reason = "the moderator gave no usable answer, so everybody speaks as declared"
    return (DefaultPlanUsed(round=debate.round, next_speakers=debate.names, reason=reason),)


MAX_HOLD_LENGTH, MAX_HOLDS_LENGTH = 900, 1_900
"""Characters of why one breakpoint holds, and all at once: a record allows 2,500 for the reason of a pause."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """What a debate would do next: record events, or make calls."""

    events: tuple[Event, ...]
    calls: int
    elapsed: ElapsedTime

    @property
    def entry(self) -> PhaseEntered | None:
        """The round that it begins."""
        return next((event for event in self.events if isinstance(event, PhaseEntered)), None)


class Hold(NamedTuple):
    """Why a point holds, and for which seats."""

    reason: str
    seats: tuple[str, ...] = ()


def find_breakpoint_pause(debate: Debate, step: NextStep) -> Paused | None:
    """The pause in place of the next step; None where no point holds."""
    holds = []
    for point in debate.setup.pause_when:
        is_passed = (point, find_occasion(debate, point)) in debate.passed_breakpoints
        hold = None if is_passed else CONDITIONS[point.condition](debate, point, step)
        holds += [(point, hold)] if hold else []
    if not holds:
        return None
    names = ", ".join(str(point) for point, _ in holds)
    text = "; ".join(hold.reason[:MAX_HOLD_LENGTH].rstrip(".") for _, hold in holds)
    reasons = text[:MAX_HOLDS_LENGTH].rstrip(".")
    return Paused(
        cause="pause_when",
        breakpoints=tuple(point for point, _ in holds),
        seats=tuple(dict.fromkeys(seat for _, hold in holds for seat in hold.seats)),
        reason=f"pause_when {names}: {reasons}. Read it, steer it if need be, and resume it to go on.",
    )


def find_occasion(debate: Debate, point: Breakpoint, seat: str = "") -> str:
    """What a point holds for now, if it holds. `seat`: the one that failed."""
    match point.condition:
        case "verdict" | "contested" | "failure":
            return f"{debate.round} {seat}"
        case "budget":
            return str(len(debate.find_interventions(LimitsChanged)))
        case "unheard" | "round":
            return ""
        case _:
            assert_never(point.condition)


def find_pause_problem(debate: Debate, event: Paused) -> str:
    """Why a pause is not possible now, or ""."""
    if debate.paused:
        return "it is paused already"
    if not set(event.seats) <= seat_models(debate.setup).keys():
        return "nobody here is called so"
    has_breakpoints = event.cause == "pause_when"
    return "" if bool(event.breakpoints) == has_breakpoints else "its breakpoints are not its cause"


def pause(debate: Debate, event: Paused) -> Debate:
    return replace(debate, paused=event, unheard=debate.unheard.union(event.seats))


def go_on(debate: Debate) -> Debate:
    """The debate without its pause, past the breakpoints that caused it."""
    points = set(debate.passed_breakpoints)
    for point in debate.paused.breakpoints if debate.paused else ():
        seats = debate.paused.seats if debate.paused and point.condition == "failure" else ("",)
        points |= {(point, find_occasion(debate, point, seat)) for seat in seats}
    return replace(debate, paused=None, passed_breakpoints=frozenset(points))


def is_before_verdict(debate: Debate, step: NextStep) -> bool:
    """Whether a step begins the round that makes the verdict or the result, or is it."""
    phase = debate.phase
    if phase is None or phase.is_baseline or makes_verdict(debate.setup, phase):
        return False
    if step.entry:
        return makes_verdict(debate.setup, find_phase(debate.setup, step.entry.phase))
    return any(isinstance(event, Concluded | Ended) for event in step.events)


def makes_verdict(setup: Opened, phase: Phase) -> bool:
    if phase.is_private:
        return False
    if phase.is_advice:
        return phase.wants == "report"
    if phase.wants == "ballot":
        return verdict_source(setup) in ("ballots", "swing") and phase == last_ballot_phase(setup)
    return not phase.is_talk


def check_verdict(debate: Debate, _: Breakpoint, step: NextStep) -> Hold | None:
    if not is_before_verdict(debate, step):
        return None
    return Hold(f"the verdict comes next, after round {debate.round}")


def check_contested(debate: Debate, _: Breakpoint, step: NextStep) -> Hold | None:
    if any(isinstance(event, Concluded) and event.outcome == "contested" for event in step.events):
        return Hold("the votes came out contested, and would be recorded so")
    if step.entry and find_phase(debate.setup, step.entry.phase).wants == "exchange":
        return Hold("those who reviewed advise differently, and would argue about it next")
    block = debate.phase.block if debate.phase else None
    if block and block.until == "consensus" and step.entry and count_last_vote(debate).outcome == "contested":
        return Hold(f"the vote of round {debate.round} came out contested")
    return None


def check_failure(debate: Debate, point: Breakpoint, _: NextStep) -> Hold | None:
    details = {
        failure.seat: show_detail(debate.setup, failure)
        for failure in debate.round_failures
        if is_exhausted(debate, (failure.seat, failure.slot_index))
        and (point, find_occasion(debate, point, failure.seat)) not in debate.passed_breakpoints
    }
    if not details:
        return None
    return Hold(f"no answer of {join_causes(details.items())}", tuple(details))


def check_unheard(debate: Debate, _: Breakpoint, step: NextStep) -> Hold | None:
    for event in step.events:
        if isinstance(event, Paused) and event.cause == "unheard":
            return Hold(event.reason, event.seats)
    heard_names = {turn.seat for turn in debate.turns} | debate.unheard
    silent = tuple(name for name in debate.names if name not in heard_names)
    if silent and is_before_verdict(debate, step):
        return Hold(f"the verdict comes next, and nobody heard {', '.join(silent)}", silent)
    unargued = tuple(side.name for side in list_unargued(debate) if side.name not in debate.unheard)
    if unargued and any(isinstance(event, Concluded) for event in step.events):
        return Hold(" ".join(describe_unargued(debate)), unargued)
    return None


def check_round(_: Debate, point: Breakpoint, step: NextStep) -> Hold | None:
    if step.entry is None or step.entry.round != point.round:
        return None
    return Hold(f"round {step.entry.round} ({step.entry.phase}) comes next")


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
