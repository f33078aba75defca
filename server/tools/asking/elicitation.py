"""Questions to the client, and the state that comes back with the answers.

In the 2026 era a question is the result of the call, and the client repeats the call with the answer. Before, it is a
request from the server during the call. Nobody has to answer: without an answer the call goes on with a default.
"""

from contextlib import suppress
from typing import Literal

import anyio
from mcp.shared.exceptions import MCPError
from mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    InputResponse,
)
from pydantic import BaseModel, ConfigDict, ValidationError

from server.tools.tool import AskFirst, ToolCall

INPUT_REQUIRED_VERSION = "2026-07-28"
"""The first version of the protocol in which a result asks the client."""

MAX_ANSWER_SECONDS = 30.0


class State(BaseModel):
    """The state that a repeated call brings back from the call before. It comes from the client: it is not trusted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asks: Literal["models", "spending", "positions", "client", "turn"]
    debate_id: str = ""  # the debate that the call has opened, or waits for
    models: list[str] = []  # named by a person
    round: int = 0  # the one that the call runs
    legs: int = 0  # how often this call has asked the client
    batch: int = 0  # of requests to the client's model
    seat: str = ""  # the seat whose turn a person is asked to write


def read_state(call: ToolCall) -> State | None:
    """The state that a repeated call brings back; None in any other call."""
    try:
        return State.model_validate_json(call.params.request_state or "")
    except ValidationError:
        return None


def read_answer(call: ToolCall, key: str) -> InputResponse | None:
    return (call.params.input_responses or {}).get(key)


def can_ask(call: ToolCall) -> bool:
    """Whether the client can show a form to a person. False once a person has left a form of this call unanswered."""
    session = call.context.session
    forms = session.client_capabilities.elicitation if session.client_capabilities else None
    if (
        call.is_ignored
        or not call.may_debate
        or forms is None
        or (forms.form is None and forms.url is not None)
    ):
        return False
    return is_asked_by_result(call) or session.can_send_request


def is_asked_by_result(call: ToolCall) -> bool:
    return call.context.protocol_version >= INPUT_REQUIRED_VERSION


def build_question(state: State, requests: dict[str, InputRequest]) -> AskFirst:
    return AskFirst(
        InputRequiredResult(
            input_requests=requests, request_state=state.model_dump_json(exclude_defaults=True)
        )
    )


def may_ask(call: ToolCall) -> bool:
    return can_ask(call) and call.seconds_left > 0


async def ask(call: ToolCall, form: ElicitRequestFormParams, state: State) -> ElicitResult | None:
    """The person's answer; None if none comes in time.

    Raises AskFirst in the 2026 era: the repeated call brings the answer under the key `state.asks`.
    """
    if is_asked_by_result(call):
        raise build_question(state, {state.asks: ElicitRequest(params=form)})
    patience = anyio.move_on_after(min(call.seconds_left, MAX_ANSWER_SECONDS))
    with call.manager.await_person(), patience, suppress(MCPError, ValidationError):
        return await call.context.session.elicit_form(
            form.message, form.requested_schema, related_request_id=call.context.request_id
        )
    call.is_ignored = patience.cancelled_caught
    return None
