"""Who decides a debate: by which rule its verdict is made, and whose votes make it."""

from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.state.debate import judge_seats
from server.debate.state.seats import phase_seats


def verdict_source(setup: Opened) -> str:
    """The counting rule of the verdict; "" where the debate ends without one."""
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
    source = verdict_source(setup)
    if source == "judges":
        return judge_seats(setup)
    last = last_ballot_phase(setup) if source not in ("", "moderator") else None
    return phase_seats(setup, last) if last else ()
