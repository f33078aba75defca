"""What private ballots are asked for, and what needs them: challenges of hollow agreement, a measure of positions."""

from server.debate.commands.requests import OptionsInput
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.errors import require
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import Challenges
from server.debate.facts.setup.seats import Meter


def asks_for_ballots(options: OptionsInput) -> bool:
    """Whether a request says something about ballots, or wants what needs them."""
    is_needed = options.skip_if_agreed or options.stop == "on" or options.challenges == "challenge"
    is_needed = is_needed or any(phase.until == "convergence" for phase in options.phases)
    return bool(options.ballots) or is_needed


def add_challenges(setup: Opened, options: OptionsInput) -> Opened:
    """The set-up with its rules for challenges.

    Raises:
        InvalidRequestError: no challenge could ever be made in this debate.
    """
    limits = options.limits
    rules = Challenges(
        mode=options.challenges,
        most=limits.max_challenges,
        cooldown=limits.challenge_cooldown,
        most_rounds=FORMATS[setup.format].max_allowed_rounds,
    )
    setup = setup.model_copy(update={"challenges": rules})
    check_challenges(setup)
    return setup


def check_challenges(setup: Opened) -> None:
    """Raises InvalidRequestError where challenges are asked for, and none could ever be made."""
    if setup.challenges.mode != "challenge":
        return
    panels = ", ".join(row.name for row in FORMATS.values() if row.brief == "panel")
    problem = "options.challenges=challenge is for seats that may change their mind in public, and advocates never do"
    require(setup.brief == "panel", f"{problem}. Formats: {panels}. Or pass report.")
    require(
        setup.ballots != "none",
        "options.challenges=challenge needs private ballots: leave options.ballots out.",
    )


def add_meter(setup: Opened, model: str) -> Opened:
    """The setup with an embedding model, if ballots after its rounds may end the talk."""
    is_needed = bool(model) and setup.stop != "off" and setup.ballots != "none"
    return setup.model_copy(update={"meter": Meter(model=model)}) if is_needed else setup
