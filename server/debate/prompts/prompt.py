"""What a model is sent."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from server.debate.prompts.tool_schemas import Function

_PARAGRAPH_END = re.compile(r"\n\n(?=\S)")


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
    record: int = 0  # characters of the last message before the task: question, documents, what was said
    documents: int = 0  # those of question and documents alone

    def list_record_ends(self) -> list[int]:
        """Where paragraphs of the record end: another prompt on the same model may begin alike up to any of these.

        What is quoted has no empty line, so that a document is one paragraph.
        """
        text = self.messages[-1].content
        return [found.end() for found in _PARAGRAPH_END.finditer(text, 0, self.record + 1)]
