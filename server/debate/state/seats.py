"""Who sits in a debate: the models, prompts and tools of its seats."""

from collections.abc import Collection, Iterator

from server.debate.facts.answers import HandoffFailed
from server.debate.facts.errors import check
from server.debate.facts.events import Failed, Task
from server.debate.facts.interventions import InstructionGiven, ModelReplaced
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import (
    CHECKER,
    CLIENT,
    EMBEDDED,
    FRAMER,
    METER,
    MODERATOR,
    READER,
    SYNTHESIZER,
    WRITER,
    WRITTEN,
    Framer,
    Moderator,
    Officer,
    SeatKind,
    is_judge,
)
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.memo import once

MOST_BLIND_ANSWERS = 3
"""Of as many models, before positions are made of them."""

NOT_SHOWN = "it could not be used; why is hidden with the words of the seat"


def seat_models(setup: Opened) -> dict[str, str]:
    """The model of every seat in the setup."""
    models = {debater.name: debater.model for debater in setup.debaters}
    models |= dict(zip(judge_seats(setup), setup.judges.models, strict=True))
    officers = {READER: setup.reader, FRAMER: setup.framer, **find_officers(setup)}
    models |= {name: officer.model for name, officer in officers.items() if officer}
    if setup.answering:
        models_named = {WRITER: setup.answering.writer, CHECKER: setup.answering.checker}
        models |= {name: model for name, model in models_named.items() if model}
    return models


def find_kind(setup: Opened, seat: str) -> str:
    """`debaters`, `judges`, or the seat itself, which is alone of its kind."""
    if is_judge(seat):
        return "judges"
    return "debaters" if any(debater.name == seat for debater in setup.debaters) else seat


def hides(setup: Opened, hidden: Collection[str], seat: str) -> bool:
    """Whether a seat is hidden, by its name or by its kind. `hidden`: seats and kinds of seats."""
    return bool(hidden) and (seat in hidden or find_kind(setup, seat) in hidden)


def hides_any(setup: Opened, hidden: Collection[str], kind: SeatKind) -> bool:
    """Whether a seat of this kind is hidden. What is made of the words of all of them is hidden with it."""
    return kind in hidden or any(find_kind(setup, name) == kind for name in hidden)


def show_detail(setup: Opened, failure: Failed | HandoffFailed) -> str:
    """Why an answer could not be used, for clients: without what quotes the answer, where the seat is hidden."""
    is_of_words = isinstance(failure, HandoffFailed) or failure.cause == "unreadable"
    is_hidden = is_of_words and hides(setup, setup.hidden_from_client, failure.seat)
    return NOT_SHOWN if is_hidden else failure.detail


def find_officers(setup: Opened) -> dict[str, Moderator | Officer]:
    """The seats beside debaters and judges that a debate has while it is held, by name."""
    moderator = {MODERATOR: setup.moderator} if setup.moderator else {}
    officers = (*setup.officers, *filter(None, (setup.synthesizer,)))
    return {**moderator, **{officer.seat: officer for officer in officers}}


def find_seat_prompt(setup: Opened, seat: str) -> tuple[str, bool]:
    """(the prompt that the set-up gives a seat or "", whether it replaces the steps of its task) (C14, C19)."""
    if debater := next((each for each in setup.debaters if each.name == seat), None):
        return debater.system_prompt, debater.replaces_task
    if seat in (FRAMER, READER, WRITER, CHECKER):
        return "", False
    owner = find_officers(setup).get(seat) or setup.judges
    return owner.prompt, owner.replaces_task


def list_instructions(debate: Debate, seat: str, own: str) -> Iterator[str]:
    """What people want a seat to follow in this round. `own`: its own prompt."""
    if prompt := own or debate.setup.instructions or debate.seat_prompts.get(seat, ""):
        yield prompt
    for given in debate.find_interventions(InstructionGiven):
        if given.to in ("", seat) and given.round < debate.round:
            yield given.text


def find_tools(setup: Opened, seat: str, task: Task) -> tuple[str, ...]:
    """The research servers that a seat may use for an answer: debaters to argue, the moderator to open a round."""
    if is_judge(seat):
        return setup.judges.tools if task != "comparison" else ()
    if debater := next((each for each in setup.debaters if each.name == seat), None):
        return debater.tools if task in ("argument", "advice", "review") else ()
    officer = find_officers(setup).get(seat)
    return officer.tools if officer and task != "closing" else ()


def find_models(setup: Opened) -> tuple[str, ...]:
    """Every model that writes for a seat, or may, with the positions that are to be named."""
    later = setup.framer.models if setup.framer else ()
    return tuple(dict.fromkeys((*seat_models(setup).values(), *later)))


def list_blind_models(framer: Framer) -> tuple[str, ...]:
    """The models that answer the question by themselves before positions are made of their answers."""
    models = [model for model in dict.fromkeys(framer.models) if model not in (*WRITTEN, EMBEDDED)]
    return tuple(models[:MOST_BLIND_ANSWERS]) or (framer.model,)


def count_framing_calls(setup: Opened) -> int:
    """Number of model calls before the positions are known."""
    return len(list_blind_models(setup.framer)) + 1 if setup.framer and not setup.framing else 0


@once
def find_own_models(debate: Debate) -> dict[str, str]:
    """The model of every seat, replacements included."""
    replacements = {fact.seat: fact.model for fact in debate.find_interventions(ModelReplaced)}
    return seat_models(debate.setup) | replacements


def candidate_models(debate: Debate, seat: str) -> tuple[str, ...]:
    """The models of a seat in the order of preference. A seat of the caller has no fallback models."""
    if seat == METER and debate.setup.meter:
        return (debate.setup.meter.model,)  # no model that writes can stand in for it
    own = find_own_models(debate)[seat]
    return (own,) if own in WRITTEN else tuple(dict.fromkeys((own, *debate.setup.fallback_models)))


def current_model(debate: Debate, seat: str) -> str:
    """The first model of a seat that has not failed, or its own where all have."""
    models = candidate_models(debate, seat)
    if not debate.failed_models:
        return models[0]
    return next((model for model in models if (seat, model) not in debate.failed_models), models[0])


def check_name(debate: Debate, name: str) -> None:
    """Raises IllegalEvent for a name that no debater has."""
    check(not name or name in debate.names, f"nobody here is called {name}")


def phase_seats(setup: Opened, phase: Phase) -> tuple[str, ...]:
    """The seats that a phase asks, in the order declared."""
    debaters = tuple(debater.name for debater in setup.debaters)
    single = {"synthesizer": SYNTHESIZER, "writer": WRITER, "checker": CHECKER}
    if phase.participants in single:
        return (single[phase.participants],)
    return debaters if phase.participants == "debaters" else judge_seats(setup)


def uses_client(debate: Debate) -> bool:
    """Whether a seat is, or may come to be, answered by a client's own model."""
    return CLIENT in {*find_own_models(debate).values(), *debate.setup.fallback_models}
