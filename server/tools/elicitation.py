"""Questions to the person at the client (MCP elicitation).

In the 2026 era a question is the result of the call, and the client repeats the call with the answer; before, it
is a request from the server during the call. Nobody has to answer: what asks goes on with a default.
"""

from contextlib import suppress

import anyio
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import ValidationError

from server.tools.tool import ToolCall

INPUT_REQUIRED_VERSION = "2026-07-28"
"""The first version of the protocol in which a result asks the client."""

MAX_ANSWER_SECONDS = 30.0


def can_ask(call: ToolCall) -> bool:
    """Whether the client can show a form to a person."""
    session = call.context.session
    offered = session.client_capabilities.elicitation if session.client_capabilities else None
    if offered is None or (offered.form is None and offered.url is not None):
        return False
    return is_asked_by_result(call) or session.can_send_request


def is_asked_by_result(call: ToolCall) -> bool:
    return call.context.protocol_version >= INPUT_REQUIRED_VERSION


def build_question(key: str, form: ElicitRequestFormParams, state: str) -> InputRequiredResult:
    """A result that asks. The repeated call has the answer under `key`, and `state` as it is here."""
    return InputRequiredResult(input_requests={key: ElicitRequest(params=form)}, request_state=state)


async def ask(call: ToolCall, form: ElicitRequestFormParams, seconds: float) -> ElicitResult | None:
    """The answer of the person, whatever it is; None without one in time. Before the 2026 era only."""
    with anyio.move_on_after(min(seconds, MAX_ANSWER_SECONDS)), suppress(MCPError, ValidationError):
        return await call.context.session.elicit_form(
            form.message, form.requested_schema, related_request_id=call.context.request_id
        )
    return None
