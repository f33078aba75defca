"""The seats beside debaters and judges that a request asks for."""

from collections.abc import Sequence

from server.debate.commands import requests
from server.debate.commands.requests import OptionsInput
from server.debate.commands.setup.formats import Format
from server.debate.facts.errors import require
from server.debate.facts.setup.seats import Moderator, Observer, Officer


def build_moderator(options: OptionsInput, row: Format, pool: Sequence[str]) -> Moderator | None:
    """Return the moderator, if any. It opens rounds where the request does not say what it does."""
    requested = options.moderator or requests.ModeratorInput()
    moderated = options.speaking == "moderated"
    if not (options.moderator or row.has_closing_moderator or moderated):
        return None
    closes = row.has_closing_moderator if requested.closes is None else requested.closes
    opens = (moderated or not closes) if requested.opens is None else requested.opens
    require(opens or closes, "options.moderator must open rounds, close them, or be left out.")
    require(opens or not moderated, "options.speaking=moderated needs options.moderator.opens=true.")
    problem = (
        f"A moderator who opens the rounds chooses who speaks: leave options.speaking={options.speaking} out,"
    )
    is_free = moderated or not (opens and options.speaking)
    require(is_free, f"{problem} or set options.moderator.opens=false.")
    require(opens or not requested.tools, "options.moderator.tools needs options.moderator.opens=true.")
    seat = build_officer(requested, pool).model_dump()
    return Moderator(**seat, opens=opens, closes=closes)


def build_officer(requested: bool | requests.OfficerInput | None, pool: Sequence[str]) -> Officer:
    officer = requested if isinstance(requested, requests.OfficerInput) else requests.OfficerInput()
    return Officer(
        **officer.model_dump(include=set(Officer.model_fields)) | {"model": officer.model or pool[0]}
    )


def build_readers(options: OptionsInput, pool: Sequence[str]) -> dict[str, Officer | None]:
    """The seats that read each round and steer nothing, by field of the set-up.

    Raises:
        InvalidRequestError: an analyst without anything to do.
    """
    is_extracted = options.claims == "extracted"
    require(is_extracted or not options.analyst, "options.analyst needs options.claims=extracted.")
    referee, observer = options.referee, options.observer
    shown = isinstance(observer, requests.ObserverInput) and observer.shown
    seat = build_officer(observer, pool).model_dump()
    return {
        "referee": build_officer(referee, pool) if referee else None,
        "observer": Observer(**seat, shown=shown) if observer else None,
        "analyst": build_officer(options.analyst, pool) if is_extracted else None,
    }
