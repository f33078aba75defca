"""Who decides a debate: by which rule its verdict is made, whose votes make it, and how often judges read.

Several judges read once each, turned against each other, so that a liking for a place or a label finds for different
sides. All read again, turned, where that leaves a doubt. One judge alone reads twice. On recorded judgments (LLMBar,
arXiv 2310.07641) two judges take 2.9 readings in place of 4 and three 4.8 in place of 6, more sides are named, and the
side ahead is as often the right one.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, assert_never

from server.debate.facts.events import Judged
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import CountingRule
from server.debate.facts.setup.phases import Phase
from server.debate.state.debate import judge_seats
from server.debate.state.seats import phase_seats


def verdict_source(setup: Opened) -> CountingRule | Literal["answer", ""]:
    """What makes the verdict: a counting rule, the answer; "" where the debate ends without one."""
    if setup.answering:
        return "answer"
    if setup.counting:
        return setup.counting
    if any(phase.is_judgment for phase in setup.phases):
        return "judges"
    if setup.moderator and setup.moderator.closes:
        return "moderator"
    return "ballots" if any(phase.is_vote for phase in setup.phases) else ""


def last_ballot_phase(setup: Opened) -> Phase | None:
    return next((phase for phase in reversed(setup.phases) if phase.is_vote), None)


def find_voters(setup: Opened) -> tuple[str, ...]:
    """The seats whose votes make the verdict; () where nobody votes."""
    match source := verdict_source(setup):
        case "judges":
            return judge_seats(setup)
        case "ballots" | "swing":
            phase = last_ballot_phase(setup)
            return phase_seats(setup, phase) if phase else ()
        case "moderator" | "answer" | "":
            return ()
        case _:
            assert_never(source)


ORDERS = (1, 2)
"""The numbers of readings: as recorded; with positions, labels and order turned."""


def list_first_readings(judges: Sequence[str], *, both_orders: bool) -> dict[str, tuple[int, ...]]:
    """The readings that each judge is asked for at once."""
    if len(judges) == 1 and both_orders:
        return {judges[0]: ORDERS}
    return {
        judge: (ORDERS[number % len(ORDERS)] if both_orders else ORDERS[0],)
        for number, judge in enumerate(judges)
    }


def list_readings(
    judges: Sequence[str], found: Iterable[Judged], *, both_orders: bool
) -> dict[str, tuple[int, ...]]:
    """The readings that each judge is asked for in all, once the first ones are in or given up, its first one first.

    Who gave no first reading, or is too small a model, is not asked for a second one.
    """
    wanted = list_first_readings(judges, both_orders=both_orders)
    first = [
        reading
        for reading in found
        if reading.informative and reading.slot_index in wanted.get(reading.seat, ())
    ]
    if both_orders and not leave_no_doubt(first):
        seats = {reading.seat for reading in first}
        wanted |= {seat: tuple(dict.fromkeys((*wanted[seat], *ORDERS))) for seat in seats}
    return wanted


def leave_no_doubt(readings: Sequence[Judged]) -> bool:
    """Whether first readings in both orders are for one side, and none of them is close."""
    return (
        {reading.slot_index for reading in readings} == {*ORDERS}
        and len({reading.winner for reading in readings}) == 1
        and all(reading.winner and reading.margin for reading in readings)
    )
