"""What an action consists of. Each has its own file in this package, and a row in `registry`."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from server.debate.facts.errors import require
from server.debate.facts.events import Event, Paused, Resumed
from server.debate.facts.fact import Fact
from server.debate.facts.interventions import InterventionFact
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import FRAMER
from server.debate.facts.text import clean
from server.debate.rules.budget import NO_ELAPSED_TIME, ElapsedTime
from server.debate.state.debate import Debate
from server.debate.state.seats import seat_models

F = TypeVar("F", bound=InterventionFact | Paused | Resumed)

Change = tuple[list[Event], str]
"""The facts of an action, and a sentence that says when they take effect."""


@dataclass(frozen=True, slots=True)
class InterventionRequest:
    """The parameters of an action; each action uses its own."""

    text: str = ""
    to: str = ""  # a debater or any seat, depending on the action
    reason: str = ""
    rounds: int = 0
    round: int = 0
    model: str = ""
    price: Price | None = None  # of that model
    window: int = 0  # of that model, in tokens; 0 if unknown
    weights: Mapping[str, str | float] = field(default_factory=dict)
    threshold: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)  # the ones to change, as in options.limits
    stances: Mapping[str, str] = field(default_factory=dict)  # by debater
    elapsed: ElapsedTime = NO_ELAPSED_TIME
    request_id: str = ""  # equal for repeats of a request
    is_stepped: bool = False  # it came with a file, and whatever its set-up says, it runs when it is stepped


class Intervention(NamedTuple):
    events: tuple[Event, ...]
    effect: str


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What a fork keeps of its parent, as far as facts of actions depend on it."""

    at_round: int
    seats: frozenset[str]  # of the fork
    other_judges: frozenset[str]  # those of its judges' seats that have another model than they had
    keeps_instructions: bool


class Action(ABC, Generic[F]):
    """Something that a caller can change, with all rules for the facts that it records."""

    name: ClassVar[str]
    hint: ClassVar[str] = ""  # when it is the right one, for those who choose
    facts: ClassVar[tuple[type[InterventionFact | Paused | Resumed], ...]]
    """The facts that it records. Code that reads facts of these kinds asks this action about them."""

    texts: ClassVar[Mapping[type[Fact], Mapping[str, int]]] = {}
    """Texts of several lines in those facts and their parts: fields, each with its maximum length. Others are names."""

    when: ClassVar[Literal["before_end", "after_end", "always"]] = "before_end"
    is_offered: ClassVar[bool] = True  # by name, to callers of `intervene`
    for_hooks: ClassVar[bool] = False  # whether a hook can be configured to do it
    needs_text: ClassVar[bool] = False  # in its request
    goes_on: ClassVar[bool] = False  # the debate runs on at once, in the process of whoever does it

    def take(self, debate: Debate, request: InterventionRequest) -> Intervention:
        """The facts, with reason and round. Raises as `build` does."""
        events, effect = self.build(debate, request)
        shared_fields: dict[str, Any] = {"request_id": request.request_id}
        if reason := clean(request.reason):
            shared_fields["reason"] = reason
        fields_with_round = shared_fields | {"round": debate.round}
        return Intervention(
            tuple(
                e.model_copy(update=fields_with_round if isinstance(e, InterventionFact) else shared_fields)
                for e in events
            ),
            effect,
        )

    @abstractmethod
    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        """Raises InvalidRequestError if it is impossible in this debate now."""

    def rebuild(self, fact: F) -> InterventionRequest:
        """The parameters from which `build` makes this fact: imports use it to check that the fact was possible."""
        return InterventionRequest()

    def apply(self, debate: Debate, fact: F) -> Debate:
        """What it changes besides `Debate.interventions`, which contains it already. Raises IllegalEvent."""
        return debate

    def change_setup(self, setup: Opened, fact: F) -> Opened:
        """The set-up in force after it. What changes here, a fork begins with, and does not inherit the fact."""
        return setup

    def describe(self, fact: F) -> tuple[str, str]:
        """The seat that it is about, "" for all, and what it says or changes."""
        return "", ""

    def list_words(self, debate: Debate, fact: F) -> Iterable[str]:
        """What searches find the debate by because of it. `debate`: as it is after the fact, or later."""
        return ()

    def inherit(self, fact: F, fork: Inheritance) -> F | None:
        """The fact as a fork inherits it; None if the fork does without it."""
        is_later = isinstance(fact, InterventionFact) and fact.round > fork.at_round
        return None if is_later else fact


def list_seats_to_ask(debate: Debate) -> list[str]:
    """The seats that will be asked: the framer until the debaters are known, then everybody else."""
    if debate.setup.needs_framing:
        return [seat for seat in seat_models(debate.setup) if seat not in debate.names]
    return [seat for seat in seat_models(debate.setup) if seat != FRAMER]


def check_framed(debate: Debate) -> None:
    problem = "Who debates is not known before the positions are named. Run the next round first, or leave `to` out."
    require(not debate.setup.needs_framing, problem)


def check_known(name: str, names: Iterable[str], kind: str) -> None:
    require(name in names, f"Nobody here is called {name[:60]!r}. {kind}: {', '.join(names)}.")
