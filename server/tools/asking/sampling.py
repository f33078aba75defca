"""The client's own model, asked through MCP sampling.

Before the 2026 era a request to it is a request of the server, which can be made as long as the client is connected.
Since then it is part of the result of a call: the client repeats the call with the answers. So the debate advances
while a call about it is open, and all seats that are due together are asked in one result.

What an SDK's client does when one of several answers is refused is to give up the whole call. Who did that is asked
once more, alone; given up again, that turn has failed.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp.types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    InputResponse,
    SamplingMessage,
    TextContent,
)
from pydantic import ValidationError

from server.debate.facts.setup.seats import CLIENT
from server.debate.facts.text import clean, collapse_whitespace
from server.models import FailureCause, ModelError, OnText, Reply, Request, Usage, limit_time
from server.models.client import WithdrawnError
from server.tools.asking.elicitation import is_asked_by_result
from server.tools.tool import ToolCall

USER_REJECTED = -1  # the code of the specification for a person who said no
MAX_TEXT_LENGTH = 1_000_000  # characters, after which an answer is cut
MAX_MODEL_NAME_LENGTH = 100
GATHERING_SECONDS = 0.5  # until seats are asked without those that should have been asked with them
TIMES_ASKED = 2  # first together with others, then alone


REFUSED = "the person at the client refused to have its model asked."
ADVICE = "Have them approve its requests, or give the seat another model with replace_model."


def offers_sampling(call: ToolCall) -> bool:
    """Whether the client lends its model."""
    session = call.context.session
    offered = session.client_capabilities.sampling if session.client_capabilities else None
    return call.may_debate and offered is not None and (is_asked_by_result(call) or session.can_send_request)


def build_message(request: Request) -> CreateMessageRequest:
    messages = request.prompt.messages
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    said = [
        SamplingMessage(role=message.role, content=TextContent(type="text", text=message.content))
        for message in messages
        if message.role != "system"
    ]
    params = CreateMessageRequestParams(
        messages=said, max_tokens=request.max_tokens, system_prompt=system or None
    )
    return CreateMessageRequest(params=params)


def read_reply(answer: InputResponse, seconds: float) -> Reply:
    """What a client answered. Raises ModelError where that is no text."""
    if not isinstance(answer, CreateMessageResult | CreateMessageResultWithTools):
        raise ModelError("unreadable", f"{CLIENT}: it answered with something other than a message.")
    blocks = answer.content if isinstance(answer.content, list) else [answer.content]
    texts = [block.text for block in blocks if isinstance(block, TextContent)]
    if blocks and not texts:
        raise ModelError("unreadable", f"{CLIENT}: it answered with {blocks[0].type}, and not with text.")
    text = "".join(texts)
    usage = Usage(model=name_model(answer.model), milliseconds=round(seconds * 1000))
    is_cut = answer.stop_reason == "maxTokens" or len(text) > MAX_TEXT_LENGTH
    return Reply(text[:MAX_TEXT_LENGTH], usage, cut=is_cut)


def name_model(reported: str) -> str:
    """The name that a client reports for its model, as that of a model of this client."""
    name = collapse_whitespace(clean(reported)).replace(" ", "-")[:MAX_MODEL_NAME_LENGTH]
    plain = "".join(letter if letter.isalnum() or letter in "._:/@+-" else "-" for letter in name)
    return f"{CLIENT}/{plain}" if plain.strip("-/") else CLIENT


def describe_refusal(error: MCPError) -> ModelError:
    """What a client says instead of an answer."""
    causes: dict[int, FailureCause] = {USER_REJECTED: "refused", METHOD_NOT_FOUND: "bad_request"}
    cause = causes.get(error.error.code, "unavailable")
    said = collapse_whitespace(clean(error.error.message))[:200]
    if cause == "refused":
        quoted = f' It said: "{said}"' if said else ""
        return ModelError(cause, f"{CLIENT}: {REFUSED} {ADVICE}{quoted}")
    return ModelError(cause, f"{CLIENT} gave no answer: {said}" if said else f"{CLIENT} gave no answer.")


@dataclass(eq=False)
class LiveClient:
    """A client of before the 2026 era. It lends its model until its connection is closed."""

    call: ToolCall
    is_gone: bool = False

    @property
    def is_lent(self) -> bool:
        session = self.call.context.session
        is_duplex = session._connection.session_id is None  # noqa: SLF001  (over HTTP a call carries the requests)
        return not self.is_gone and (is_duplex or session.can_send_request)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:  # noqa: ARG002
        session, started = self.call.context.session, anyio.current_time()
        related = self.call.context.request_id if session.can_send_request else None
        try:
            with limit_time(CLIENT, min(self.call.manager.client_terms.seconds, request.timeout)):
                answer = await session.send_request(
                    build_message(request),
                    CreateMessageResultWithTools,
                    metadata=ServerMessageMetadata(related_request_id=related),
                )
        except NoBackChannelError:
            self.is_gone = True
            raise WithdrawnError from None
        except MCPError as error:
            if error.error.code == CONNECTION_CLOSED:
                self.is_gone = True
                raise WithdrawnError from None
            raise describe_refusal(error) from None
        except ValidationError:
            raise ModelError("unreadable", f"{CLIENT}: its answer is no message of the protocol.") from None
        return read_reply(answer, anyio.current_time() - started)


@dataclass(eq=False)
class QueuedTurn:
    """A turn that the client's model is to write."""

    request: Request
    since: float
    answer: InputResponse | Exception | None = None
    times: int = 0  # that it was put into a result
    batch: int = 0  # the last of these
    until: float | None = None  # when the answer has to be there, while it is out

    @property
    def is_out(self) -> bool:
        return self.until is not None and self.answer is None

    @property
    def is_due(self) -> bool:
        return self.until is None and self.answer is None


@dataclass(eq=False)
class SamplingQueue:
    """What a debate asks of a client of the 2026 era, and the answers that its calls bring."""

    _: KW_ONLY
    seconds: float
    calls: int = 0  # that are open
    batches: int = 0
    turns: dict[str, QueuedTurn] = field(default_factory=dict)  # by the key under which the answer comes
    changed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_lent(self) -> bool:
        return self.calls > 0 or any(turn.is_out for turn in self.turns.values())

    def notify(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    @contextmanager
    def open_call(self) -> Iterator[None]:
        """A call is open. With the last one, what it was not asked for is withdrawn."""
        self.calls += 1
        try:
            yield
        finally:
            self.calls -= 1
            self.notify()

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:  # noqa: ARG002
        key = f"{request.seat} {secrets.token_urlsafe(9)}"
        self.turns[key] = turn = QueuedTurn(request, anyio.current_time())
        self.notify()
        try:
            answer = await self._wait_for_answer(turn)
        finally:
            del self.turns[key]
            self.notify()
        return read_reply(answer, anyio.current_time() - turn.since)

    async def _wait_for_answer(self, turn: QueuedTurn) -> InputResponse:
        while turn.answer is None:
            if not self.is_lent:
                raise WithdrawnError
            changed, left = self.changed, (turn.until or float("inf")) - anyio.current_time()
            if left <= 0:
                raise ModelError("timeout", f"{CLIENT} did not answer within {self.seconds:g} seconds.")
            with anyio.move_on_after(left):
                await changed.wait()
        if isinstance(turn.answer, Exception):
            raise turn.answer
        return turn.answer

    def take(self, answers: Mapping[str, InputResponse], batch: int) -> None:
        """Take what a call brings. `batch`: the one that it answers; 0 for a call that answers none.

        What the client leaves out it has given up; so has a client that calls anew, all that is out.
        """
        for key, answer in answers.items():
            if (turn := self.turns.get(key)) and turn.times and turn.answer is None:
                turn.answer = answer
        for turn in self.turns.values():
            if turn.is_out and batch in (0, turn.batch):
                turn.until = None
                if turn.times >= TIMES_ASKED:
                    detail = f"{CLIENT} came back without an answer: its person may have refused. {ADVICE}"
                    turn.answer = ModelError("refused", detail)
        self.notify()

    async def wait_until_due(self) -> None:
        while not any(turn.is_due for turn in self.turns.values()):
            await self.changed.wait()

    async def gather(self, count: int) -> None:
        """Wait for so many turns that are due together; a budget may let fewer of them be asked for."""
        with anyio.move_on_after(GATHERING_SECONDS):
            while len(self.turns) < count:
                await self.changed.wait()

    def hand_out(self) -> dict[str, CreateMessageRequest]:
        """What to ask now: all that was not asked yet, else one of those that the client gave up."""
        due = {key: turn for key, turn in self.turns.items() if turn.is_due}
        chosen = {key: turn for key, turn in due.items() if not turn.times} or dict([*due.items()][:1])
        self.batches += 1
        for turn in chosen.values():
            turn.times, turn.batch = turn.times + 1, self.batches
            turn.until = anyio.current_time() + min(self.seconds, turn.request.timeout)
        self.notify()
        return {key: build_message(turn.request) for key, turn in chosen.items()}


def find_queue(call: ToolCall, debate_id: str) -> SamplingQueue:
    found: Any = call.manager.clients.get(debate_id)
    return (
        found
        if isinstance(found, SamplingQueue)
        else SamplingQueue(seconds=call.manager.client_terms.seconds)
    )
