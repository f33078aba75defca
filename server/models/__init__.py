"""The interface to models: one method, `Model.reply`.

Implementations: `providers` (over the network), `local` (embedded), `fakes` (deterministic, for tests and dry
runs) and `own` (objects and functions of users). A model reports every failure as a `ModelError`; retries,
time limits and cancellation are its own business, so that the engine handles one kind of failure.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal, Protocol

import anyio

from server.debate.facts.answers import Usage
from server.debate.facts.causes import FailureCause
from server.debate.facts.errors import InvalidRequestError
from server.debate.prompts.prompt import Function, FunctionCall, Message, Prompt, PromptSummary
from server.debate.replies.extract import Reply

# Types of the debate that are part of this interface, re-exported.
__all__ = ["FailureCause", "Function", "FunctionCall", "Message", "Prompt", "PromptSummary", "Reply", "Usage"]

LITELLM_PREFIX = "litellm/"  # names that are asked through litellm, even where they could be asked directly
MAX_ATTEMPTS = 3  # for one reply; a budget may allow fewer
OnText = Callable[[str], None]
"""Gets each piece of a reply as it is written, and "" where one begins; the result is the `Reply`."""


@dataclass(frozen=True, slots=True)
class Request:
    prompt: Prompt
    seat: str
    max_tokens: int  # of the whole reply, with what a model thinks before it writes
    timeout: float  # seconds for the whole reply, retries included
    seed: int  # a model may return the same reply for the same request and seed
    functions: tuple[Function, ...] = ()  # the model may call these instead of answering
    window: int = 0  # tokens that the model can read and write together; 0 where unknown
    max_attempts: int = MAX_ATTEMPTS  # each attempt may cost money, with or without a reply
    group: str = ""  # requests of one debate; groups of an owner take turns where requests have to wait
    owner: str = ""  # whose debate it is; owners take turns
    thinking_tokens: int = 0  # the part of max_tokens that is for thoughts
    thinking: Literal["low", "medium", "high", "off", ""] = (
        ""  # how much to think; "" for the model's default
    )
    sends_schema: bool = True  # else the prompt alone says what the reply looks like
    marks: tuple[
        int, ...
    ] = ()  # ends of beginnings of the last message that a provider's cache keeps, or has kept

    def find_next_speaker(self, step: int = 1) -> str:
        """For models that do not choose: the speaker `step` places after the seat, by label; "" if there is none."""
        choices = self.prompt.summary.choices  # in the order of the table, from the seat on
        return choices[(step - 1) % len(choices)] if choices else ""


class KeyMissingError(InvalidRequestError):
    """A model cannot be asked, because its key is not set where the server runs."""


class ModelError(Exception):
    """The model gave no reply, and an immediate repeat will not help.

    The text is shown to callers and recorded in the debate. It names the model and the cause, and never
    contains a key or a whole provider response. `usage`: what answered requests consumed before the failure.
    """

    def __init__(
        self,
        cause: FailureCause,
        detail: str,
        *,
        attempts: int = 1,
        may_be_repeated: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail
        self.attempts = attempts
        self.may_be_repeated = may_be_repeated  # once fewer requests are in flight
        self.usage = usage


@dataclass(slots=True)
class Attempt:
    """One request to a model, for telemetry: what it is, and how it ended. It holds no texts."""

    model: str  # as debates name it
    provider: str
    seat: str = ""
    task: str = ""
    max_tokens: int = 0
    operation: Literal["chat", "embeddings"] = "chat"
    # Set when it has ended, unless it was cancelled or raised something.
    usage: Usage | None = None
    finish_reason: str = ""  # in the provider's words
    failure: FailureCause | None = None


WatchAttempt = Callable[[Attempt], AbstractContextManager[None]]
"""Makes the context in which a request runs. Entering and leaving it may neither raise nor block."""


def watch_nothing(attempt: Attempt) -> AbstractContextManager[None]:  # noqa: ARG001
    return nullcontext()


def build_attempt(model: str, provider: str, request: Request) -> Attempt:
    return Attempt(model, provider, request.seat, request.prompt.summary.task, request.max_tokens)


@contextmanager
def limit_time(name: str, seconds: float) -> Iterator[None]:
    """Raises ModelError if the block takes longer, or raises TimeoutError itself."""
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        raise ModelError("timeout", f"{name} did not answer within {seconds:g} seconds.") from None


class Model(Protocol):
    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Reply, or raise ModelError. Cancelling stops the provider's work as far as the provider allows."""
