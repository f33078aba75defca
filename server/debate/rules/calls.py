"""The calls of a debate: which answers are due now, of which model, and which would still be accepted."""

from dataclasses import dataclass, field
from hashlib import sha256

from server.debate.facts.events import Task
from server.debate.rules.schedule import (
    Slot,
    final_closing_slots,
    late_reading_slots,
    open_slots,
    slot_failures,
)
from server.debate.state.debate import Debate
from server.debate.state.memo import once
from server.debate.state.seats import current_model

WITHOUT_POSITIONS: tuple[Task, ...] = ("blind_answer", "framing")
"""Tasks from before the positions are known."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one seat's model. Its prompt is rendered when it is made."""

    key: str
    seat: str
    round: int
    slot_index: int
    task: Task
    model: str
    attempt: int  # 2 when the first reply was bad
    seed: int  # derived from the debate's seed and the key
    message_author: str = ""  # the debater whose message the call answers
    seen: int = field(default=1, compare=False)  # the version of the debate that its prompt is rendered from

    @property
    def slot_key(self) -> tuple[str, int]:
        """(seat, slot_index) of the slot that the answer fills."""
        return self.seat, self.slot_index

    @property
    def reading(self) -> int:
        """1 or 2 for a judge, 0 for other seats."""
        return self.slot_index if self.task == "judgment" else 0


@once
def pending_calls(debate: Debate) -> tuple[Call, ...]:
    """The calls that are due now."""
    return tuple(build_call(debate, slot) for slot in due_slots(debate))


@once
def due_slots(debate: Debate) -> tuple[Slot, ...]:
    return final_closing_slots(debate) if is_cut_short(debate) else open_slots(debate)


def is_cut_short(debate: Debate) -> bool:
    """Whether the talk was concluded in this round: answers on their way are awaited, and no others are asked for."""
    phase = debate.phase
    return debate.is_concluding and phase is not None and (phase.is_talk or phase.is_advice)


def acceptable_slots(debate: Debate) -> tuple[Slot, ...]:
    """The slots whose answers would be accepted now, due or not."""
    late = (*final_closing_slots(debate), *late_reading_slots(debate))
    return tuple(dict.fromkeys((*open_slots(debate), *late)))


def build_call(debate: Debate, slot: Slot) -> Call:
    model = slot.model or current_model(debate, slot.seat)
    attempt = 1 + sum(f.model in ("", model) for f in slot_failures(debate, slot.key))
    place = (slot.seat, slot.index, debate.round)
    # Failures before a resumption and superseded votes count too: a repeated call gets another seed.
    earlier = (*debate.failures, *debate.superseded)
    tries = sum((e.seat, e.slot_index, e.round) == place for e in earlier) + 1
    key = f"{debate.round}.{slot.seat}.{slot.index}.{tries}"
    if lookups := sum((r.seat, r.slot_index, r.round) == place for r in debate.research):
        key += f"+{lookups}"
    # Half of 32 bits: providers take a seed as a signed integer.
    seed = int.from_bytes(sha256(f"{debate.setup.seed}:{key}".encode()).digest()[:4]) >> 1
    return Call(
        key,
        slot.seat,
        debate.round,
        slot.index,
        slot.task,
        model,
        attempt,
        seed,
        slot.message_author,
        debate.version,
    )
