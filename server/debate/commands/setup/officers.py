"""The seats beside debaters and judges that a request asks for."""

from collections.abc import Sequence

from server.debate.commands import requests
from server.debate.commands.inputs import OfficerInput
from server.debate.commands.requests import OptionsInput
from server.debate.commands.setup.formats import Format
from server.debate.facts.errors import require
from server.debate.facts.setup.seats import Moderator, Officer
from server.debate.seats.registry import SEATS


def build_moderator(options: OptionsInput, row: Format, pool: Sequence[str]) -> Moderator | None:
    """Return the moderator, if any. It opens rounds unless the request says what it does."""
    requested = options.moderator or requests.ModeratorInput()
    is_moderated = options.speaking == "moderated"
    if not (options.moderator or row.has_closing_moderator or is_moderated):
        return None
    closes = row.has_closing_moderator if requested.closes is None else requested.closes
    opens = (is_moderated or not closes) if requested.opens is None else requested.opens
    require(opens or closes, "options.moderator must open rounds, close them, or be left out.")
    require(opens or not is_moderated, "options.speaking=moderated needs options.moderator.opens=true.")
    problem = (
        f"A moderator who opens the rounds chooses who speaks: leave options.speaking={options.speaking} out,"
    )
    is_free = is_moderated or not (opens and options.speaking)
    require(is_free, f"{problem} or set options.moderator.opens=false.")
    require(opens or not requested.tools, "options.moderator.tools needs options.moderator.opens=true.")
    fields = requested.model_dump(include=set(Moderator.model_fields))
    return Moderator(**fields | {"model": requested.model or pool[0], "opens": opens, "closes": closes})


def build_officers(options: OptionsInput, pool: Sequence[str]) -> tuple[Officer, ...]:
    """The seats that read each round and steer nothing.

    Raises:
        InvalidRequestError: some options contradict each other.
    """
    requests_by_seat = {seat.name: seat.find_input(options) for seat in SEATS}
    return tuple(build_officer(name, request, pool) for name, request in requests_by_seat.items() if request)


def build_officer(seat: str, request: bool | OfficerInput | None, pool: Sequence[str]) -> Officer:
    officer = request if isinstance(request, OfficerInput) else OfficerInput()
    fields = officer.model_dump(include=set(Officer.model_fields))
    return Officer(**fields | {"seat": seat, "model": officer.model or pool[0]})
