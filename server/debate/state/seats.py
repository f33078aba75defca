"""Who sits in a debate: the models, prompts and tools of its seats."""

from collections.abc import Collection
from typing import assert_never, get_args

from server.debate.facts.answers import HandoffFailed
from server.debate.facts.events import Failed, Task
from server.debate.facts.interventions import ModelReplaced
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import (
    ANALYST,
    CLIENT,
    FRAMER,
    METER,
    MODERATOR,
    OBSERVER,
    READER,
    REFEREE,
    SYNTHESIZER,
    WRITTEN,
    Moderator,
    Officer,
    SeatKind,
    seat_kind,
)
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.memo import once

SEAT_KINDS: tuple[SeatKind, ...] = get_args(SeatKind)

NOT_SHOWN = "it could not be used; why is hidden with the words of the seat"


def seat_models(setup: Opened) -> dict[str, str]:
    """The model of every seat in the setup."""
    models = {debater.name: debater.model for debater in setup.debaters}
    models |= dict(zip(judge_seats(setup), setup.judges.models, strict=True))
    officers = {READER: setup.reader, FRAMER: setup.framer, **find_officers(setup)}
    return models | {name: officer.model for name, officer in officers.items() if officer}


def hides(hidden: Collection[str], seat: str) -> bool:
    """Whether a seat is hidden, by its name or by its kind. `hidden`: seats and kinds of seats."""
    return seat in hidden or seat_kind(seat) in hidden


def hides_any(hidden: Collection[str], kind: SeatKind) -> bool:
    """Whether a seat of this kind is hidden. What is made of the words of all of them is hidden with it."""
    return kind in hidden or any(name not in SEAT_KINDS and seat_kind(name) == kind for name in hidden)


def show_detail(setup: Opened, failure: Failed | HandoffFailed) -> str:
    """Why an answer could not be used, for clients: without what quotes the answer, where the seat is hidden."""
    is_of_words = isinstance(failure, HandoffFailed) or failure.cause == "unreadable"
    is_hidden = is_of_words and hides(setup.hidden_from_client, failure.seat)
    return NOT_SHOWN if is_hidden else failure.detail


def find_officers(setup: Opened) -> dict[str, Moderator | Officer | None]:
    """The seats beside debaters and judges while the debate is held, by name."""
    return {
        MODERATOR: setup.moderator,
        REFEREE: setup.referee,
        OBSERVER: setup.observer,
        ANALYST: setup.analyst,
        SYNTHESIZER: setup.synthesizer,
    }


def find_seat_prompt(setup: Opened, seat: str) -> tuple[str, bool]:
    """(the prompt that the set-up gives a seat or "", whether it replaces the steps of its task) (C14, C19)."""
    if debater := next((one for one in setup.debaters if one.name == seat), None):
        return debater.system_prompt, debater.replaces_task
    if seat in (FRAMER, READER):
        return "", False
    owner = find_officers(setup).get(seat) or setup.judges
    return owner.prompt, owner.replaces_task


def find_tools(setup: Opened, seat: str, task: Task) -> tuple[str, ...]:
    """The research servers that a seat may use for an answer: debaters to argue, the moderator to open a round."""
    match kind := seat_kind(seat):
        case "debaters":
            return next(d.tools for d in setup.debaters if d.name == seat) if task == "argument" else ()
        case "judges":
            return setup.judges.tools
        case "moderator":
            return setup.moderator.tools if setup.moderator and task == "opening" else ()
        case "referee" | "observer" | "analyst" | "synthesizer":
            officer = find_officers(setup)[seat]
            return officer.tools if officer else ()
        case "framer" | "reader" | "meter":
            return ()
        case _:
            assert_never(kind)


def find_models(setup: Opened) -> tuple[str, ...]:
    """Every model that writes for a seat, or may, with the positions that are to be named."""
    later = setup.framer.models if setup.framer else ()
    return tuple(dict.fromkeys((*seat_models(setup).values(), *later, *setup.judges.reserve)))


@once
def find_own_models(debate: Debate) -> dict[str, str]:
    """The model of every seat, replacements included."""
    replaced = {made.seat: made.model for made in debate.find_interventions(ModelReplaced)}
    return seat_models(debate.setup) | replaced


def candidate_models(debate: Debate, seat: str) -> tuple[str, ...]:
    """The models of a seat in the order of preference. A seat of the caller has no fallback models."""
    if seat == METER and debate.setup.meter:
        return (debate.setup.meter.model,)  # no model that writes can stand in for it
    own = find_own_models(debate)[seat]
    return (own,) if own in WRITTEN else tuple(dict.fromkeys((own, *debate.setup.fallback_models)))


def current_model(debate: Debate, seat: str) -> str:
    """The first model of a seat that has not failed, or its own where all have."""
    models = candidate_models(debate, seat)
    return next((model for model in models if (seat, model) not in debate.failed_models), models[0])


def phase_seats(setup: Opened, phase: Phase) -> tuple[str, ...]:
    """The seats that a phase asks, in the order declared."""
    debaters = tuple(debater.name for debater in setup.debaters)
    seats = {"debaters": debaters, "judges": judge_seats(setup), "synthesizer": (SYNTHESIZER,)}
    return seats[phase.participants]


def uses_client(debate: Debate) -> bool:
    """Whether a seat is, or may come to be, answered by a client's own model."""
    return CLIENT in {*find_own_models(debate).values(), *debate.setup.fallback_models}
