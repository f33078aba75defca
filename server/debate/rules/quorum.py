"""Whether enough seats answer for a round, and every debater is heard; and what follows where they do not."""

from collections.abc import Iterable, Sequence

from server.debate.ballots.waves import is_private_ballot
from server.debate.facts.config import SYNTHESIZER, Phase
from server.debate.facts.events import DefaultPlanUsed, Event, Paused, Task
from server.debate.facts.state import Debate, judge_seats, once
from server.debate.rules.schedule import (
    CLOSING_SLOT,
    REPAIRABLE_CAUSES,
    Slot,
    build_slot_groups,
    is_exhausted,
    is_open,
    last_ballot_phase,
    round_slots,
    slot_failures,
    verdict_source,
)

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
        return find_unread_reason(debate)
    counted, needed = compute_quorum(debate, phase)
    seats: dict[str, list[Slot]] = {}
    for slot in counted:
        seats.setdefault(slot.seat, []).append(slot)
    # A debater counts once, however often it speaks; a judge counts with all its readings.
    complete = all if phase.is_judgment else any
    answered, open_or_answered = 0, 0
    for slots in seats.values():
        answered += complete(slot.key in debate.answered_slots for slot in slots)
        open_or_answered += complete(
            slot.key in debate.answered_slots or is_open(debate, slot) for slot in slots
        )
    if open_or_answered >= needed:
        return ""
    listed = join_causes((f.seat, f.detail) for f in debate.round_failures)
    counts = f"{answered} of {len(seats)} answered"
    return f"{counts} in round {debate.round} ({phase.name}), {needed} needed. {listed}"


def find_unread_reason(debate: Debate) -> str:
    """Why the talk does not begin: no section of the documents could be read."""
    slots = [slot for slot in round_slots(debate) if slot.task == "digest"]
    if debate.digests or not slots or not all(is_exhausted(debate, slot.key) for slot in slots):
        return ""
    listed = join_causes((failure.seat, failure.detail) for failure in debate.round_failures)
    return f"no section of the documents was read. {listed} Give the reader another model with replace_model and resume"


def join_causes(causes: Iterable[tuple[str, str]]) -> str:
    """The first of them, each once with the seats that it is the cause for, and how many more there are."""
    seats: dict[str, list[str]] = {}
    for seat, detail in dict.fromkeys(causes):
        seats.setdefault(detail, []).append(seat)
    different = [f"{join_seats(named)}: {detail}" for detail, named in seats.items()]
    more = len(different) - MAX_LISTED_CAUSES
    listed = "; ".join(different[:MAX_LISTED_CAUSES])
    return f"{listed}; and {more} more" if more > 0 else listed


def join_seats(seats: Sequence[str]) -> str:
    """Ada; Ada and Ben; Ada, Ben and Cy; Ada, Ben and 4 more."""
    first = seats if len(seats) <= MAX_LISTED_CAUSES else [*seats[:2], f"{len(seats) - 2} more"]
    return " and ".join(filter(None, (", ".join(first[:-1]), first[-1])))


def find_unheard(debate: Debate) -> tuple[str, ...]:
    """The debaters who failed whenever they were to speak, without those for whom the debate has paused already.

    A talk that is being concluded goes by what was said.
    """
    if debate.is_concluding or not debate.failures:
        return ()
    asked = [
        failure
        for failure in debate.failures
        if failure.seat in debate.names and not is_private_ballot(failure.slot_index)
    ]
    failed = {failure.seat for failure in asked if debate.round_phase(failure.round).is_talk}
    heard = {turn.seat for turn in debate.turns} | debate.unheard
    return tuple(name for name in debate.names if name in failed - heard)


def compute_quorum(debate: Debate, phase: Phase) -> tuple[tuple[Slot, ...], int]:
    """(the slots that count, how many of their seats must answer)."""
    slots = tuple(slot for slot in round_slots(debate) if not is_private_ballot(slot.index))
    if phase.is_judgment:
        return slots, min(debate.setup.judges.quorum, len(judge_seats(debate.setup)))
    if phase.participants == "synthesizer":
        failures = slot_failures(debate, (SYNTHESIZER, 0))
        has_only_bad_replies = bool(failures) and all(f.cause in REPAIRABLE_CAUSES for f in failures)
        return slots, 0 if has_only_bad_replies else 1
    decides = verdict_source(debate.setup)
    if phase.wants == "ballot":
        # Private ballots decide nothing: the debate goes on without them.
        counts = debate.setup.counting or (decides == "ballots" and phase == last_ballot_phase(debate.setup))
        counts = counts and not phase.is_baseline
        enough = min(debate.setup.judges.quorum, len(slots)) if phase.participants == "judges" else 1
        return slots, enough if counts else 0
    if decides == "moderator" and is_exhausted(debate, CLOSING_SLOT.key):
        return (CLOSING_SLOT,), 1
    if debate.is_concluding:
        return (), 0
    turns = tuple(slot for slot in slots if slot.task in QUORUM_TASKS)
    return turns, min(debate.setup.quorum, len({slot.seat for slot in turns}))


def build_unheard_pause(debate: Debate, seats: tuple[str, ...]) -> Paused:
    details = {failure.seat: failure.detail for failure in debate.failures}
    listed = join_causes((seat, details[seat]) for seat in seats).rstrip(".")
    return Paused(
        cause="unheard",
        seats=seats,
        reason=f"never heard: {listed}. Give the seat another model with replace_model and resume. Or resume alone: it "
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
