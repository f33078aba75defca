"""The set-up of a fork: that of its parent with the changes that were asked for."""

from typing import Any

from server.debate.commands.requests import ChangesInput, JudgesInput
from server.debate.commands.setup.debaters import check_name_is_free
from server.debate.commands.setup.documents import build_documents
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.open import build_breakpoints, check_breakpoints
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.setup.documents import Document
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import Debater, JudgePanel
from server.debate.state.debate import Debate
from server.debate.state.labels import draw_labels, find_taken, list_texts


def apply_changes(debate: Debate, changes: ChangesInput, at_round: int) -> Opened:
    """The set-up with the changes applied. `debate`: as it was after the inherited rounds."""
    setup = debate.setup
    fields: dict[str, Any] = {
        "run": changes.run,
        "debaters": build_changed_debaters(setup, changes),
        "seed": changes.seed or setup.seed,
        "documents": build_documents(changes.documents, list_inherited_documents(setup, at_round), at_round),
    }
    if not at_round:
        fields["reader"] = None  # planned again, because nothing that was read is inherited
    if setup.framing or changes.stances:
        fields["framer"] = None
    if changes.judges:
        fields["judges"] = build_changed_panel(debate, changes.judges, at_round)
    if changes.moderator:
        if setup.moderator is None:
            raise InvalidRequestError("This debate has no moderator: leave changes.moderator out.")
        fields["moderator"] = setup.moderator.model_copy(update={"model": changes.moderator})
    if max_rounds := changes.max_rounds:
        row = FORMATS.get(setup.format)  # a debate of another release may be in a format of its own
        inherited_rounds = sum(debate.round_phase(number).is_talk for number in range(1, at_round + 1))
        limit = max(row.max_allowed_rounds if row else 0, len(setup.phases), setup.max_rounds)
        allowed = f"{max(inherited_rounds, 1)} to {limit} rounds of talk, of which {inherited_rounds} are taken over"
        is_allowed = max(inherited_rounds, 1) <= max_rounds <= limit
        require(is_allowed, f"changes.max_rounds={max_rounds} is out of range: {allowed}.")
        fields |= {"max_rounds": max_rounds} | (
            {"max_turns": max_rounds} if row and row.default_turns else {}
        )
    if changes.instructions is not None:
        fields["instructions"] = changes.instructions
        fields["prompt_functions"] = tuple(filter(None, setup.prompt_functions))
    if changes.pause_when is not None:
        fields["pause_when"] = build_breakpoints(changes.pause_when)
    if setup.effort and changes.judges:
        open_options = tuple(name for name in setup.effort.open if name != "judges")
        fields["effort"] = setup.effort.model_copy(update={"open": open_options})
    changed_setup = setup.model_copy(update=fields)
    check_breakpoints(changed_setup)
    return keep_labels(changed_setup, at_round)


def keep_labels(setup: Opened, at_round: int) -> Opened:
    """The set-up with the labels that inherited rounds use; with others where nothing is inherited and texts hold them.

    Raises:
        InvalidRequestError: the changes hold a label that stands for somebody in inherited rounds.
    """
    labels = setup.answering.labels if setup.answering else setup.labels
    texts = (*list_texts(setup, setup.debaters), setup.answering.mine if setup.answering else "")
    held = find_taken(texts).intersection(labels)
    if not held:
        return setup
    problem = f"{', '.join(sorted(held))} stands for a seat in the rounds that are taken over"
    require(not at_round, f"{problem}. Write it otherwise in the changes, or pass at_round=0.")
    drawn = draw_labels(setup.seed, len(labels), texts)
    answering = setup.answering and setup.answering.model_copy(update={"labels": drawn})
    return setup.model_copy(update={"labels": drawn[: len(setup.labels)], "answering": answering})


def list_inherited_documents(setup: Opened, at_round: int) -> list[Document]:
    rounds = (min(document.after_round, at_round) for document in setup.documents)
    return [
        document.model_copy(update={"after_round": round_number})
        for document, round_number in zip(setup.documents, rounds, strict=True)
    ]


def build_changed_debaters(setup: Opened, changes: ChangesInput) -> tuple[Debater, ...]:
    updates: dict[str, dict[str, str]] = {debater.name: {} for debater in setup.debaters}
    for name in updates:
        check_name_is_free(name)
    for field, values_by_name in (("model", changes.models), ("stance", changes.stances)):
        for name, value in ((key.strip(), value) for key, value in values_by_name.items()):
            names = ", ".join(updates)
            require(name in updates, f"changes.{field}s: nobody is called {name!r}. Debaters: {names}.")
            require(value, f"changes.{field}s: there is nothing for {name}. Leave it out.")
            updates[name][field] = value
    return tuple(debater.model_copy(update=updates[debater.name]) for debater in setup.debaters)


def build_changed_panel(debate: Debate, judges: JudgesInput, at_round: int) -> JudgePanel:
    setup = debate.setup
    require(setup.judges.models, f"{setup.format} has no judges here: leave changes.judges out.")
    have_judged = were_judges_heard(debate, at_round)
    require(not have_judged, f"The judges were heard in the rounds up to {at_round}: fork before them.")
    pool = judges.models or setup.judges.models
    models = tuple(pool[index % len(pool)] for index in range(judges.count or len(pool)))
    fields = judges.model_dump(exclude_unset=True, exclude_none=True, exclude={"count"})
    return setup.judges.model_copy(update=fields | {"models": models})


def were_judges_heard(debate: Debate, at_round: int) -> bool:
    return any(debate.round_phase(number).participants == "judges" for number in range(1, at_round + 1))


def list_restanced(before: Opened, after: Opened) -> tuple[str, ...]:
    """The debaters whose inherited turns argue for a stance that they no longer have."""
    pairs = zip(before.debaters, after.debaters, strict=True)
    names = {
        after_fork.name for before_fork, after_fork in pairs if before_fork.stance != after_fork.stance
    }.union(before.forked_restanced)
    return tuple(debater.name for debater in after.debaters if debater.name in names)
