"""A provider on loopback that speaks the OpenAI chat-completions protocol and fails on demand.

In a test:      async with Stub(latency=0.2) as stub: ... stub.url ... stub.requests
As a child:     python -m benchmarks.stub --port 0 --latency 0.2     (prints its URL on a line)

The name of the model chooses the scenario ("openai/429"), unless `Stub.queue` holds one ("" succeeds).
`GET /asked` returns the requests received. The HTTP server is minimal: a call costs well under a millisecond,
so that measurements show the client.
"""

import argparse
import asyncio
import json
import re
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Self
from zlib import crc32

HUGE_TEXT_LENGTH = 1_000_000
FLOOD_BYTES = 1_000_000_000

ERROR_RESPONSES: dict[str, tuple[int, str, str]] = {
    "400": (400, "invalid_request_error", "The request is malformed."),
    "401": (401, "invalid_api_key", "Incorrect API key provided."),
    "403": (403, "permission_denied", "This key may not use this model."),
    "404": (404, "model_not_found", "The model does not exist."),
    "429": (429, "rate_limit_exceeded", "Rate limit reached for requests."),
    "500": (500, "server_error", "The server had an error."),
    "503": (503, "overloaded", "The engine is overloaded."),
    "context": (400, "context_length_exceeded", "This model's maximum context length is 4096 tokens."),
    "filtered": (400, "content_filter", "The response was filtered by the content policy."),
}
"""Scenarios that return an error: (status, code, message)."""

SCENARIOS = (
    *ERROR_RESPONSES,
    *("hang", "stall", "reset", "broken", "empty", "prose", "huge", "truncated", "calls", "plain", "flood"),
)
"""`hang` never responds, `stall` stops in the middle of a stream; `reset` closes the connection before the
response, `broken` within it; `prose` responds to a judge in prose; `huge` is a million characters; `calls`
calls
the first function offered, or those of `Stub.tool_calls`; `plain` refuses functions and schemas; `flood` sends a
gigabyte."""

_NOT_IN_PLAIN = ("tools", "response_format")

_HEADERS_END = b"\r\n\r\n"
_POSITION = re.compile(r"^> ([A-Z][a-z]+)\. (.*)", re.MULTILINE)


class ConnectionCutError(ConnectionError):
    """The stub closed the connection, as the scenario requires."""


@dataclass(frozen=True, slots=True)
class StubRequest:
    """A request received. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any = None


@dataclass
class Stub:
    latency: float = 0.0  # seconds before a response
    text: str = ""  # the reply; "" for prose that depends on the prompt
    chars: int = 0  # the exact length of the prose; 0 for about 60 words
    retry_after: str = "1"  # header of 429 and 503
    echo_key: bool = False  # errors repeat the key, as some providers do
    echo: str = ""  # every reply ends with it; of a finding, each text
    tool_calls: tuple[tuple[str, str], ...] = ()  # of `calls`: names and arguments
    reported_model: str = ""  # model name in responses; "" for the requested one
    port: int = 0
    queue: deque[str] = field(default_factory=deque)
    requests: list[StubRequest] = field(default_factory=list)
    flooded: int = 0  # bytes sent by `flood`
    in_flight: int = 0
    max_in_flight: int = 0
    abandoned_count: int = 0  # requests whose client disconnected before the response was complete
    change: asyncio.Event = field(default_factory=asyncio.Event)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chat_requests(self) -> list[StubRequest]:
        """The requests for completions."""
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", self.port, limit=2**24, backlog=1024
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def wait_until(self, *, in_flight: int | None = None, abandoned: int | None = None) -> None:
        """Wait up to 5 seconds for `in_flight` requests, or for `abandoned` requests in total."""
        async with asyncio.timeout(5):
            while (in_flight is not None and self.in_flight != in_flight) or (
                abandoned is not None and self.abandoned_count < abandoned
            ):
                self.change.clear()
                await self.change.wait()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while (request := await read_request(reader)) is not None:
                    await self._serve_request(request, reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve_request(
        self, request: StubRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if not request.path.endswith("/chat/completions"):
            writer.write(encode_response(200, self._build_info(request.path)))
            return
        self.requests.append(request)
        self._change_in_flight(1)
        # While nothing is sent, a disconnect shows only as the end of the client's stream.
        disconnect = asyncio.ensure_future(reader.read(1))
        responding = asyncio.ensure_future(self._respond(request, writer))
        try:
            await asyncio.wait((disconnect, responding), return_when=asyncio.FIRST_COMPLETED)
            if not responding.done():
                raise ConnectionResetError
            responding.result()
        except ConnectionError as error:
            self.abandoned_count += not isinstance(error, ConnectionCutError)
            raise
        finally:
            disconnect.cancel()
            responding.cancel()
            await asyncio.gather(disconnect, responding, return_exceptions=True)
            self._change_in_flight(-1)

    def _change_in_flight(self, difference: int) -> None:
        self.in_flight += difference
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        self.change.set()

    def _build_info(self, path: str) -> Any:
        if path.endswith("/models"):
            return {"object": "list", "data": [{"id": name, "object": "model"} for name in SCENARIOS]}
        return {
            "requests": len(self.requests),
            "most_in_flight": self.max_in_flight,
            "asked": [asdict(request) for request in self.requests],
        }

    async def _respond(self, request: StubRequest, writer: asyncio.StreamWriter) -> None:
        model = str(request.body.get("model", ""))
        scenario = self.queue.popleft() if self.queue else model
        if self.latency:
            await asyncio.sleep(self.latency)
        if scenario == "hang":
            await asyncio.Event().wait()
        if scenario == "reset":
            writer.transport.abort()
            raise ConnectionCutError
        if scenario == "flood":
            await self._flood(writer, is_stream=bool(request.body.get("stream")))
            return
        if scenario == "plain" and any(name in request.body for name in _NOT_IN_PLAIN):
            scenario = "400"
        if scenario in ERROR_RESPONSES:
            writer.write(self._build_error(scenario, request))
            return
        text, finish = self._choose_text(scenario, request.body)
        parts = build_completion(request.body, self.reported_model or model, text, finish)
        if scenario == "calls" and "tools" in request.body:
            add_tool_calls(
                parts["choices"][0],
                self.tool_calls or ((request.body["tools"][0]["function"]["name"], "{}"),),
            )
        if request.body.get("stream"):
            await self._stream(scenario, parts, writer)
        elif scenario == "broken":
            writer.write(encode_response(200, parts)[:-20])
            await writer.drain()
            raise ConnectionCutError
        else:
            writer.write(encode_response(200, parts))
        await writer.drain()

    def _build_error(self, scenario: str, request: StubRequest) -> bytes:
        status, code, message = ERROR_RESPONSES[scenario]
        if self.echo_key:
            message += f" You sent {request.headers.get('authorization', 'no key')}."
        body = {"error": {"message": message, "type": code, "code": code, "param": None}}
        wait = {"Retry-After": self.retry_after} if status in (429, 503) and self.retry_after else {}
        return encode_response(status, body, wait)

    def _choose_text(self, scenario: str, body: Mapping[str, Any]) -> tuple[str, str]:
        """(text, finish_reason)."""
        prompt = "\n".join(str(message.get("content")) for message in body.get("messages", ()))
        if scenario == "empty":
            return "", "stop"
        if scenario == "huge":
            return generate_prose(prompt, HUGE_TEXT_LENGTH), "stop"
        if "You are a judge" in prompt and scenario != "prose":
            whole = self.text or generate_finding(prompt, self.echo)
        else:
            whole = (self.text or generate_prose(prompt, self.chars)) + self.echo
        return (whole[: len(whole) // 2], "length") if scenario == "truncated" else (whole, "stop")

    async def _flood(self, writer: asyncio.StreamWriter, *, is_stream: bool) -> None:
        kind = "text/event-stream" if is_stream else "application/json"
        writer.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {FLOOD_BYTES}\r\n\r\n".encode()
        )
        writer.write(b'data: {"choices": [{"index": 0, "delta": {"content": "'[0 if is_stream else 6 :])
        piece = b"x" * 1_000_000
        while self.flooded < FLOOD_BYTES:
            writer.write(piece)
            await writer.drain()
            self.flooded += len(piece)

    async def _stream(self, scenario: str, completion: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        async for number, event in enumerate_events(split_completion(completion)):
            if scenario in ("stall", "broken") and number == 3:
                await writer.drain()
                if scenario == "broken":
                    writer.transport.abort()
                    raise ConnectionCutError
                await asyncio.Event().wait()
            data = f"data: {event}\n\n".encode()
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        writer.write(b"0\r\n\r\n")


async def read_request(reader: asyncio.StreamReader) -> StubRequest | None:
    """One request, or None if the client disconnected."""
    try:
        head = (await reader.readuntil(_HEADERS_END)).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    length = int(headers.get("content-length", "0"))
    body = json.loads(await reader.readexactly(length)) if length else None
    return StubRequest(method, path, headers, body)


def encode_response(status: int, body: Any, headers: Mapping[str, str] | None = None) -> bytes:
    data = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} -", "Content-Type: application/json", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + _HEADERS_END + data


def build_completion(body: Mapping[str, Any], model: str, text: str, finish_reason: str) -> dict[str, Any]:
    tokens_in = sum(len(str(message.get("content")).split()) for message in body.get("messages", ()))
    tokens_out = len(text.split())
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": model,
        "choices": [
            {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
            "prompt_tokens_details": {"cached_tokens": tokens_in // 2},
        },
    }


def add_tool_calls(choice: dict[str, Any], calls: Iterable[tuple[str, str]]) -> None:
    """Turn the choice into calls of functions."""
    choice["finish_reason"] = "tool_calls"
    choice["message"]["content"] = None
    choice["message"]["tool_calls"] = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls)
    ]


def split_tool_calls(calls: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The calls as providers stream them: first the name, then pieces of the arguments."""
    for index, whole in enumerate(calls):
        function = whole["function"]
        yield {"index": index, **whole, "function": {"name": function["name"], "arguments": ""}}
        size = max(7, len(function["arguments"]) // 20)
        for start in range(0, len(function["arguments"]), size):
            yield {"index": index, "function": {"arguments": function["arguments"][start : start + size]}}


def split_completion(completion: dict[str, Any]) -> Iterable[str]:
    """The completion as events of a stream, about a hundred at most."""
    choice = completion["choices"][0]
    text = choice["message"]["content"] or ""
    size = max(12, len(text) // 100)
    base = {**completion, "object": "chat.completion.chunk", "usage": None}
    for start in range(0, len(text), size):
        delta = {"role": "assistant", "content": text[start : start + size]}
        yield json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    for piece in split_tool_calls(choice["message"].get("tool_calls", ())):
        delta = {"role": "assistant", "content": None, "tool_calls": [piece]}
        yield json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield json.dumps(
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    )
    yield json.dumps({**base, "choices": [], "usage": completion["usage"]})
    yield "[DONE]"


async def enumerate_events(events: Iterable[str]) -> AsyncIterator[tuple[int, str]]:
    """Number the events and yield to the event loop between them, so that a disconnect is noticed."""
    for number, event in enumerate(events):
        yield number, event
        await asyncio.sleep(0)


def generate_prose(prompt: str, chars: int) -> str:
    words = ("this", "point", "matters", "because", "evidence", "and", "practice", "weigh", "against", "it")
    turn = crc32(prompt.encode())
    wanted = chars // 4 if chars else 60
    text = " ".join(words[(turn + number * number) % len(words)] for number in range(wanted))
    text = text[:1].upper() + text[1:] + "."
    return text[: chars - 1].ljust(chars - 1, "o") + "." if chars else text


def generate_finding(prompt: str, echo: str = "") -> str:
    """A finding that depends on question and positions only, not on the order of reading."""
    positions = sorted(set(_POSITION.findall(prompt)), key=lambda position: position[1])
    question = prompt.partition("# Question")[2].partition("# ")[0]
    winner, _ = positions[crc32(question.encode()) % len(positions)] if positions else ("", "")
    return json.dumps(
        {
            "reasoning": f"{winner} answered what was said against it; the others did not.{echo}",
            "verdict": f"{winner} prevailed.{echo}",
            "winner": winner,
            "criteria": dict.fromkeys(("support", "response", "relevance", "consequences"), winner),
            "beliefs": {**dict.fromkeys((label for label, _ in positions), 10), winner: 80, "none": 10},
            "would_change": f"A number that nobody gave.{echo}",
            "common_position": "",
        }
    )


async def serve_until_closed(stub: Stub) -> None:
    async with stub:
        print(stub.url, flush=True)
        # The parent ends the stub by closing its standard input, or by a signal.
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible stub on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before a response")
    parser.add_argument("--chars", type=int, default=0, help="length of a reply in characters")
    parser.add_argument("--text", default="", help="the reply")
    parser.add_argument("--queue", default="", help="scenarios of the first requests, separated by commas")
    given = parser.parse_args()
    queue = deque(given.queue.split(",") if given.queue else ())
    with suppress(KeyboardInterrupt):
        asyncio.run(
            serve_until_closed(Stub(given.latency, given.text, given.chars, port=given.port, queue=queue)),
        )


if __name__ == "__main__":
    main()
