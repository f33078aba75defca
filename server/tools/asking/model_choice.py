"""Asks the person at the client which models debate if none is set up, once a call."""

from typing import Any, TypeVar

import anyio
from mcp.types import ElicitRequestFormParams, ElicitResult

from server.debate.commands.requests import DebateRequest
from server.debate.facts.setup.seats import CALLER
from server.models.registry import MAX_NAME_LENGTH, NoModelError
from server.tools.asking.elicitation import State, ask, can_ask, read_answer, read_state
from server.tools.tool import ToolCall

KEY = "models"
MAX_LENGTH = 10 * MAX_NAME_LENGTH

R = TypeVar("R", bound=DebateRequest)


def build_form(error: NoModelError) -> ElicitRequestFormParams:
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
    answered = add_models(request, await ask(call, build_form(error), State(asks="models"), seconds))
    if answered is None:
        raise error
    return answered


def add_models(request: R, answer: Any) -> R | None:
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return None
    text = str((answer.content or {}).get(KEY) or "")[:MAX_LENGTH]
    names = [name.strip() for name in text.split(",") if name.strip()]
    return request.model_copy(update={"models": names}) if names else None
