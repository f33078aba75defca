"""What a person at the client is asked before a debate is opened, once: models if none is set up, and a high cost.

If nobody answers about the cost, the debate is opened: the limits of the debate and of the day still hold.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import anyio
from mcp.types import ElicitRequestFormParams, ElicitResult

from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.estimate import estimate
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.setup.seats import CALLER
from server.debate.state.debate import Debate
from server.debate.views.progress import estimate_line
from server.models.client import Guest
from server.models.registry import MAX_NAME_LENGTH, NoModelError
from server.tools.asking.elicitation import State, ask, can_ask, read_answer, read_state
from server.tools.tool import ToolCall

KEY = "models"
MAX_LENGTH = 10 * MAX_NAME_LENGTH

R = TypeVar("R", bound=DebateRequest)


def build_model_form(error: NoModelError) -> ElicitRequestFormParams:
    """A form with one field, filled in with the models on this machine. Keys are never asked for."""
    field = {
        "type": "string",
        "title": "Models",
        "description": "For the seats in turn, separated by commas",
        "maxLength": MAX_LENGTH,
    }
    message = (
        f"No model is set up. Here {error.found}. Debate with these?"
        if error.proposal
        else "No model is set up. Which models shall debate? Their keys have to be set where the server runs; "
        f'"local" is the embedded model, and "{CALLER}" leaves the turns to your assistant.'
    )
    default = {"default": ", ".join(error.proposal)} if error.proposal else {}
    return ElicitRequestFormParams(
        message=message,
        requested_schema={"type": "object", "properties": {KEY: {**field, **default}}, "required": [KEY]},
    )


def apply_answer(call: ToolCall, request: R) -> R:
    """The request with the models that a person named for this call, if any."""
    state = read_state(call)
    if state and state.models:
        return request.model_copy(update={"models": state.models})
    answer = read_answer(call, KEY) if state and state.asks == KEY else None
    return add_models(request, answer) or request


async def ask_for_models(call: ToolCall, request: R, error: NoModelError, deadline: float) -> R:
    """The request with the models that the person names. Raises `error` if nobody names any, AskFirst."""
    seconds, state = deadline - anyio.current_time(), read_state(call)
    if (state and state.asks == KEY) or not can_ask(call) or seconds <= 0:
        raise error
    answered = add_models(request, await ask(call, build_model_form(error), State(asks="models"), seconds))
    if answered is None:
        raise error
    return answered


def add_models(request: R, answer: Any) -> R | None:
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return None
    text = str((answer.content or {}).get(KEY) or "")[:MAX_LENGTH]
    names = [name.strip() for name in text.split(",") if name.strip()]
    return request.model_copy(update={"models": names}) if names else None


FIELD = "start"


@dataclass(frozen=True, kw_only=True)
class CallingGuest(Guest):
    """Whoever opens a debate by calling a tool. `models`: those that a person named in this call."""

    call: ToolCall
    deadline: float
    models: tuple[str, ...] = ()

    async def approve(self, debate: Debate) -> None:
        """Raises InvalidRequestError for a debate that is impossible or declined, AskFirst with a question."""
        await super().approve(debate)
        call, limit = self.call, self.call.manager.client_terms.confirm_cost_usd
        _, max_cost = estimate(debate).cost_usd
        seconds = self.deadline - anyio.current_time()
        if not limit or Decimal(max_cost or 0) <= limit:
            return
        if (state := read_state(call)) and state.asks == "spending":
            check_answer(debate, read_answer(call, "spending"))
        elif can_ask(call) and seconds > 0:
            state = State(asks="spending", models=[*self.models])
            check_answer(debate, await ask(call, build_cost_form(debate, limit), state, seconds))


def build_cost_form(debate: Debate, limit: Decimal) -> ElicitRequestFormParams:
    message = f"{estimate_line(debate)} That may be more than ${limit:f}. Start this debate?"
    field = {"type": "boolean", "title": "Start it", "default": True}
    return ElicitRequestFormParams(
        message=message, requested_schema={"type": "object", "properties": {FIELD: field}}
    )


def check_answer(debate: Debate, answer: object) -> None:
    """Raises InvalidRequestError if a person declined."""
    if not isinstance(answer, ElicitResult) or answer.action == "cancel":
        return
    if answer.action == "decline" or (answer.content or {}).get(FIELD) is False:
        reason = "The person at the client declined the cost, and the debate was not started."
        raise InvalidRequestError(
            f"{reason} {estimate_line(debate)} Ask for less: options.effort=quick, fewer rounds or other models."
        )
