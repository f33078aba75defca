"""Private ballots of a set-up, and what needs them: challenges of hollow agreement, the comparison of positions."""

from server.debate.ballots.waves import may_converge
from server.debate.commands.requests import OptionsInput
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.errors import require
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import Meter


def asks_for_ballots(options: OptionsInput) -> bool:
    """Whether a request asks for ballots, or for something that needs them."""
    is_needed = options.stop == "on" or options.challenges == "challenge"
    is_needed = is_needed or any(phase.until == "convergence" for phase in options.phases)
    return bool(options.ballots) or is_needed


def check_challenges(setup: Opened) -> None:
    """Raises InvalidRequestError if challenges are asked for but impossible."""
    if setup.challenges != "challenge":
        return
    panels = ", ".join(row.name for row in FORMATS.values() if row.brief == "panel")
    problem = "options.challenges=challenge is for seats that may change their mind in public, and advocates never do"
    require(setup.brief == "panel", f"{problem}. Formats: {panels}. Or pass report.")
    require(
        setup.ballots != "none",
        "options.challenges=challenge needs private ballots: leave options.ballots out.",
    )


def add_meter(setup: Opened, model: str) -> Opened:
    """The set-up with an embedding model, if ballots after its rounds may end the talk."""
    is_needed = bool(model) and may_converge(setup) and setup.ballots != "none"
    return setup.model_copy(update={"meter": Meter(model=model)}) if is_needed else setup
