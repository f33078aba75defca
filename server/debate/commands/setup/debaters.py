"""The debaters of a debate: their names, and what they stand for or who proposes it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import normalize

from server.debate.commands.requests import DebateRequest, DebaterInput
from server.debate.commands.setup.formats import Format
from server.debate.facts.errors import require
from server.debate.facts.quoting import disarm_markup
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import (
    CALLER,
    CLIENT,
    EMBEDDED,
    HUMAN,
    WRITTEN,
    Debater,
    Framer,
    Framing,
    JudgePanel,
    seat_kind,
)
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.replies.extract import normalize_name
from server.debate.rules.framing import SIDES
from server.debate.state.seats import SEAT_KINDS

RESERVED_NAMES = {
    "none": "that no side is right",
    "null": "that no side is right",
    "tie": "that nobody won",
    "all": "everybody",
    CALLER: "whoever calls this server",
    CLIENT: "the own model of the client that calls",
    HUMAN: "the person at the client",
}
"""Words of ballots, notes and models, with what they mean there: as a name each would be read as the other."""

NO_FRAMER = "no model here names them: the embedded model is too small, and a caller names debaters itself"


def build_framing(request: DebateRequest, models: Sequence[str], panel: JudgePanel) -> dict[str, Any]:
    """Who proposes the positions where nobody named debaters, or why nobody does."""
    if request.debaters or not request.options.framing:
        return {}
    for model in (*models, *panel.models):
        if model not in (*WRITTEN, EMBEDDED):
            return {"framer": Framer(model=model, models=tuple(models))}
    return {"framing": Framing(problem=NO_FRAMER)}


def find_same_stance(stances: Iterable[tuple[str, str]]) -> str:
    """Which debaters stand for the same, in a sentence; "" if none do. `stances`: (name, stance) of each."""
    names: dict[str, str] = {}
    for name, stance in stances:
        first = names.setdefault(normalize_name(stance), name)
        if first != name and clean(stance):
            return f'{first} and {name} stand for the same: "{collapse_whitespace(stance)[:100]}".'
    return ""


def describe_framing_problem(setup: Opened) -> str:
    """Why the positions are those of the format although none were named; "" if that is not so."""
    if not (setup.framing and setup.framing.problem):
        return ""
    positions = " and ".join(f'"{debater.stance}"' for debater in setup.debaters[:SIDES])
    return f"The positions are {positions}: {setup.framing.problem}."


MIN_DEBATERS, MAX_DEBATERS = 2, 26  # positions are lettered A to Z


def build_debaters(
    requested: Sequence[DebaterInput], row: Format, models: Sequence[str], *, same_stance: bool
) -> tuple[Debater, ...]:
    requested = requested or [DebaterInput(name=name, stance=stance) for name, stance in row.default_debaters]
    check_debaters(requested, row)
    problem = "" if same_stance else find_same_stance((row.name, row.stance) for row in requested)
    advice = "Give each a position of its own, or pass options.same_stance=true if it is meant."
    require(not problem, f"{problem} {advice}")
    debaters = []
    for index, debater in enumerate(requested):
        name, model = debater.name.strip(), debater.model or models[index % len(models)]
        changes: dict[str, str] = {"name": name, "model": model}
        if not debater.stance:
            changes |= {"stance": debater.role or name, "role": ""}
        debaters.append(Debater(**debater.model_dump() | changes))
    return tuple(debaters)


def check_debaters(debaters: Sequence[DebaterInput], row: Format) -> None:
    """Check the number, the names and the positions of debaters.

    Raises:
        InvalidRequestError: one of them is wrong; the text names the debater.
    """
    allowed = f"A debate has {MIN_DEBATERS} to {MAX_DEBATERS} debaters, not {len(debaters)}."
    require(MIN_DEBATERS <= len(debaters) <= MAX_DEBATERS, f"{allowed} Leave `debaters` out for two.")
    kind = "stance" if row.requires_stances else "role"
    for debater in debaters:
        name = normalize_name(debater.name)
        refusal = f"A debater cannot be called {debater.name!r}"
        require(
            name
            and debater.name.isprintable()
            and disarm_markup(clean(debater.name)) == debater.name.strip(),
            f"{refusal}: use one line with letters or digits, no link and no mark-up.",
        )
        check_name_is_free(debater.name)
        role = "" if row.requires_stances else clean(debater.role) or clean(debater.system_prompt)
        position = clean(debater.stance) or role
        require(
            position,
            f"{debater.name} has no {kind}: pass {{name, {kind}}}, and say in `{kind}` what it speaks for.",
        )
    names = Counter(normalize_name(debater.name) for debater in debaters)
    repeated = ", ".join(debater.name for debater in debaters if names[normalize_name(debater.name)] > 1)
    require(not repeated, f"Names must be unique, and {repeated} are the same. Rename all but one.")


def check_name_is_free(name: str) -> None:
    """Raises InvalidRequestError for a name that means something else where debaters are named."""
    plain = normalize_name(normalize("NFKC", name))
    refusal = f"A debater cannot be called {name!r}"
    is_of_seat = seat_kind(plain) != "debaters" or plain in SEAT_KINDS
    require(not is_of_seat, f"{refusal}: another seat has this name.")
    meaning = RESERVED_NAMES.get(plain)
    require(not meaning, f"{refusal}: the word means {meaning}. Name it after what it stands for.")
