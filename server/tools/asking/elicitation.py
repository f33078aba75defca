"""Questions to the client, and what it gives back with the answers.

In the 2026 era a question is the result of the call, and the client repeats the call with the answer; before, it
is a request from the server during the call. Nobody has to answer: what asks goes on with a default.
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

from server.tools.tool import ToolCall

INPUT_REQUIRED_VERSION = "2026-07-28"
"""The first version of the protocol in which a result asks the client."""

MAX_ANSWER_SECONDS = 30.0


class State(BaseModel):
    """What a repeated call gives back of the one before. It comes from the client: nothing of it is believed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asks: Literal["models", "spending", "positions", "client", "turn"]
    debate_id: str = ""  # the debate that the call has opened, or waits for
    models: list[str] = []  # that a person named
    round: int = 0  # that the call was to run
    legs: int = 0  # how often the client was asked in this call
    batch: int = 0  # of the client's own model
    seat: str = ""  # whose turn a person is to write


class AskFirst(Exception):  # noqa: N818  (no error: the client is to answer before the call goes on)
    """The call has a question to the client as its result."""

    def __init__(self, question: InputRequiredResult) -> None:
        super().__init__()
        self.question = question


def read_state(call: ToolCall) -> State | None:
    """What a repeated call gives back; None in any other call."""
    try:
        return State.model_validate_json(call.params.request_state or "")
    except ValidationError:
        return None


def read_answer(call: ToolCall, key: str) -> InputResponse | None:
    return (call.params.input_responses or {}).get(key)


def can_ask(call: ToolCall) -> bool:
    """Whether the client can show a form to a person, who has ignored none of this call."""
    session = call.context.session
    offered = session.client_capabilities.elicitation if session.client_capabilities else None
    if (
        call.is_ignored
        or not call.may_debate
        or offered is None
        or (offered.form is None and offered.url is not None)
    ):
        return False
    return is_asked_by_result(call) or session.can_send_request


def is_asked_by_result(call: ToolCall) -> bool:
    return call.context.protocol_version >= INPUT_REQUIRED_VERSION


def build_question(state: State, form: ElicitRequestFormParams) -> InputRequiredResult:
    """A result that asks a person. The repeated call has the answer under the name of what it asks."""
    return build_questions(state, {state.asks: ElicitRequest(params=form)})


def build_questions(state: State, requests: dict[str, InputRequest]) -> InputRequiredResult:
    return InputRequiredResult(
        input_requests=requests, request_state=state.model_dump_json(exclude_defaults=True)
    )


async def ask(call: ToolCall, form: ElicitRequestFormParams, seconds: float) -> ElicitResult | None:
    """The answer of the person, whatever it is; None without one in time. Before the 2026 era only."""
    patience = anyio.move_on_after(min(seconds, MAX_ANSWER_SECONDS))
    with call.manager.await_person(), patience, suppress(MCPError, ValidationError):
        return await call.context.session.elicit_form(
            form.message, form.requested_schema, related_request_id=call.context.request_id
        )
    call.is_ignored = patience.cancelled_caught
    return None
