"""A stand-in for Ollama on loopback: a model with a small window, which cuts what does not fit, unsaid."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.support.provider.completions import generate_finding, generate_prose
from tests.support.provider.stub import encode_response, read_request

CHARACTERS_PER_TOKEN = 4
DEFAULT_NUM_CTX = 4096  # what Ollama reads of a prompt unless it is asked for more


@dataclass
class Ollama:
    context_length: int = 2050  # of the model
    parameters: str = ""  # of its Modelfile
    limit: int = 0  # what it reads at most, whatever it says and is asked for; 0 for none
    thought: str = ""  # what it thinks aloud before an answer
    port: int = 0
    models: tuple[str, ...] = ()  # that it lists
    missing: set[str] = field(default_factory=set)  # models that it does not have
    shown: list[str] = field(default_factory=list)  # the models that `/api/show` was asked about
    requests: list[dict[str, Any]] = field(default_factory=list)  # the bodies of requests for an answer
    read: list[int] = field(default_factory=list)  # the tokens of each of them that the model was given
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while (request := await read_request(reader)) is not None:
                    body = request.body or {}
                    if (name := body.get("model")) in self.missing:
                        writer.write(encode_response(404, {"error": f"model '{name}' not found"}))
                    else:
                        writer.write(encode_response(200, self._answer(request.path, body)))
                    await writer.drain()
        finally:
            self._tasks.discard(task)
            writer.close()

    def _answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path == "/api/tags":
            details = {name: {"family": "nomic-bert" if "nomic" in name else "llama"} for name in self.models}
            return {"models": [{"name": name, "details": details[name]} for name in self.models]}
        if path == "/api/show":
            self.shown.append(body["model"] if "model" in body else body["name"])
            info = {"general.architecture": "tiny", "tiny.context_length": self.context_length}
            return {"model_info": info, "parameters": self.parameters, "capabilities": ["completion"]}
        self.requests.append(body)
        messages = body.get("messages") or ()
        prompt = body.get("prompt") or "\n".join(message["content"] for message in messages)
        asked = body["options"].get("num_ctx", DEFAULT_NUM_CTX)
        read = min(len(prompt) // CHARACTERS_PER_TOKEN, asked, self.context_length, self.limit or asked)
        self.read.append(read)
        is_asked_for_beliefs = "You are a judge" in prompt or "A private ballot" in prompt
        seen = prompt[-read * CHARACTERS_PER_TOKEN :]
        text = generate_finding(seen) if is_asked_for_beliefs else generate_prose(seen, 400)
        written = (len(self.thought) + len(text)) // CHARACTERS_PER_TOKEN
        counts = {"prompt_eval_count": read, "eval_count": written}
        thought = {"thinking": self.thought} if self.thought else {}
        said = (
            {"message": {"role": "assistant", "content": text, **thought}} if messages else {"response": text}
        )
        return {"model": body["model"], "done": True, "done_reason": "stop"} | said | counts
