"""What a model is sent."""

from dataclasses import dataclass
from typing import Any, Literal

from server.debate.prompts.tool_schemas import Function


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class PromptSummary:
    """The essentials of a prompt, for a model too small to use the whole."""

    task: str  # as people read it
    question: str
    round: int
    stance: str = ""
    opponent_text: str = ""  # the last argument of another seat, or the message to answer
    positions: tuple[tuple[str, str], ...] = ()  # (label, stance), in the order of the reading
    points: tuple[str, ...] = ()  # for a judge, the id of the first point of each position that has any
    choices: tuple[str, ...] = ()  # the names or labels to choose from, where the reply contains a choice


@dataclass(frozen=True, slots=True)
class Prompt:
    messages: tuple[Message, ...]
    summary: PromptSummary
    schema: dict[str, Any] | None = None  # the JSON Schema of the reply; None for prose
    strict: bool = True  # the schema is ours, and fit for the strict modes of providers
    functions: tuple[Function, ...] = ()
