"""The debaters of a debate: their names, and their stances or who proposes them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from unicodedata import name as name_character
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
    is_judge,
)
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.replies.extract import normalize_name
from server.debate.rules.framing import SIDES
from server.debate.seats.registry import SEAT_NAMES

RESERVED_NAMES = {
    "none": "that no side is right",
    "null": "that no side is right",
    "tie": "that nobody won",
    "all": "everybody",
    CALLER: "whoever calls this server",
    CLIENT: "the own model of the client that calls",
    HUMAN: "the person at the client",
}
"""Words with a meaning in ballots, notes and models: no debater may be called so."""

NO_FRAMER = "no model here names them: the embedded model is too small, and a caller names debaters itself"


def build_framing(request: DebateRequest, models: Sequence[str], panel: JudgePanel) -> dict[str, Any]:
    """Who proposes the positions if nobody named debaters, or why nobody does."""
    if request.debaters or not request.options.framing:
        return {}
    for model in (*models, *panel.models):
        if model not in (*WRITTEN, EMBEDDED):
            return {"framer": Framer(model=model, models=tuple(models))}
    return {"framing": Framing(problem=NO_FRAMER)}


def describe_same_stance(setup: Opened) -> str:
    """Two advocates with the same stance, in a sentence; "" for none. On panels, roles stand in their place."""
    if setup.brief == "panel":
        return ""
    names: dict[str, str] = {}
    for debater in setup.debaters:
        earlier_name = names.setdefault(normalize_name(debater.stance), debater.name)
        if debater.stance and earlier_name != debater.name:
            position = collapse_whitespace(debater.stance)[:100]
            return f'{earlier_name} and {debater.name} stand for the same: "{position}".'
    return ""


def describe_framing_problem(setup: Opened) -> str:
    """Why the positions are those of the format although none were named; "" if that is not so."""
    if not (setup.framing and setup.framing.problem):
        return ""
    positions = " and ".join(f'"{debater.stance}"' for debater in setup.debaters[:SIDES])
    return f"The positions are {positions}: {setup.framing.problem}."


LOOK_ALIKE = {"Armenian", "Cyrillic", "Greek", "Latin"}
"""Scripts with letters that look alike. A word that mixes two of them can be read as another name."""


def name_script(letter: str) -> str:
    return name_character(letter, "").partition(" ")[0].capitalize()


MIN_DEBATERS, MAX_DEBATERS = 2, 26  # positions are lettered A to Z


def build_debaters(inputs: Sequence[DebaterInput], row: Format, models: Sequence[str]) -> tuple[Debater, ...]:
    inputs = inputs or [DebaterInput(name=name, stance=stance) for name, stance in row.default_debaters]
    check_debaters(inputs, row)
    debaters = []
    for index, debater in enumerate(inputs):
        name, model = debater.name.strip(), debater.model or models[index % len(models)]
        changes: dict[str, str] = {"name": name, "model": model}
        if not (debater.stance or row.is_advice):
            changes |= {"stance": debater.role or name}
        debaters.append(Debater(**debater.model_dump() | changes))
    return tuple(debaters)


def check_debaters(debaters: Sequence[DebaterInput], row: Format) -> None:
    """Check the number, the names and the positions of debaters.

    Raises:
        InvalidRequestError: one of them is wrong; the text names the debater.
    """
    problem = f"A debate has {MIN_DEBATERS} to {MAX_DEBATERS} debaters, not {len(debaters)}."
    require(
        MIN_DEBATERS <= len(debaters) <= MAX_DEBATERS,
        f"{problem} Name none, and a model names two positions.",
    )
    kind = "stance" if row.requires_stances else "role"
    sides = "" if row.requires_stances else ". To have it argue a side, pass {name, stance}"
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
            f"{debater.name} has no {kind}: pass {{name, {kind}}}, and say in `{kind}` what it speaks for{sides}.",
        )
    names = Counter(normalize_name(debater.name) for debater in debaters)
    duplicates = ", ".join(debater.name for debater in debaters if names[normalize_name(debater.name)] > 1)
    require(not duplicates, f"Names must be unique, and {duplicates} are the same. Rename all but one.")


def check_name_is_free(name: str) -> None:
    """Raises InvalidRequestError for a name that means something else wherever debaters are named."""
    normalized = normalize_name(normalize("NFKC", name))
    refusal = f"A debater cannot be called {name!r}"
    is_of_seat = is_judge(normalized) or normalized in SEAT_NAMES
    require(not is_of_seat, f"{refusal}: another seat has this name.")
    for word in normalized.split():
        scripts = sorted(LOOK_ALIKE & {name_script(letter) for letter in word if letter.isalpha()})
        mixture = f"{word!r} mixes {' and '.join(scripts)} letters, which look alike"
        require(not scripts[1:], f"{refusal}: {mixture}. Write it in one script.")
    meaning = RESERVED_NAMES.get(normalized)
    require(not meaning, f"{refusal}: the word means {meaning}. Name it after what it stands for.")
