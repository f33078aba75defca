"""Who decides a debate: by which rule its verdict is made, and whose votes make it."""

from typing import Literal, assert_never

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
