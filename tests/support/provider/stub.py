"""A provider on loopback that speaks the protocols of OpenAI, Anthropic and Google, and fails on demand.

In a test:      async with Stub(latency=0.2) as stub: ... stub.url ... stub.requests
As a child:     python -m tests.support.provider.stub --port 0 --latency 0.2     (prints its URL on a line)

The name of the model chooses the scenario ("openai/429"), unless `Stub.queue` holds one ("" succeeds).
`GET /asked` returns the requests received. The HTTP server is minimal: a call costs well under a millisecond, so that
measurements show the client.
"""

import argparse
import asyncio
import json
import re
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.support.provider import dialects
from tests.support.provider.advice import find_task, generate_advice
from tests.support.provider.completions import (
    add_thoughts,
    add_tool_calls,
    build_completion,
    find_limit,
    generate_finding,
    generate_positions,
    generate_prose,
)

HUGE_TEXT_LENGTH = 1_000_000
FIRST_EVENTS = 4
"""Events of a stream with which it has some words in every protocol."""
FLOOD_BYTES = 1_000_000_000

ERROR_RESPONSES: dict[str, tuple[int, str, str]] = {
    "400": (400, "invalid_request_error", "The request is malformed."),
    "401": (401, "invalid_api_key", "Incorrect API key provided."),
    "403": (403, "permission_denied", "This key may not use this model."),
    "404": (404, "model_not_found", "The model does not exist."),
    "413": (413, "request_too_large", "The request is too large."),
    "429": (429, "rate_limit_exceeded", "Rate limit reached for requests."),
    "500": (500, "server_error", "The server had an error."),
    "503": (503, "overloaded", "The engine is overloaded."),
    "context": (400, "context_length_exceeded", "This model's maximum context length is 4096 tokens."),
    "filtered": (400, "content_filter", "The response was filtered by the content policy."),
}
"""Scenarios that return an error: (status, code, message)."""

RAW_RESPONSES: dict[str, tuple[int, str, bytes]] = {
    "html": (502, "text/html", b"<html><body><h1>502 Bad Gateway</h1></body></html>"),
    "malformed": (200, "application/json", b'{"choices": [{"message": {"content": "It'),
}
"""Scenarios whose response is not that of the protocol: (status, type, body)."""

SCENARIOS = (
    *ERROR_RESPONSES,
    *("html", "malformed", "stopped"),
    *("hang", "stall", "reset", "broken", "empty", "prose", "huge", "truncated", "calls", "plain", "flood"),
    *("thinks-2600", "thinks-30000", "thinks-99999", "takes-4096", "exhausts-2600", "no_effort", "no_cache"),
)
"""`hang` never responds, `stall` stops in the middle of a stream; `reset` closes the connection before the
response, `broken` within it; `html` is an error page of a proxy, `malformed` no JSON, `stopped` a reply that a filter
withheld; `prose` responds to a judge in prose; `huge` is a million characters; `calls` calls
the first function offered, or those of `Stub.tool_calls`; `plain` refuses functions and schemas; `flood` sends a
gigabyte; `thinks-N` thinks for N tokens before it writes; `takes-N` refuses a limit above N tokens; `exhausts-N` is
one that thinks, too, and refuses a limit within which it cannot end, as OpenAI's do; `no_effort` knows no
`reasoning_effort`, `no_cache` no `prompt_cache_options`. Those with a number may have any other."""

_NUMBERED = re.compile(r"(thinks|takes|exhausts)-(\d{1,9})")

_NOT_IN_PLAIN = ("tools", "response_format")

_HEADERS_END = b"\r\n\r\n"


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
    pause: float = 0.0  # seconds more until it is complete: of a stream, after its first events
    text: str = ""  # the reply; "" for prose that depends on the prompt
    chars: int = 0  # the exact length of the prose; 0 for about 60 words
    retry_after: str = "1"  # header of 429 and 503
    echo_key: bool = False  # errors repeat the key, as some providers do
    echo: str = ""  # every reply ends with it; of a finding, each text
    tool_calls: tuple[tuple[str, str], ...] = ()  # of `calls`: names and arguments
    reported_model: str = ""  # model name in responses; "" for the requested one
    script: Callable[[str, str, str], str] | None = None
    """The scenario or the reply for a task of the answer format, by task, model and prompt; "" for the usual one."""
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
        return [request for request in self.requests if dialects.is_completion(request.path)]

    @property
    def request_count(self) -> int:
        return len(self.requests)

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
        if not dialects.is_completion(request.path):
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
            "requests": self.request_count,
            "most_in_flight": self.max_in_flight,
            "asked": [asdict(request) for request in self.requests],
        }

    async def _respond(self, request: StubRequest, writer: asyncio.StreamWriter) -> None:
        body = dialects.read_body(request.path, request.body)
        model = str(body.get("model", ""))
        scenario = self.queue.popleft() if self.queue else self._follow_script(body, model) or model
        await asyncio.sleep(self.latency + (0 if body.get("stream") else self.pause))
        if scenario == "hang":
            await asyncio.Event().wait()
        if scenario == "reset":
            writer.transport.abort()
            raise ConnectionCutError
        if scenario == "flood":
            await self._flood(writer, is_stream=bool(body.get("stream")))
            return
        if scenario == "plain" and any(name in body for name in _NOT_IN_PLAIN):
            scenario = "400"
        if error := self._build_error(scenario, request) or build_limit_error(scenario, body):
            writer.write(error)
            return
        text, finish = self._choose_text(scenario, body)
        parts = build_completion(body, self.reported_model or model, text, finish)
        if found := _NUMBERED.fullmatch(scenario):
            add_thoughts(parts, body, 0 if found[1] == "takes" else int(found[2]))
        if scenario == "calls" and "tools" in body:
            add_tool_calls(
                parts["choices"][0],
                self.tool_calls or ((body["tools"][0]["function"]["name"], "{}"),),
            )
        if body.get("stream"):
            await self._stream(scenario, dialects.split_events(request.path, parts), writer)
        elif scenario == "broken":
            writer.write(encode_response(200, dialects.write_completion(request.path, parts))[:-20])
            await writer.drain()
            raise ConnectionCutError
        else:
            writer.write(encode_response(200, dialects.write_completion(request.path, parts)))
        await writer.drain()

    def _follow_script(self, body: Mapping[str, Any], model: str) -> str:
        task = find_task(prompt := join_prompt(body)) if self.script else ""
        return self.script(task, model, prompt) if self.script and task else ""

    def _build_error(self, scenario: str, request: StubRequest) -> bytes:
        if scenario in RAW_RESPONSES:
            return encode_bytes(*RAW_RESPONSES[scenario])
        if scenario not in ERROR_RESPONSES:
            return b""
        status, code, message = ERROR_RESPONSES[scenario]
        if self.echo_key:
            message += f" You sent {request.headers.get('authorization', 'no key')}."
        body = {"error": {"message": message, "type": code, "code": code, "param": None}}
        wait = {"Retry-After": self.retry_after} if status in (429, 503) and self.retry_after else {}
        return encode_response(status, body, wait)

    def _choose_text(self, scenario: str, body: Mapping[str, Any]) -> tuple[str, str]:
        """(text, finish_reason)."""
        prompt = join_prompt(body)
        if scenario in ("empty", "stopped"):
            return "", "stop" if scenario == "empty" else "content_filter"
        if scenario == "huge":
            return generate_prose(prompt, HUGE_TEXT_LENGTH), "stop"
        is_asked_for_beliefs = "You are a judge" in prompt or '"beliefs": {' in prompt
        is_known = scenario in SCENARIOS or bool(_NUMBERED.fullmatch(scenario))
        if scenario and not is_known and scenario != body.get("model"):
            return scenario, "stop"  # of the script
        if is_asked_for_beliefs and scenario != "prose":
            whole = self.text or generate_finding(prompt, self.echo)
        elif '"kind": "yes_no or open"' in prompt and scenario != "prose":
            whole = self.text or generate_positions()
        elif scenario != "prose" and (advice := generate_advice(prompt, str(body.get("model")), self.chars)):
            whole = (self.text or advice) + self.echo
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

    async def _stream(self, scenario: str, events: Iterable[str], writer: asyncio.StreamWriter) -> None:
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        async for number, event in enumerate_events(events):
            if scenario in ("stall", "broken") and number == 3:
                await writer.drain()
                if scenario == "broken":
                    writer.transport.abort()
                    raise ConnectionCutError
                await asyncio.Event().wait()
            if number == FIRST_EVENTS:
                await writer.drain()
                await asyncio.sleep(self.pause)
            data = f"{event}\n\n".encode()
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        writer.write(b"0\r\n\r\n")


def join_prompt(body: Mapping[str, Any]) -> str:
    return "\n".join(dialects.join_texts(message.get("content")) for message in body.get("messages", ()))


def build_limit_error(scenario: str, body: Mapping[str, Any]) -> bytes:
    """The refusal of a limit that is too high or too low, or of a field that is not known; empty if there is none."""
    found, limit = _NUMBERED.fullmatch(scenario), find_limit(body)
    message = ""
    if scenario == "no_effort" and "reasoning_effort" in body:
        message = "Unrecognized request argument supplied: reasoning_effort"
    if scenario == "no_cache" and "prompt_cache_options" in body:
        message = "Unknown parameter: 'prompt_cache_options'."
    if found and found[1] == "takes" and limit > int(found[2]):
        message = (
            f"max_tokens is too large: {limit}. This model supports at most {found[2]} completion tokens."
        )
    if found and found[1] == "exhausts" and limit <= int(found[2]):
        message = "Could not finish the message because max_tokens or model output limit was reached. "
        message += "Please try again with higher max_tokens."
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return encode_response(400, {"error": error}) if message else b""


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
    return encode_bytes(status, "application/json", json.dumps(body).encode(), headers)


def encode_bytes(
    status: int, content_type: str, data: bytes, headers: Mapping[str, str] | None = None
) -> bytes:
    lines = [f"HTTP/1.1 {status} -", f"Content-Type: {content_type}", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + _HEADERS_END + data


async def enumerate_events(events: Iterable[str]) -> AsyncIterator[tuple[int, str]]:
    """Number the events and yield to the event loop between them, so that a disconnect is noticed."""
    for number, event in enumerate(events):
        yield number, event
        await asyncio.sleep(0)


async def serve_until_closed(stub: Stub) -> None:
    async with stub:
        print(stub.url, flush=True)  # noqa: T201  (it tells its parent)
        # The parent ends the stub by closing its standard input, or by a signal.
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible stub on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before a response")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds more until it is complete")
    parser.add_argument("--chars", type=int, default=0, help="length of a reply in characters")
    parser.add_argument("--text", default="", help="the reply")
    parser.add_argument("--queue", default="", help="scenarios of the first requests, separated by commas")
    given = vars(parser.parse_args())
    given["queue"] = deque(given["queue"].split(",") if given["queue"] else ())
    with suppress(KeyboardInterrupt):
        asyncio.run(serve_until_closed(Stub(**given)))


if __name__ == "__main__":
    main()
