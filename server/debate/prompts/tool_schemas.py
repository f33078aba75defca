"""Functions that a model may call in place of answering, and what it called."""

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from server.debate.facts.text import collapse_whitespace
from server.debate.schemas.output_schema import plain_json

MAX_ARGUMENTS_LENGTH = 20_000

_ARGUMENT = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:(.*)")


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    description: str
    parameters: dict[str, Any]  # the JSON Schema of an object


@dataclass(frozen=True, slots=True)
class FunctionCall:
    name: str
    arguments: str  # JSON, as the model wrote it: it may be malformed


def build_function(function: Callable[..., Any]) -> Function:
    """A Python function as a model is told of it, from its annotations and its docstring (Google's style).

    Raises:
        TypeError: it takes what has no name or no type, or a type that JSON Schema cannot say.
    """
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise TypeError(f"{function!r} has no name that a model could call it by")
    for parameter in inspect.signature(function).parameters.values():
        _check_parameter(name, parameter)
    try:
        arguments: TypeAdapter[Any] = TypeAdapter(function)  # type: ignore[arg-type]  # it takes callables
        schema = arguments.json_schema(schema_generator=_UntitledJsonSchema)
    except (PydanticUserError, NameError) as error:
        first = str(error).splitlines()[0]
        raise TypeError(f"the types of {name} cannot be told as JSON Schema: {first}") from error
    docstring = inspect.getdoc(function) or ""
    for argument, description in parse_argument_descriptions(docstring).items():
        if argument in schema["properties"]:
            schema["properties"][argument].setdefault("description", description)
    return Function(name, collapse_whitespace(docstring.partition("\n\n")[0]), schema)


def _check_parameter(name: str, parameter: inspect.Parameter) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise TypeError(f"{name} takes any number of arguments ({parameter}); name each instead")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise TypeError(f"{name} takes {parameter.name} by position only; a model passes arguments by name")
    if parameter.annotation is parameter.empty:
        raise TypeError(f"{name} does not say of what type {parameter.name} is; annotate it")


class _UntitledJsonSchema(GenerateJsonSchema):
    """Titles repeat the names; models pay for them by the token."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  (pydantic's signature)
        return False

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:  # noqa: ARG002
        raise PydanticUserError(detail, code=None)


def parse_argument_descriptions(docstring: str) -> dict[str, str]:
    """What the section "Args:" says of each argument, on one line each."""
    lines = inspect.cleandoc(docstring).splitlines()
    if "Args:" not in lines:
        return {}
    described: dict[str, str] = {}
    margin, current = "", ""
    for line in lines[lines.index("Args:") + 1 :]:
        if line and not line.startswith(" "):  # the next section
            break
        indent = line[: len(line) - len(line.lstrip())]
        margin = margin or indent
        begins = _ARGUMENT.fullmatch(line.strip()) if indent == margin else None
        if begins:
            current = begins[1]
            described[current] = begins[2]
        elif current:
            described[current] += " " + line
    return {name: collapse_whitespace(text) for name, text in described.items()}


def parse_arguments(function_call: FunctionCall, max_length: int = MAX_ARGUMENTS_LENGTH) -> dict[str, Any]:
    """The arguments of a call, by name; none where it has none. `longest`: in characters.

    Raises:
        ValueError: they are no JSON object, or hold what JSON cannot carry.
    """
    if len(function_call.arguments) > max_length:
        raise ValueError(
            f"the arguments of {function_call.name} have {len(function_call.arguments):,} characters; {max_length:,} are allowed"
        )
    try:
        arguments = json.loads(function_call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments of {function_call.name} are not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {function_call.name} must be a JSON object")  # noqa: TRY004
    try:
        plain_json(arguments)
    except ValueError as error:
        raise ValueError(f"of the arguments of {function_call.name}, {error}") from error
    return arguments
