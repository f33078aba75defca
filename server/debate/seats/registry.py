"""All seats that read each round, their fields of requests and verdicts, and the duties of other officers.

All other code asks here. `tests/debate/seats/test_registry.py` names a missing row.
"""

from typing import TYPE_CHECKING, Any, Literal, get_args

from server.debate.facts.answers import Reading
from server.debate.facts.events import OfficerTask, Task
from server.debate.facts.setup.seats import CHECKER, FRAMER, METER, READER, WRITER, SeatKind
from server.debate.rules.calls import Call
from server.debate.seats.analyst import Analyst, AnalystOptions
from server.debate.seats.comparer import Comparison
from server.debate.seats.framer import BlindAnswer, Framing
from server.debate.seats.moderator import Closing, Opening
from server.debate.seats.observer import Observer, ObserverFindings, ObserverOptions
from server.debate.seats.reader import Digest
from server.debate.seats.referee import Referee, RefereeOptions
from server.debate.seats.seat import Duty, Seat
from server.debate.seats.synthesizer import Deliverable

if TYPE_CHECKING:
    from typing_extensions import TypeIs  # Python has it from 3.13 on

DutyTask = OfficerTask | Literal["reading"]

SEATS: tuple[Seat[Any], ...] = (Referee(), Observer(), Analyst())
"""In the order in which people and other seats read them."""

DUTIES: dict[OfficerTask, Duty] = {
    "blind_answer": BlindAnswer(),
    "framing": Framing(),
    "digest": Digest(),
    "opening": Opening(),
    "closing": Closing(),
    "comparison": Comparison(),
    "deliverable": Deliverable(),
}
"""What the framer, reader, moderator and synthesizer are asked for, and a judge beside its readings."""


class SeatOptions(AnalystOptions, ObserverOptions, RefereeOptions):
    """The options of these seats: a part of `options`."""


class SeatFindings(ObserverFindings):
    """Their fields of a verdict."""


BY_NAME = {seat.name: seat for seat in SEATS}
BY_FACT = {seat.fact: seat for seat in SEATS}

SEAT_KINDS: tuple[str, ...] = (*get_args(SeatKind), *BY_NAME)
"""The kinds and seats that a debate may hide."""

SEAT_NAMES = frozenset({*SEAT_KINDS, FRAMER, READER, METER, WRITER, CHECKER})
"""Names that no debater may have; numbered judges are reserved as well."""


def find_seat(of: Reading | Call) -> Seat[Any]:
    """The seat that made a reading, or is called for one."""
    return BY_NAME[of.seat] if isinstance(of, Call) else BY_FACT[type(of)]


def is_duty(task: Task) -> "TypeIs[DutyTask]":
    """Whether a task is one of `DUTIES`, or of a seat that reads each round."""
    return task == "reading" or task in DUTIES


def find_duty(call: Call, task: "DutyTask") -> Duty:
    """The duty behind a call, whose task is one: of a seat other than debaters, judges and advisors."""
    return find_seat(call) if task == "reading" else DUTIES[task]


def name_task(call: Call) -> str:
    """The task of a call as people read it: a seat that reads rounds has its own word for it."""
    return find_seat(call).task if call.task == "reading" else call.task
