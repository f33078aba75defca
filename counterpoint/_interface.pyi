# The interface to models for type checkers, which do not find `server` in an installed package.
# A test holds it to `server.models`, where all of it is defined and explained.

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

FailureCause: TypeAlias = Literal[
    "timeout",  # no answer in time
    "late",  # the time of the round or of the debate ran out
    "rate_limited",  # the provider asks for fewer requests
    "unavailable",  # the provider is down or cannot be reached
    "unauthorized",  # the key is missing or wrong
    "bad_request",  # the provider rejects the request: unknown model
    "too_long",  # the prompt does not fit the model's window
    "truncated",  # the model was shown only a part of the prompt
    "refused",  # a content filter
    "empty",  # the reply has no text
    "thought_too_long",  # its tokens were spent on thinking
    "unreadable",  # the reply is not what was asked for
    "crashed",  # the model's own code raised
]

OnText: TypeAlias = Callable[[str], None]

@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str

@dataclass(frozen=True, slots=True)
class Function:
    name: str
    description: str
    parameters: dict[str, Any]

@dataclass(frozen=True, slots=True)
class FunctionCall:
    name: str
    arguments: str

@dataclass(frozen=True, slots=True)
class PromptSummary:
    task: str
    question: str
    round: int
    stance: str = ""
    opponent_text: str = ""
    positions: tuple[tuple[str, str], ...] = ()
    points: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

@dataclass(frozen=True, slots=True)
class Prompt:
    messages: tuple[Message, ...]
    summary: PromptSummary
    schema: dict[str, Any] | None = None
    strict: bool = True
    functions: tuple[Function, ...] = ()
    record: int = 0
    documents: int = 0

    def list_record_ends(self) -> list[int]: ...

@dataclass(frozen=True, slots=True)
class Request:
    prompt: Prompt
    seat: str
    max_tokens: int
    timeout: float
    seed: int
    functions: tuple[Function, ...] = ()
    window: int = 0
    max_attempts: int = 3
    group: str = ""
    owner: str = ""
    thinking_tokens: int = 0
    thinking: Literal["low", "medium", "high", "off", ""] = ""
    sends_schema: bool = True
    marks: tuple[int, ...] = ()

    def find_next_speaker(self, step: int = 1) -> str: ...

class Usage(BaseModel, frozen=True):
    model: str
    author: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    thinking_tokens: int = 0
    cost_usd: str = ""
    milliseconds: int = 0
    attempts: int = 1
    sent_tokens: int = 0
    prompt_sha256: str = ""
    reused_from: str = ""
    reused_tokens: int = 0
    reply_id: str = ""

@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    usage: Usage
    cut: bool = False
    informative: bool = True
    function_calls: tuple[FunctionCall, ...] = ()

class ModelError(Exception):
    cause: FailureCause
    detail: str
    attempts: int
    may_be_repeated: bool
    usage: Usage | None

    def __init__(
        self,
        cause: FailureCause,
        detail: str,
        *,
        attempts: int = 1,
        may_be_repeated: bool = False,
        usage: Usage | None = None,
    ) -> None: ...
