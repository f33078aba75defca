"""The set-up of a fork: that of its parent with the changes that were asked for."""

from typing import Any

from server.debate.commands.requests import ChangesInput, JudgesInput
from server.debate.commands.setup.debaters import check_name_is_free, find_same_stance
from server.debate.commands.setup.documents import build_documents
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.open import build_breakpoints, check_breakpoints
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.setup.documents import Document
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import Debater, JudgePanel
from server.debate.state.debate import Debate


def apply_changes(debate: Debate, changes: ChangesInput, at_round: int) -> Opened:
    """The setup with the changes applied. `debate`: as it was after the inherited rounds."""
    setup = debate.setup
    other: dict[str, Any] = {
        "run": changes.run,
        "debaters": build_changed_debaters(setup, changes),
        "seed": changes.seed or setup.seed,
        "documents": build_documents(changes.documents, list_inherited_documents(setup, at_round), at_round),
    }
    if not at_round:
        other["reader"] = None  # planned anew, since nothing that was read is inherited
    if setup.framing or changes.stances:
        other["framer"] = None
    if changes.judges:
        other["judges"] = build_changed_panel(debate, changes.judges, at_round)
    if changes.moderator:
        if setup.moderator is None:
            raise InvalidRequestError("This debate has no moderator: leave changes.moderator out.")
        other["moderator"] = setup.moderator.model_copy(update={"model": changes.moderator})
    if requested := changes.max_rounds:
        row = FORMATS.get(setup.format)  # a debate of another release may be in a format of its own
        held = sum(debate.round_phase(number).is_talk for number in range(1, at_round + 1))
        most = max(row.max_allowed_rounds if row else 0, len(setup.phases), setup.max_rounds)
        allowed = f"{max(held, 1)} to {most} rounds of talk, of which {held} are taken over"
        is_allowed = max(held, 1) <= requested <= most
        require(is_allowed, f"changes.max_rounds={requested} is out of range: {allowed}.")
        other |= {"max_rounds": requested} | ({"max_turns": requested} if row and row.default_turns else {})
    if changes.instructions is not None:
        other["instructions"] = changes.instructions
        other["prompt_functions"] = tuple(filter(None, setup.prompt_functions))
    if changes.pause_when is not None:
        other["pause_when"] = build_breakpoints(changes.pause_when)
    if setup.effort and changes.judges:
        left = tuple(name for name in setup.effort.open if name != "judges")
        other["effort"] = setup.effort.model_copy(update={"open": left})
    changed = setup.model_copy(update=other)
    check_breakpoints(changed)
    return changed


def list_inherited_documents(setup: Opened, at_round: int) -> list[Document]:
    added = (min(document.after_round, at_round) for document in setup.documents)
    return [
        document.model_copy(update={"after_round": number})
        for document, number in zip(setup.documents, added, strict=True)
    ]


def build_changed_debaters(setup: Opened, changes: ChangesInput) -> tuple[Debater, ...]:
    updates: dict[str, dict[str, str]] = {debater.name: {} for debater in setup.debaters}
    for name in updates:
        check_name_is_free(name)
    for field, requested in (("model", changes.models), ("stance", changes.stances)):
        for name, value in ((key.strip(), value) for key, value in requested.items()):
            known = ", ".join(updates)
            require(name in updates, f"changes.{field}s: nobody is called {name!r}. Debaters: {known}.")
            require(value, f"changes.{field}s: there is nothing for {name}. Leave it out.")
            updates[name][field] = value
    stances = [(debater.name, debater.stance) for debater in setup.debaters]
    if changes.stances and not find_same_stance(stances):
        stances = [(d.name, updates[d.name].get("stance", d.stance)) for d in setup.debaters]
        problem = find_same_stance(stances)
        require(not problem, f"{problem} Give each a position of its own in changes.stances.")
    return tuple(debater.model_copy(update=updates[debater.name]) for debater in setup.debaters)


def build_changed_panel(debate: Debate, requested: JudgesInput, at_round: int) -> JudgePanel:
    setup = debate.setup
    require(setup.judges.models, f"{setup.format} has no judges here: leave changes.judges out.")
    heard = were_judges_heard(debate, at_round)
    require(not heard, f"The judges were heard in the rounds up to {at_round}: fork before them.")
    pool = requested.models or setup.judges.models
    models = tuple(pool[index % len(pool)] for index in range(requested.count or len(pool)))
    changed = requested.model_dump(exclude_unset=True, exclude_none=True, exclude={"count"})
    named = changed.get("reserve", setup.judges.reserve)
    reserve = tuple(model for model in named if model not in models)
    return setup.judges.model_copy(update=changed | {"models": models, "reserve": reserve})


def were_judges_heard(debate: Debate, at_round: int) -> bool:
    return any(debate.round_phase(number).participants == "judges" for number in range(1, at_round + 1))


def list_restanced(before: Opened, after: Opened) -> tuple[str, ...]:
    """The debaters whose inherited turns argue for another stance than theirs."""
    pairs = zip(before.debaters, after.debaters, strict=True)
    restanced = {new.name for old, new in pairs if old.stance != new.stance}.union(before.forked_restanced)
    return tuple(debater.name for debater in after.debaters if debater.name in restanced)
