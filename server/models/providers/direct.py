"""OpenAI-compatible endpoints and Ollama, asked without litellm."""

import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import KW_ONLY, dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from server.debate.rules.windows import estimate_tokens
from server.models import ModelError, OnText, Request
from server.models.prices import compute_token_cost, find_row
from server.models.providers.caches import (
    CACHE_OPTIONS,
    OTHERS,
    PromptCache,
    build_blocks,
    find_openai_cache,
)
from server.models.providers.connections import (
    Connections,
    ResponseError,
    UnreadableResponseError,
    read_body,
    read_lines,
    start_import,
)
from server.models.providers.endpoints import KEYED_PROVIDERS, Endpoint, check_callable
from server.models.providers.errors import ProviderFailure, classify_error
from server.models.providers.model import EFFORT, ProviderCaller, ProviderModel
from server.models.providers.response import Completion, read_completion, read_stream, read_token_count

if TYPE_CHECKING:
    import aiohttp

MAX_ERROR_LENGTH = 4_000

MIN_OLLAMA_WINDOW = 8192  # tokens
OLLAMA_MARGIN = 1.5  # code and tables have more tokens than the estimate


class Fields(dict[str, Any]):
    """A JSON object with its members as attributes; a missing member is None."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


@dataclass(eq=False)
class DirectCaller(ProviderCaller):
    """Asks an endpoint over HTTP."""

    _: KW_ONLY
    endpoint: Endpoint
    connections: Connections

    async def prepare(self) -> None:
        check_callable(self.name, self.endpoint.base)
        if self.endpoint.provider in KEYED_PROVIDERS and not self.endpoint.key:
            set_it = f"Set {self.endpoint.key_variable}, or choose another model."
            raise ModelError("unauthorized", f"{self.name}: there is no key for it. {set_it}")

    def post(self, path: str, body: dict[str, Any]) -> AbstractAsyncContextManager["aiohttp.ClientResponse"]:
        headers = {"authorization": f"Bearer {self.endpoint.key}"} if self.endpoint.key else {}
        return self.connections.post(self.endpoint.base + path, json.dumps(body).encode(), headers)

    def classify(self, error: Exception) -> ProviderFailure:
        key_variable = self.endpoint.key_variable if self.endpoint.key else ""
        return classify_error(error, self.name, key_variable=key_variable)


@dataclass(eq=False)
class DirectModel(DirectCaller, ProviderModel):
    """A model asked over HTTP. Subclasses define the paths and shapes of their protocol."""

    path = ""

    @abstractmethod
    def build_body(self, request: Request, extras: dict[str, Any], *, stream: bool) -> dict[str, Any]: ...

    @abstractmethod
    def read_line(self, line: bytes) -> Fields | None:
        """The chunk that a line of a streamed response holds; None if it holds none."""

    @abstractmethod
    def read_whole(self, answer: Any) -> Fields:
        """A response as a completion of OpenAI's protocol."""

    def start_loading(self) -> None:
        start_import()

    async def complete(self, request: Request, extras: dict[str, Any], on_text: OnText | None) -> Completion:
        body = self.build_body(request, extras, stream=on_text is not None)
        async with self.post(self.path, body) as response:
            try:
                if on_text:
                    completion = await read_stream(self._read_chunks(read_lines(response)), on_text)
                else:
                    completion = read_completion(self.read_whole(parse(await read_body(response))))
                if self.endpoint.provider == "xai" and completion.usage:
                    completion.usage = add_thoughts(completion.usage)
            except (ValueError, TypeError, AttributeError, LookupError) as error:
                raise UnreadableResponseError(f"It is not a completion ({type(error).__name__}).") from error
        return completion

    async def _read_chunks(self, lines: AsyncIterator[bytes]) -> AsyncIterator[Fields]:
        async with aclosing(lines):  # type: ignore[type-var]
            async for line in lines:
                if chunk := self.read_line(line):
                    yield chunk

    def look_up_cost(self, counts: Any) -> str:
        output_tokens = read_token_count(counts, "completion_tokens")
        reasoning = read_token_count(counts.completion_tokens_details, "reasoning_tokens")
        return compute_token_cost(
            self.name,
            read_token_count(counts, "prompt_tokens"),
            output_tokens,
            cached_tokens=read_token_count(counts.prompt_tokens_details, "cached_tokens"),
            kept_tokens=read_token_count(counts.prompt_tokens_details, "cache_write_tokens"),
            reasoning_tokens=min(reasoning, output_tokens),
        )


@dataclass(eq=False)
class OpenAIModel(DirectModel):
    path = "/chat/completions"
    _limit_field: str = field(default="max_tokens", init=False)

    def __post_init__(self) -> None:
        if self.endpoint.provider == "openai" and find_row(self.name).get("supports_reasoning"):
            self._limit_field = "max_completion_tokens"

    @property
    def cache(self) -> PromptCache:
        return find_openai_cache(self.name) if self.endpoint.provider == "openai" else OTHERS

    async def complete(self, request: Request, extras: dict[str, Any], on_text: OnText | None) -> Completion:
        try:
            return await super().complete(request, extras, on_text)
        except ResponseError as error:
            if self._limit_field == "max_tokens" and "max_completion_tokens' instead" in str(error):
                self._limit_field = "max_completion_tokens"  # a newer model than any table knows
                return await super().complete(request, extras, on_text)
            raise

    def build_body(self, request: Request, extras: dict[str, Any], *, stream: bool) -> dict[str, Any]:
        # Mistral counts tokens in streams unasked, and refuses fields that it does not know.
        is_mistral = self.endpoint.provider == "mistral"
        usage_options = {} if is_mistral else {"stream_options": {"include_usage": True}}
        messages: list[dict[str, Any]] = [
            {"role": m.role, "content": m.content} for m in request.prompt.messages
        ]
        if request.marks and CACHE_OPTIONS in extras:
            messages[-1]["content"] = build_blocks(request, self.cache.mark)
        return {
            "model": self.endpoint.model,
            "messages": messages,
            self._limit_field: self.find_limit(request),
            **extras,
            **({"stream": True} | usage_options if stream else {}),
        }

    def read_line(self, line: bytes) -> Fields | None:
        data = line.removeprefix(b"data:").strip()
        is_data = line.startswith(b"data:") and data and data != b"[DONE]"
        return join_parts(parse(data), "delta") if is_data else None

    def read_whole(self, answer: Any) -> Fields:
        return join_parts(answer, "message")


@dataclass(eq=False)
class OllamaModel(DirectModel):
    path = "/api/chat"
    _call_ids: Iterator[int] = field(default_factory=count, init=False)
    _window: int = field(default=MIN_OLLAMA_WINDOW, init=False)  # the largest that it was asked for

    def build_body(self, request: Request, extras: dict[str, Any], *, stream: bool) -> dict[str, Any]:
        options = {"num_ctx": self.choose_window(request), "num_predict": self.find_limit(request)}
        thinking = {"think": request.thinking != "off" and request.thinking} if EFFORT in extras else {}
        schema = extras.get("response_format", {}).get("json_schema", {}).get("schema")
        return {
            "model": self.endpoint.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.prompt.messages],
            "stream": stream,
            "options": options,
            **thinking,
            **({"tools": extras["tools"]} if "tools" in extras else {}),
            **({"format": schema} if schema else {}),
        }

    def read_line(self, line: bytes) -> Fields | None:
        return self._translate(parse(line), "delta")

    def read_whole(self, answer: Any) -> Fields:
        return self._translate(answer, "message")

    def choose_window(self, request: Request) -> int:
        """The `num_ctx` to ask Ollama for. Without it Ollama cuts prompts silently.

        Memory grows with it, and another value loads the model again: so it is a power of two with room to spare, and
        never less than before. It has room for twice the thinking tokens needed so far, since unused room costs memory.
        """
        tokens = estimate_tokens(message.content for message in request.prompt.messages)
        text = self.find_limit(request) - request.thinking_tokens
        thoughts = min(2 * self._max_thinking_tokens, request.thinking_tokens)
        while self._window < tokens * OLLAMA_MARGIN + text + thoughts:
            self._window *= 2
        return min(self._window, request.window or self._window)

    def _translate(self, answer: Any, part: str) -> Fields:
        """Translate one of Ollama's objects into OpenAI's protocol."""
        message = answer.message or Fields()
        # Each call comes whole and without an id, and every chunk numbers its calls from 0: give them ids.
        calls = [Fields(id=next(self._call_ids), function=c.function) for c in message.tool_calls or ()]
        fields = Fields(content=message.content or "", reasoning_content=message.thinking, tool_calls=calls)
        choice = Fields({part: fields})
        choice["finish_reason"] = answer.done_reason
        counts = Fields(prompt_tokens=answer.prompt_eval_count, completion_tokens=answer.eval_count)
        return Fields(model=answer.model, choices=[choice], usage=counts if answer.done else None)


def add_thoughts(counts: Fields) -> Fields:
    """Add thinking tokens to the counts of a provider that leaves them out of the completion."""
    thinking_tokens = read_token_count(counts.completion_tokens_details, "reasoning_tokens")
    output_tokens = read_token_count(counts, "completion_tokens") + thinking_tokens
    return Fields(counts | {"completion_tokens": output_tokens})


def parse(data: bytes) -> Any:
    """Parse a JSON object. Raises ResponseError for an error, which streams and proxies send with status 200."""
    answer = json.loads(data, object_hook=Fields)
    if not isinstance(answer, Fields):
        raise TypeError("it is not an object")
    if error := answer.error:
        code = error.code if isinstance(error, Fields) else None
        raise ResponseError(code if isinstance(code, int) else 0, json.dumps(answer)[:MAX_ERROR_LENGTH])
    return answer


def join_texts(pieces: Iterable[Any]) -> str:
    texts = (piece.text for piece in pieces if isinstance(piece, Fields))
    return "".join(text for text in texts if isinstance(text, str))


def join_parts(answer: Any, part: str) -> Fields:
    """Join the text of a completion into one string. Some models answer in parts, some of which are thoughts."""
    for choice in answer.choices or ():
        message = choice.get(part)
        if isinstance(message, Fields) and isinstance(message.content, list):
            pieces = [piece for piece in message.content if isinstance(piece, Fields)]
            message["content"] = join_texts(pieces)
            message["reasoning_content"] = "".join(join_texts(piece.thinking or ()) for piece in pieces)
        elif not isinstance(message, Fields):
            choice[part] = message = Fields()
        if not isinstance(message.content, str | None):
            raise TypeError("the content is not text")
    return answer  # type: ignore[no-any-return]
