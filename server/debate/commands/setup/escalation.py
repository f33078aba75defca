"""Whether a debate can be given what is asked beyond it: more judges, a mirror, independent answers."""

from typing import Any

from server.debate.facts.config import AWAITED, WRITTEN, MirrorMode
from server.debate.facts.errors import require
from server.debate.facts.events import Opened
from server.debate.rules.schedule import verdict_source

MIRROR_MODES: dict[bool | str, MirrorMode] = {False: "off", True: "on", "if_contested": "if_contested"}
"""How a debate records `options.mirror`."""


def build_escalation(mirror: bool | str) -> dict[str, Any]:
    """The fields of a set-up that say what is asked beyond the debate."""
    return {"mirror": MIRROR_MODES[mirror]}


def check_escalation(setup: Opened) -> None:
    """Raises InvalidRequestError for a mirror or judges in reserve where no judges decide, or nobody could be asked."""
    reserve, has_judges = setup.judges.reserve, verdict_source(setup) == "judges"
    problem = (
        f"options.{{}} needs judges who decide, and {setup.format} has none with these phases: leave it out."
    )
    require(has_judges or setup.mirror == "off", problem.format("mirror"))
    require(has_judges or not reserve, problem.format("judges.reserve"))
    writing = [debater.name for debater in setup.debaters if debater.model in AWAITED]
    writing += ["a judge"] * (not AWAITED.isdisjoint(setup.judges.models))
    problem = (
        f"options.mirror: the server holds the mirror by itself, and can ask nobody for {', '.join(writing)}."
    )
    require(not writing or setup.mirror == "off", f"{problem} Give models to those seats, or leave it out.")
    known = {*setup.judges.models, *WRITTEN}
    problem = "options.judges.reserve: each model once, none that judges already, and not the caller."
    require(len({*reserve} - known) == len(reserve), problem)
