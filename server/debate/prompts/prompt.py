"""What a model is sent, and the functions that it may call instead of answering."""

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from server.debate.facts.text import collapse_whitespace
from server.debate.schemas.plain_json import plain_json

MAX_ARGUMENTS_LENGTH = 20_000

_ARGUMENT_LINE = re.compile(r"^ +(\w+): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    description: str
    parameters: dict[str, Any]  # the JSON Schema of an object


@dataclass(frozen=True, slots=True)
class FunctionCall:
    name: str
    arguments: str  # JSON as the model wrote it: it may be malformed


class _UntitledJsonSchema(GenerateJsonSchema):
    """Leaves out titles, which repeat the names and cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  (pydantic's signature)
        return False


def build_function(function: Callable[..., Any]) -> Function:
    """Describe a typed Python function to a model.

    Types come from the annotations, the description from the first paragraph of the docstring, and the
    descriptions of parameters from the lines "name: text" below "Args:".
    """
    docstring = inspect.getdoc(function) or ""
    arguments: TypeAdapter[Any] = TypeAdapter(function)  # type: ignore[arg-type]  # it takes callables
    schema = arguments.json_schema(schema_generator=_UntitledJsonSchema)
    for name, description in _ARGUMENT_LINE.findall(docstring.partition("\nArgs:\n")[2]):
        schema["properties"][name]["description"] = description
    return Function(function.__name__, collapse_whitespace(docstring.partition("\n\n")[0]), schema)


def parse_arguments(function_call: FunctionCall, max_length: int = MAX_ARGUMENTS_LENGTH) -> dict[str, Any]:
    """Return the arguments of a call by name. `max_length` is in characters.

    Raises:
        ValueError: the arguments are too long, not a JSON object, or contain a value that JSON cannot carry.
    """
    name, text = function_call.name, function_call.arguments
    if len(text) > max_length:
        raise ValueError(f"the arguments of {name} have {len(text):,} characters; {max_length:,} are allowed")
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments of {name} are not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {name} must be a JSON object")  # noqa: TRY004
    try:
        plain_json(arguments)
    except ValueError as error:
        raise ValueError(f"in the arguments of {name}, {error}") from error
    return arguments


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
