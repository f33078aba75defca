"""Whether enough of those who are asked in a round answer for it to be completed."""

from server.debate.facts.config import SYNTHESIZER, Phase
from server.debate.facts.events import Task
from server.debate.facts.state import Debate, judge_seats
from server.debate.rules.schedule import (
    CLOSING_SLOT,
    REPAIRABLE_CAUSES,
    Slot,
    is_exhausted,
    is_open,
    last_ballot_phase,
    round_slots,
    slot_failures,
    verdict_source,
)

MAX_LISTED_CAUSES = 3
"""How many failures the reason of a pause tells; the record has them all."""

QUORUM_TASKS: frozenset[Task] = frozenset({"argument", "message"})


def find_quorum_shortfall(debate: Debate) -> str:
    """Why this round cannot be completed, or "".

    A round of talk needs as many voices as agreed, and a judgment as many judges; a talk that is being
    concluded needs no more voices.
    """
    phase = debate.phase
    if phase is None:
        return ""
    counted, needed = compute_quorum(debate, phase)
    seats: dict[str, list[Slot]] = {}
    for place in counted:
        seats.setdefault(place.seat, []).append(place)
    # A debater who speaks twice in a round is one voice; a judge's reading counts with the other order's.
    complete = all if phase.is_judgment else any
    heard = [
        seat for seat, own in seats.items() if complete(place.key in debate.answered_slots for place in own)
    ]
    hoped = [
        seat
        for seat, own in seats.items()
        if complete(place.key in debate.answered_slots or is_open(debate, place) for place in own)
    ]
    if len(hoped) >= needed:
        return ""
    causes = list(dict.fromkeys(f"{f.seat}: {f.detail}" for f in debate.round_failures))
    told = "; ".join(causes[:MAX_LISTED_CAUSES])
    if len(causes) > MAX_LISTED_CAUSES:
        told += f"; and {len(causes) - MAX_LISTED_CAUSES} more"
    counts = f"{len(heard)} of {len(seats)} answered"
    return f"{counts} in round {debate.round} ({phase.name}), {needed} needed. {told}"


def compute_quorum(debate: Debate, phase: Phase) -> tuple[tuple[Slot, ...], int]:
    """(the places that count, how many of the seats they belong to must answer)."""
    here = round_slots(debate)
    if phase.is_judgment:
        return here, min(debate.setup.judges.quorum, len(judge_seats(debate.setup)))
    if phase.participants == "synthesizer":
        bad = slot_failures(debate, (SYNTHESIZER, 0))
        return here, 0 if bad and all(failure.cause in REPAIRABLE_CAUSES for failure in bad) else 1
    decides = verdict_source(debate.setup)
    if phase.wants == "ballot":
        counts = debate.setup.counting or (decides == "ballots" and phase == last_ballot_phase(debate.setup))
        enough = min(debate.setup.judges.quorum, len(here)) if phase.participants == "judges" else 1
        return here, enough if counts else 0
    if decides == "moderator" and is_exhausted(debate, CLOSING_SLOT.key):
        return (CLOSING_SLOT,), 1
    if debate.is_concluding:
        return (), 0
    voices = tuple(place for place in here if place.task in QUORUM_TASKS)
    return voices, min(debate.setup.quorum, len({place.seat for place in voices}))
