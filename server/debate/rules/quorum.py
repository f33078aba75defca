"""Whether enough of those who are asked in a round answer for it to be completed."""

from server.debate.facts.config import SYNTHESIZER, Phase
from server.debate.facts.events import Task
from server.debate.facts.state import Debate, judges
from server.debate.rules.schedule import (
    ASKED_AGAIN,
    CLOSING,
    Place,
    decided_by,
    failures_of,
    gave_up,
    is_open,
    places,
)

MOST_CAUSES = 3
"""How many failures the reason of a pause tells; the record has them all."""

VOICES: frozenset[Task] = frozenset({"argument", "message"})


def lacks_quorum(debate: Debate) -> str:
    """Why this round cannot be completed, or "".

    A round of talk needs as many voices as agreed, and a judgment as many judges; a talk that is being
    concluded needs no more voices.
    """
    phase = debate.phase
    if phase is None:
        return ""
    counted, needed = quorum(debate, phase)
    seats: dict[str, list[Place]] = {}
    for place in counted:
        seats.setdefault(place.seat, []).append(place)
    # A debater who speaks twice in a round is one voice; a judge's reading counts with the other order's.
    complete = all if phase.asks == "judges" else any
    heard = [seat for seat, own in seats.items() if complete(place.key in debate.heard for place in own)]
    hoped = [
        seat
        for seat, own in seats.items()
        if complete(place.key in debate.heard or is_open(debate, place) for place in own)
    ]
    if len(hoped) >= needed:
        return ""
    causes = list(dict.fromkeys(f"{f.seat}: {f.detail}" for f in debate.missed))
    told = "; ".join(causes[:MOST_CAUSES])
    if len(causes) > MOST_CAUSES:
        told += f"; and {len(causes) - MOST_CAUSES} more"
    counts = f"{len(heard)} of {len(seats)} answered"
    return f"{counts} in round {debate.round} ({phase.name}), {needed} needed. {told}"


def quorum(debate: Debate, phase: Phase) -> tuple[tuple[Place, ...], int]:
    """(the places that count, how many of the seats they belong to must answer)."""
    here = places(debate)
    if phase.asks == "judges":
        return here, min(debate.setup.judges.quorum, len(judges(debate.setup)))
    if phase.asks == "synthesizer":
        bad = failures_of(debate, (SYNTHESIZER, 0))
        return here, 0 if bad and all(failure.cause in ASKED_AGAIN for failure in bad) else 1
    decides = decided_by(debate.setup)
    if phase.wants == "ballot":
        last = [later for later in debate.setup.phases if later.wants == "ballot"][-1]
        return here, int(decides == "ballots" and phase == last)
    if decides == "moderator" and gave_up(debate, CLOSING.key):
        return (CLOSING,), 1
    if debate.concluding:
        return (), 0
    voices = tuple(place for place in here if place.task in VOICES)
    return voices, min(debate.setup.quorum, len({place.seat for place in voices}))
