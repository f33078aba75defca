"""The model of an MCP client, which the client lends while it waits for a debate (sampling)."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from server.debate.facts.errors import require
from server.debate.facts.setup.seats import CALLER, CLIENT
from server.debate.state.debate import Debate
from server.debate.state.seats import find_models
from server.models import Model, OnText, Reply, Request


@dataclass(frozen=True)
class ClientTerms:
    """The operator's settings for clients, and for the people at them."""

    seconds: float = 30.0  # time for a client's model to answer
    confirm_cost_usd: Decimal = Decimal(0)  # a person has to confirm an estimate above it; 0 for never


DEFAULT_TERMS = ClientTerms()

NO_CLIENT = (
    f'"{CLIENT}" is the own model of the MCP client that calls, and here is none that offers it (sampling). Use '
    f'models=["{CALLER}"] and write the turns with submit_turn, the embedded model (models=["local"]), or a model of '
    "a provider."
)


class WithdrawnError(Exception):
    """A model was not asked, as its client has left or this process ends. The answer is still needed."""


class ClientModel(Model, Protocol):
    """The model of a client, for the seats of one debate. `reply` may also raise WithdrawnError."""

    @property
    def is_lent(self) -> bool:
        """Whether it can be asked now."""


class AbsentModel:
    """The model of a client that is not there."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:  # noqa: ARG002
        raise WithdrawnError


@dataclass(frozen=True)
class Guest:
    """Who opens a debate. `client`: the model that their client lends for it; None if it lends none."""

    client: ClientModel | None = None

    async def approve(self, debate: Debate) -> None:
        """Called before the debate is recorded. Raises whatever prevents it, InvalidRequestError at least."""
        needs_client = CLIENT in {*find_models(debate.setup), *debate.setup.fallback_models}
        require(self.client or not needs_client, NO_CLIENT)


NOBODY = Guest()
