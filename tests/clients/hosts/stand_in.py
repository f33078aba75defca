"""A stand-in on loopback for a model provider: the model of a real host, following a script, with a record.

It speaks Anthropic Messages, OpenAI Responses, OpenAI chat completions and Gemini, as far as the hosts use them.
What it records are the requests that the host sent, so that a test can say what a model would have been shown.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Events = list[tuple[str, Json]]

CALL_PREFIX = "call_cp"  # of the ids of the calls that the script makes


@dataclass(frozen=True)
class ToolCall:
    tool: str  # without the prefix that the host puts before it
    arguments: Json
    id_prefix: str = CALL_PREFIX


Script = Callable[[Sequence[str]], ToolCall | str]
"""From the results that the model was shown of its calls, in order, to its next call or its last words."""


@dataclass
class Record:
    """What the host sent."""

    requests: list[Json] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)  # the results of the calls, as the model is shown them

    @property
    def instructions(self) -> str:
        """Everything that the model was sent beside the results, as JSON."""
        return json.dumps(self.requests[-1])


def flatten(content: Any) -> str:
    """The text of a result, whether it is a text or a list of blocks."""
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in content if isinstance(block, dict))


class StandIn(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.record, self.lock = script, Record(), threading.Lock()
        self.searched: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, request: Json, results: dict[str, str], tools: Sequence[str]) -> ToolCall | str:
        """The model's next step. Only a request that offers the script's tools is a part of the conversation."""
        with self.lock:
            self.record.requests.append(request)
            shown = [text for call, text in results.items() if call.startswith(CALL_PREFIX)]
            if len(shown) > len(self.record.shown):
                self.record.shown = shown
            step = self.script(shown)
        if isinstance(step, str):
            return step
        if name := next((name for name in tools if name.endswith(step.tool)), None):
            return ToolCall(name, step.arguments)
        return self.search(step, request, tools)

    def search(self, step: ToolCall, request: Json, tools: Sequence[str]) -> ToolCall | str:
        """Load a tool of which the model was told the name or the server alone, once."""
        if step.tool in self.searched:
            return f"There is no tool {step.tool}."
        self.searched.add(step.tool)
        if "tool_search" in tools:  # Codex
            return ToolCall("tool_search", {"query": f"counterpoint {step.tool}"}, "call_search")
        name = re.search(rf"mcp__\w+__{step.tool}\b", json.dumps(request.get("messages")))
        if name is None or "ToolSearch" not in tools:
            return f"There is no tool {step.tool}."
        query = {"query": f"select:{name[0]}", "max_results": 1}
        return ToolCall("ToolSearch", query, "call_search")  # Claude Code


@contextmanager
def run_stand_in(script: Script) -> Iterator[StandIn]:
    with StandIn(script) as stand_in:
        thread = threading.Thread(target=stand_in.serve_forever)
        thread.start()
        try:
            yield stand_in
        finally:
            stand_in.shutdown()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StandIn

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def send(self, body: bytes, media_type: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_events(self, events: Events) -> None:
        lines = (f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events)
        self.send("".join(lines).encode(), "text/event-stream")

    def do_HEAD(self) -> None:
        self.send(b"")

    def do_GET(self) -> None:
        self.send(b'{"object": "list", "data": [], "models": []}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "/messages" in self.path and "count_tokens" not in self.path:
            self.answer_messages(json.loads(body))
        elif "/responses" in self.path:
            self.answer_responses(json.loads(body))
        elif "/chat/completions" in self.path:
            self.answer_chat(json.loads(body))
        elif "GenerateContent" in self.path or "generateContent" in self.path:
            self.answer_gemini(json.loads(body), streams="stream" in self.path)
        else:
            self.send(b'{"input_tokens": 10}')

    def answer_messages(self, request: Json) -> None:
        """Anthropic Messages."""
        blocks = [block for message in request["messages"] for block in message["content"]]
        results = {
            block["tool_use_id"]: flatten(block.get("content", ""))
            for block in blocks
            if isinstance(block, dict) and block.get("type") == "tool_result"
        }
        tools = [tool["name"] for tool in request.get("tools", ()) if "name" in tool]
        step = self.server.answer(request, results, tools)
        if isinstance(step, str):
            block: Json = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": step}
        else:
            block = {
                "type": "tool_use",
                "id": f"{step.id_prefix}{len(results)}",
                "name": step.tool,
                "input": {},
            }
            delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
        reason = "end_turn" if isinstance(step, str) else "tool_use"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"]}
        usage = {"input_tokens": 5, "output_tokens": 5}
        if not request.get("stream"):
            text = {"type": "text", "text": step if isinstance(step, str) else ""}
            whole = {**message, "content": [text], "stop_reason": "end_turn", "usage": usage}
            return self.send(json.dumps(whole).encode())
        start = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return self.send_events(
            [
                ("message_start", {"message": start}),
                ("content_block_start", {"index": 0, "content_block": block}),
                ("content_block_delta", {"index": 0, "delta": delta}),
                ("content_block_stop", {"index": 0}),
                ("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}),
                ("message_stop", {}),
            ]
        )

    def answer_responses(self, request: Json) -> None:
        """OpenAI Responses. Tools of MCP servers come in a namespace of each server, or are to be searched for."""
        given = [item for item in request["input"] if isinstance(item, dict)]
        results = {
            item["call_id"]: flatten(item["output"])
            for item in given
            if item.get("type") == "function_call_output"
        }
        offered = [*request.get("tools", ()), *(tool for item in given for tool in item.get("tools") or ())]
        spaces = {
            tool["name"]: space["name"]
            for space in offered
            if space.get("type") == "namespace"
            for tool in space["tools"]
        }
        kinds = {tool.get("type"): tool.get("type") for tool in offered}
        step = self.server.answer(request, results, [*spaces, *kinds])
        number = len(given)
        item: Json = {"id": f"item_{number}", "status": "completed"}
        if isinstance(step, str):
            part = {"type": "output_text", "text": step, "annotations": []}
            item |= {"type": "message", "role": "assistant", "content": [part]}
        elif step.tool == "tool_search":
            item |= {"type": "tool_search_call", "execution": "client", "arguments": step.arguments}
            item["call_id"] = f"{step.id_prefix}{number}"
        else:
            call = {"call_id": f"{step.id_prefix}{number}", "arguments": json.dumps(step.arguments)}
            item |= {"type": "function_call", "name": step.tool, "namespace": spaces[step.tool], **call}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        whole = {"id": f"resp_{number}", "object": "response", "model": request["model"], "usage": usage}
        self.send_events(
            [
                ("response.created", {"response": {**whole, "status": "in_progress", "output": []}}),
                ("response.output_item.added", {"output_index": 0, "item": item}),
                ("response.output_item.done", {"output_index": 0, "item": item}),
                ("response.completed", {"response": {**whole, "status": "completed", "output": [item]}}),
            ]
        )

    def answer_chat(self, request: Json) -> None:
        """OpenAI chat completions, streamed."""
        messages = request["messages"]
        results = {one["tool_call_id"]: flatten(one["content"]) for one in messages if one["role"] == "tool"}
        tools = [tool["function"]["name"] for tool in request.get("tools", ()) if "function" in tool]
        step = self.server.answer(request, results, tools)
        said: Json = {"role": "assistant"}
        if isinstance(step, str):
            said["content"] = step
        else:
            function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
            call_id = f"{step.id_prefix}{len(messages)}"
            said["tool_calls"] = [{"index": 0, "id": call_id, "type": "function", "function": function}]
        reason = "stop" if isinstance(step, str) else "tool_calls"
        choices: list[Json] = [{"delta": said, "finish_reason": None}, {"delta": {}, "finish_reason": reason}]
        chunk = {"id": "chat", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
        chunks = [json.dumps({**chunk, "choices": [{"index": 0, **choice}]}) for choice in choices]
        self.send("".join(f"data: {part}\n\n" for part in [*chunks, "[DONE]"]).encode(), "text/event-stream")

    def answer_gemini(self, request: Json, *, streams: bool) -> None:
        """Gemini. Results have no ids here: they come in the order of the calls."""
        parts = [part for content in request["contents"] for part in content["parts"]]
        given = [part["functionResponse"] for part in parts if "functionResponse" in part]
        results = {
            f"{CALL_PREFIX}{index}": str(one["response"].get("output", one["response"]))
            for index, one in enumerate(given)
        }
        offered = request.get("tools", ())
        tools = [tool["name"] for group in offered for tool in group.get("functionDeclarations", ())]
        step = self.server.answer(request, results, tools)
        said = (
            {"text": step}
            if isinstance(step, str)
            else {"functionCall": {"name": step.tool, "args": step.arguments}}
        )
        candidate = {"content": {"role": "model", "parts": [said]}, "finishReason": "STOP", "index": 0}
        whole = json.dumps({"candidates": [candidate], "usageMetadata": {"totalTokenCount": 2}})
        if streams:
            self.send(f"data: {whole}\n\n".encode(), "text/event-stream")
        else:
            self.send(whole.encode())
