import functools
import json
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from server.debate.prompts.tool_schemas import (
    MAX_ARGUMENTS_LENGTH,
    Function,
    FunctionCall,
    build_function,
    parse_arguments,
)
from server.debate.schemas.output_schema import check_schema, find_violation
from tests.support.simulation import FUZZ_SETTINGS

pytestmark = pytest.mark.requirement("B3")


class Tone(Enum):
    CALM = "calm"
    SHARP = "sharp"


def handoff(response: str, next_agent_name: str) -> str:
    """Say something, and choose who
    speaks next.

    More that a model need not know.

    Args:
        response: What you say.
        next_agent_name (str): Who speaks next:
            one of the
            others: by name.

            Never yourself.
        nobody: Is no argument.

    Returns:
        What was said.
    """  # noqa: D205  (a paragraph may have two lines)
    return response + next_agent_name


def everything(
    count: int,
    share: Annotated[float, Field(ge=0, le=1, description="From 0 to 1")],
    names: list[str],
    side: Literal["for", "against"],
    tone: Tone = Tone.CALM,
    reason: str | None = None,
    *,
    sure: bool = False,
) -> None:
    """Everything.

    Args:
        share: is described at its type
        tone: how it sounds
    """


def no_docstring(model_config: "str") -> None: ...


def no_arguments() -> None:
    """Says nothing of arguments.

    Args:
        There are none.
    """


def call(arguments: str) -> FunctionCall:
    return FunctionCall(name="handoff", arguments=arguments)


def test_a_function_is_told_from_its_types_and_its_docstring() -> None:
    assert build_function(handoff) == Function(
        name="handoff",
        description="Say something, and choose who speaks next.",
        parameters={
            "type": "object",
            "properties": {
                "response": {"type": "string", "description": "What you say."},
                "next_agent_name": {
                    "type": "string",
                    "description": "Who speaks next: one of the others: by name. Never yourself.",
                },
            },
            "required": ["response", "next_agent_name"],
            "additionalProperties": False,
        },
    )


def test_every_kind_of_type_has_its_schema() -> None:
    assert build_function(everything).parameters == {
        "$defs": {"Tone": {"enum": ["calm", "sharp"], "title": "Tone", "type": "string"}},
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "share": {"type": "number", "minimum": 0, "maximum": 1, "description": "From 0 to 1"},
            "names": {"type": "array", "items": {"type": "string"}},
            "side": {"type": "string", "enum": ["for", "against"]},
            "tone": {"$ref": "#/$defs/Tone", "default": "calm", "description": "how it sounds"},
            "reason": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "sure": {"type": "boolean", "default": False},
        },
        "required": ["count", "share", "names", "side"],
        "additionalProperties": False,
    }


def test_the_schema_of_a_function_can_check_what_it_is_called_with() -> None:
    schema = check_schema(build_function(everything).parameters)
    arguments = {"count": 1, "share": 0.5, "names": [], "side": "for"}

    assert find_violation(schema, arguments) == ""
    assert (
        find_violation(schema, {**arguments, "tone": "loud"})
        == 'tone: "loud" is not one of ["calm", "sharp"]'
    )


def test_a_function_needs_no_docstring_and_no_arguments() -> None:
    properties = {"model_config": {"type": "string"}}

    assert build_function(no_docstring).description == ""
    assert build_function(no_docstring).parameters["properties"] == properties
    assert build_function(no_arguments).parameters["properties"] == {}


def test_a_method_is_told_without_its_object() -> None:
    class Chair:
        def close(self, reason: str) -> None:
            """Close the debate."""

    assert list(build_function(Chair().close).parameters["properties"]) == ["reason"]


def unnamed_many(*names: str) -> None: ...
def named_many(**names: str) -> None: ...
def by_position(name: str, /) -> None: ...
def untyped(name) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
def unknown(name: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def a_callable(name: Callable[[], None]) -> None: ...
def an_object(name: object = object()) -> None: ...
def a_stranger(name: json.JSONDecoder) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (unnamed_many, r"unnamed_many takes any number of arguments \(\*names: str\); name each"),
        (named_many, r"named_many takes any number of arguments \(\*\*names: str\); name each"),
        (by_position, "by_position takes name by position only"),
        (untyped, "untyped does not say of what type name is; annotate it"),
        (unknown, "the types of unknown cannot be told as JSON Schema: name 'Nowhere' is not defined"),
        (a_callable, "the types of a_callable cannot be told as JSON Schema"),
        (an_object, "the types of an_object cannot be told as JSON Schema"),
        (a_stranger, "the types of a_stranger cannot be told as JSON Schema"),
        (functools.partial(handoff, "x"), "has no name that a model could call it by"),
        (lambda: None, "has no name that a model could call it by"),
    ],
)
def test_a_function_that_no_model_could_call_is_a_mistake(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        build_function(function)


@FUZZ_SETTINGS
@given(st.dictionaries(st.text(max_size=5), st.none() | st.integers(-9, 9) | st.text(max_size=9)))
def test_the_arguments_of_a_call_are_read_as_they_were_written(arguments: dict[str, Any]) -> None:
    assert parse_arguments(call(json.dumps(arguments))) == arguments


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (" ", "the arguments of handoff are not JSON: Expecting value"),
        ('{"response": "x"', "the arguments of handoff are not JSON: Expecting ',' delimiter"),
        ("[" * 10_000, "the arguments of handoff are not JSON: "),
        ('["x", "B"]', "the arguments of handoff must be a JSON object"),
        ('{"a": NaN}', "of the arguments of handoff, a is nan, which JSON does not have"),
        ('{"a": "\\ud800"}', "of the arguments of handoff, a holds half a character"),
        ('{"a": 1' + "0" * 400 + "}", "of the arguments of handoff, a is an integer beyond"),
        ("{" + " " * MAX_ARGUMENTS_LENGTH + "}", "handoff have 20,002 characters; 20,000 are allowed"),
    ],
)
def test_arguments_that_cannot_be_read_are_said_to_be_so(arguments: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_arguments(call(arguments))


def test_a_call_without_arguments_has_none() -> None:
    assert parse_arguments(call("")) == {}
