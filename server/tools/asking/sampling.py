"""The client's own model, asked through MCP sampling.

Before the 2026 era the server sends a request to the client, which is possible while the client is connected. Since
then requests are part of the result of a call, and the client repeats the call with the answers. So the debate advances
while a call about it is open, and all seats that are due together are asked in one result.

Clients of SDKs give up the whole call if one of several requests is refused. Then each turn is asked for once more,
alone; if it is given up again, the turn has failed. A client that comes back twice in a row without any answer has a
person who refuses: it is not asked again for this debate until somebody resumes the debate.
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
GATHERING_SECONDS = 0.5  # to wait for all seats that are due together
MAX_ASKS = 2  # of one turn: first together with others, then alone

REFUSED = "the person at the client refused to have its model asked."
ADVICE = "Have them approve its requests, or give the seat another model with replace_model."


def offers_sampling(call: ToolCall) -> bool:
    """Whether the client lends its model."""
    session = call.context.session
    capability = session.client_capabilities.sampling if session.client_capabilities else None
    return (
        call.may_debate and capability is not None and (is_asked_by_result(call) or session.can_send_request)
    )


def build_message(request: Request) -> CreateMessageRequest:
    messages = request.prompt.messages
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    sampled_messages = [
        SamplingMessage(role=message.role, content=TextContent(type="text", text=message.content))
        for message in messages
        if message.role != "system"
    ]
    params = CreateMessageRequestParams(
        messages=sampled_messages, max_tokens=request.max_tokens, system_prompt=system or None
    )
    return CreateMessageRequest(params=params)


def read_reply(answer: InputResponse, seconds: float) -> Reply:
    """The reply in a client's answer. Raises ModelError if it has no text."""
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


def name_model(reported_name: str) -> str:
    """The name of a client's model: `client/` and the name that the client reports."""
    name = collapse_whitespace(clean(reported_name)).replace(" ", "-")[:MAX_MODEL_NAME_LENGTH]
    plain = "".join(letter if letter.isalnum() or letter in "._:/@+-" else "-" for letter in name)
    return f"{CLIENT}/{plain}" if plain.strip("-/") else CLIENT


def describe_refusal(error: MCPError) -> ModelError:
    """The failure that a client reports instead of an answer."""
    causes: dict[int, FailureCause] = {USER_REJECTED: "refused", METHOD_NOT_FOUND: "bad_request"}
    cause = causes.get(error.error.code, "unavailable")
    text = collapse_whitespace(clean(error.error.message))[:200]
    if cause == "refused":
        quote = f' It said: "{text}"' if text else ""
        return ModelError(cause, f"{CLIENT}: {REFUSED} {ADVICE}{quote}")
    return ModelError(cause, f"{CLIENT} gave no answer: {text}" if text else f"{CLIENT} gave no answer.")


def build_refusal() -> ModelError:
    """The failure of a turn that a client leaves unanswered."""
    return ModelError(
        "refused", f"{CLIENT} came back without an answer: its person may have refused. {ADVICE}"
    )


@dataclass(eq=False)
class LiveClient:
    """The model of a client of before the 2026 era, lent until the connection is closed."""

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
            raise ModelError(
                "unreadable", f"{CLIENT}: its answer is not a message of the protocol."
            ) from None
        return read_reply(answer, anyio.current_time() - started)


@dataclass(eq=False)
class QueuedTurn:
    """A turn that the client's model is to write."""

    request: Request
    since: float
    answer: InputResponse | Exception | None = None
    times: int = 0  # how often it was put into a result
    batch: int = 0  # the number of the last of these results
    until: float | None = None  # deadline of the answer, while the client has the request

    @property
    def is_out(self) -> bool:
        return self.until is not None and self.answer is None

    @property
    def is_due(self) -> bool:
        return self.until is None and self.answer is None


@dataclass(eq=False)
class SamplingQueue:
    """The requests of a debate to a client of the 2026 era, and the answers that its calls bring."""

    _: KW_ONLY
    seconds: float
    calls: int = 0  # open calls
    batches: int = 0
    refusals: int = 0  # times in a row that the client came back without any answer
    turns: dict[str, QueuedTurn] = field(default_factory=dict)  # by the key under which the answer comes
    changed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_lent(self) -> bool:
        return self.calls > 0 or any(turn.is_out for turn in self.turns.values())

    @property
    def is_refused(self) -> bool:
        return self.refusals >= MAX_ASKS

    def notify(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    @contextmanager
    def open_call(self) -> Iterator[None]:
        """Count an open call. When the last one ends, requests that the client did not get are withdrawn."""
        self.calls += 1
        try:
            yield
        finally:
            self.calls -= 1
            self.notify()

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:  # noqa: ARG002
        if self.is_refused:
            raise build_refusal()
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
            event, seconds = self.changed, (turn.until or float("inf")) - anyio.current_time()
            if seconds <= 0:
                raise ModelError("timeout", f"{CLIENT} did not answer within {self.seconds:g} seconds.")
            with anyio.move_on_after(seconds):
                await event.wait()
        if isinstance(turn.answer, Exception):
            raise turn.answer
        return turn.answer

    def accept(self, answers: Mapping[str, InputResponse], batch: int) -> None:
        """Accept the answers of a call. `batch`: the one that it answers; 0 for a call that answers none.

        Requests of the batch without an answer count as given up; in a call without a batch, all that are out.
        """
        for key, answer in answers.items():
            if (turn := self.turns.get(key)) and turn.times and turn.answer is None:
                turn.answer, self.refusals = answer, 0
        given_up = [turn for turn in self.turns.values() if turn.is_out and batch in (0, turn.batch)]
        self.refusals += bool(given_up) and not answers
        for turn in given_up:
            turn.until = None
        for turn in self.turns.values():
            is_last = turn.is_due and turn.times >= MAX_ASKS
            if turn.answer is None and (is_last or self.is_refused):
                turn.answer = build_refusal()
        self.notify()

    async def wait_until_due(self) -> None:
        while not any(turn.is_due for turn in self.turns.values()):
            await self.changed.wait()

    async def gather(self, count: int) -> None:
        """Wait briefly for `count` turns that are due together. There may be fewer, because of a budget."""
        with anyio.move_on_after(GATHERING_SECONDS):
            while len(self.turns) < count:
                await self.changed.wait()

    def hand_out(self) -> dict[str, CreateMessageRequest]:
        """The requests to make now: all that were not made yet, else one of those that the client gave up."""
        due_turns = {key: turn for key, turn in self.turns.items() if turn.is_due}
        turns = {key: turn for key, turn in due_turns.items() if not turn.times} or dict(
            [*due_turns.items()][:1]
        )
        self.batches += 1
        for turn in turns.values():
            turn.times, turn.batch = turn.times + 1, self.batches
            turn.until = anyio.current_time() + min(self.seconds, turn.request.timeout)
        self.notify()
        return {key: build_message(turn.request) for key, turn in turns.items()}


def get_queue(call: ToolCall, debate_id: str) -> SamplingQueue:
    client: Any = call.manager.clients.get(debate_id)
    is_queue = isinstance(client, SamplingQueue)
    return client if is_queue else SamplingQueue(seconds=call.manager.client_terms.seconds)
