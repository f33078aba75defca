"""The request for an intervention, and what several of them check."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from server.debate.facts.errors import require
from server.debate.facts.events import Event
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.seats import FRAMER
from server.debate.rules.budget import NO_ELAPSED_TIME, ElapsedTime
from server.debate.state.debate import Debate
from server.debate.state.seats import seat_models


@dataclass(frozen=True, slots=True)
class InterventionRequest:
    """The parameters of an action; each action uses its own (`HANDLERS`)."""

    text: str = ""
    to: str = ""  # a debater, or any seat, by action
    reason: str = ""
    rounds: int = 0
    round: int = 0
    model: str = ""
    price: Price | None = None  # of that model
    window: int = 0  # of that model, in tokens; 0 where unknown
    weights: Mapping[str, str | float] = field(default_factory=dict)
    threshold: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)  # the ones to change, as in options.limits
    elapsed: ElapsedTime = NO_ELAPSED_TIME
    request_id: str = ""  # a repeat has the same
    is_stepped: bool = (
        False  # the debate came with a file: whatever its set-up says, it runs when it is stepped
    )


Change = tuple[list[Event], str]  # the events of an action, and when they take effect


def find_seats(debate: Debate) -> list[str]:
    """The seats that will be asked: the framer before the debaters are known, then everybody else."""
    if debate.setup.needs_framing:
        return [seat for seat in seat_models(debate.setup) if seat not in debate.names]
    return [seat for seat in seat_models(debate.setup) if seat != FRAMER]


def check_framed(debate: Debate) -> None:
    problem = (
        "Who debates is not known before the positions are named. Call step_round first, or leave `to` out."
    )
    require(not debate.setup.needs_framing, problem)


def check_known(name: str, known: Iterable[str], kind: str) -> None:
    require(name in known, f"Nobody here is called {name[:60]!r}. {kind}: {', '.join(known)}.")
