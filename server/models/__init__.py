"""The seam to models: one method, `Model.reply`.

Whatever answers a question stands behind it: `litellm_model` (every provider), `local` (embedded),
`scripted` (deterministic, shipped: the tests and demonstrations of the whole product run on it), or an
object of your own. What a model cannot do it says with a `ModelError`; retries, time limits and
cancellation are its own business, so that the engine above knows one kind of failure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from server.debate.facts.events import Cause, Usage
from server.debate.prompts.render import Message, Prompt, PromptSummary
from server.debate.prompts.tool_schemas import Function, FunctionCall
from server.debate.replies.extract import Reply

__all__ = [
    "MAX_ATTEMPTS",
    "Cause",
    "Function",
    "FunctionCall",
    "Message",
    "Model",
    "ModelError",
    "OnText",
    "Prompt",
    "PromptSummary",
    "Reply",
    "Request",
    "Usage",
]

MAX_ATTEMPTS = 3
"""That a model makes to give one answer; a budget may leave room for fewer."""

OnText = Callable[[str], None]
"""Told each piece of a reply as it is written. Progress only: what counts is the `Reply`."""


@dataclass(frozen=True, slots=True)
class Request:
    prompt: Prompt
    seat: str
    max_tokens: int
    timeout: float  # seconds for the whole answer, retries included
    seed: int  # the same request with the same seed may be answered alike
    functions: tuple[Function, ...] = ()  # that may be called in place of answering
    max_attempts: int = MAX_ATTEMPTS  # at most: each may cost, whether it brings an answer or not


class ModelError(Exception):
    """The model gave no answer, and asking again now will not help.

    The text is shown to callers and recorded in the debate: it names the model and the cause, and
    never holds a key or a whole provider response.
    """

    def __init__(self, cause: Cause, detail: str, *, attempts: int = 1) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail
        self.attempts = attempts


class Model(Protocol):
    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Answer one question.

        Cancelling the call stops the work and the spending, as far as the provider lets it.

        Raises:
            ModelError: there is no answer.
        """
        ...
