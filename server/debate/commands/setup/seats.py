"""The seats beside debaters that a request asks for: judges, those of the mirror, the moderator and officers."""

from collections.abc import Iterable, Sequence

from server.debate.commands import requests
from server.debate.commands.inputs import OfficerInput
from server.debate.commands.requests import OptionsInput
from server.debate.commands.setup.formats import Format
from server.debate.facts.errors import require
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import MirrorMode
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import AWAITED, EMBEDDED, WRITTEN, JudgePanel, Moderator, Officer
from server.debate.seats.registry import SEATS
from server.debate.votes.families import family
from server.debate.votes.voters import verdict_source

MIRROR_MODES: dict[bool | str, MirrorMode] = {
    False: "off",
    True: "on",
    "if_decided": "if_decided",
    "if_contested": "if_decided",
}
"""`options.mirror` as a debate records it. The last is what callers wrote when it followed a split."""


def check_escalation(setup: Opened) -> None:
    """Raises InvalidRequestError for a mirror without judges who decide, or with nobody to ask."""
    if setup.mirror == "off":
        return
    problem = f"options.mirror needs judges who decide, and {setup.format} has none with these phases"
    require(verdict_source(setup) == "judges", f"{problem}: leave it out.")
    writing = [debater.name for debater in setup.debaters if debater.model in AWAITED]
    writing += ["a judge"] * (not AWAITED.isdisjoint(setup.judges.models))
    problem = (
        f"options.mirror: the server holds the mirror by itself, and can ask nobody for {', '.join(writing)}."
    )
    require(not writing, f"{problem} Give models to those seats, or leave it out.")


def build_panel(judges: requests.JudgesInput, phases: Sequence[Phase], models: Sequence[str]) -> JudgePanel:
    """The judges as requested; one if their number is left to the effort."""
    pool = judges.models or models
    has_judges = any(phase.participants == "judges" for phase in phases)
    count = (judges.count or len(judges.models) or 1) if has_judges else 0
    models = [pool[index % len(pool)] for index in range(count)]
    return JudgePanel(**judges.model_dump(exclude={"count"}) | {"models": models})


def rank_judges(models: Iterable[str], debating: Iterable[str]) -> list[str]:
    """Models that may judge, each once: first those of other families than the debaters', last the debaters' own.

    The embedded model, which is too small, and the caller judge only if nobody else can, and then alone.
    """
    models, debating = [*models], [*debating]
    free = [model for model in models if model not in debating]
    in_order = dict.fromkeys((*free, *reversed(models), *debating))
    families = {*map(family, debating)}
    able = [model for model in in_order if model not in (*WRITTEN, EMBEDDED)]
    able.sort(key=lambda model: (model in debating, family(model) in families))
    return able or [*in_order][:1]


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
