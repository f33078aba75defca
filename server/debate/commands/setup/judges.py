"""The judges of a debate, and those of its mirror."""

from collections.abc import Iterable, Sequence

from server.debate.commands import requests
from server.debate.facts.errors import require
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import MirrorMode
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import AWAITED, EMBEDDED, WRITTEN, JudgePanel
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
