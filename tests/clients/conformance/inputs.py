"""The conformance suite's tools whose result asks the client, which then repeats the call with the answers."""

import hashlib
import hmac
import secrets
from typing import Any

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    InputResponse,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

STATE_KEY = secrets.token_bytes(32)

Answer = str | InputRequiredResult


def ask(message: str, **properties: dict[str, Any]) -> ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def ask_model(text: str) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=100))


def sign(state: str) -> str:
    """A state that the client carries and cannot change."""
    return f"{state}.{hmac.new(STATE_KEY, state.encode(), hashlib.sha256).hexdigest()}"


def read_state(context: Context[Any, Any]) -> str:
    """The state that comes back; "" in the first round. Raises MCPError if it was altered."""
    given = context.request_state or ""
    state = given.rpartition(".")[0]
    if given and not hmac.compare_digest(given, sign(state)):
        raise MCPError(-32602, "Invalid or expired requestState")
    return state


def read_text(answer: InputResponse | None, field: str) -> str:
    """A field of a form that was sent back; "" without an answer that fits."""
    value = answer.content.get(field) if isinstance(answer, ElicitResult) and answer.content else ""
    return value if isinstance(value, str) else ""


def add_inputs(fixtures: MCPServer) -> None:
    """Tools whose result asks the client, which then repeats the call with the answers."""
    add_single_inputs(fixtures)
    add_several_inputs(fixtures)
    add_stateful_inputs(fixtures)


def add_single_inputs(fixtures: MCPServer) -> None:
    name = ask("What is your name?", name={"type": "string"})

    @fixtures.tool()
    def test_input_required_result_elicitation(context: Context[Any, Any]) -> Answer:
        """Ask for a name."""
        given = read_text((context.input_responses or {}).get("user_name"), "name")
        return f"Hello, {given}!" if given else InputRequiredResult(input_requests={"user_name": name})

    @fixtures.tool()
    def test_streaming_elicitation(context: Context[Any, Any]) -> Answer:
        """Ask for a name."""
        return test_input_required_result_elicitation(context)

    @fixtures.tool()
    def test_input_required_result_sampling(context: Context[Any, Any]) -> Answer:
        """Ask the client's model."""
        if answer := (context.input_responses or {}).get("capital_question"):
            return f"The model said: {answer}"
        question = ask_model("What is the capital of France?")
        return InputRequiredResult(input_requests={"capital_question": question})

    @fixtures.tool()
    def test_input_required_result_list_roots(context: Context[Any, Any]) -> Answer:
        """Ask for the client's folders."""
        if answer := (context.input_responses or {}).get("client_roots"):
            return f"The folders are: {answer}"
        return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})


def add_several_inputs(fixtures: MCPServer) -> None:
    name = ask("What is your name?", name={"type": "string"})

    @fixtures.tool()
    def test_input_required_result_multiple_inputs(context: Context[Any, Any]) -> Answer:
        """Ask for three things at once."""
        requests = {
            "user_name": name,
            "greeting": ask_model("A greeting"),
            "client_roots": ListRootsRequest(),
        }
        if requests.keys() <= (context.input_responses or {}).keys():
            return "All inputs received."
        return InputRequiredResult(input_requests=requests, request_state=sign("asked"))

    @fixtures.tool()
    def test_input_required_result_capabilities(context: Context[Any, Any]) -> InputRequiredResult:
        """Ask only for what the client offers."""
        offered = context.client_capabilities
        requests: dict[str, Any] = {}
        if offered and offered.sampling is not None:
            requests["greeting"] = ask_model("A greeting")
        if offered and offered.elicitation is not None:
            requests["user_name"] = name
        return InputRequiredResult(input_requests=requests, request_state=sign("asked"))


def add_stateful_inputs(fixtures: MCPServer) -> None:
    confirm = ask("Please confirm", ok={"type": "boolean"})

    @fixtures.tool()
    def test_input_required_result_request_state(context: Context[Any, Any]) -> Answer:
        """Ask, and expect the state back."""
        if read_state(context) and context.input_responses:
            return "state-ok: confirmation received"
        return InputRequiredResult(input_requests={"confirm": confirm}, request_state=sign("asked"))

    @fixtures.tool()
    def test_input_required_result_tampered_state(context: Context[Any, Any]) -> Answer:
        """Refuse a state that was altered."""
        if state := read_state(context):
            return f"state-ok: {state}"
        return InputRequiredResult(input_requests={"confirm": confirm}, request_state=sign("asked"))

    @fixtures.tool()
    def test_input_required_result_multi_round(context: Context[Any, Any]) -> Answer:
        """Ask twice."""
        state, answers = read_state(context), context.input_responses or {}
        if color := read_text(answers.get("step2"), "color"):
            return f"{state} likes {color}."
        if name := read_text(answers.get("step1"), "name"):
            step = {"step2": ask("Step 2: What is your favorite color?", color={"type": "string"})}
            return InputRequiredResult(input_requests=step, request_state=sign(name))
        step = {"step1": ask("Step 1: What is your name?", name={"type": "string"})}
        return InputRequiredResult(input_requests=step, request_state=sign("began"))
