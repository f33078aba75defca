import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.prompts.prompt import (
    MAX_ARGUMENTS_LENGTH,
    Function,
    FunctionCall,
    build_function,
    parse_arguments,
)

pytestmark = pytest.mark.requirement("B3")


def choose(response: str, names: list[str], *, sure: bool = False) -> str:
    """Say something, and choose who
    speaks next.

    This paragraph is not for models.

    Args:
        response: What you say
        names: Who speaks next, one of the others: by name
    """  # noqa: D205  (a paragraph may have two lines)
    return f"{response} {names} {sure}"


def call(arguments: str) -> FunctionCall:
    return FunctionCall(name="handoff", arguments=arguments)


def test_a_function_is_described_by_its_types_and_its_docstring() -> None:
    assert build_function(choose) == Function(
        name="choose",
        description="Say something, and choose who speaks next.",
        parameters={
            "type": "object",
            "properties": {
                "response": {"type": "string", "description": "What you say"},
                "names": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Who speaks next, one of the others: by name",
                },
                "sure": {"type": "boolean", "default": False},
            },
            "required": ["response", "names"],
            "additionalProperties": False,
        },
    )


@given(st.dictionaries(st.text(max_size=5), st.none() | st.integers(-9, 9) | st.text(max_size=9)))
def test_arguments_are_parsed_as_they_were_written(arguments: dict[str, Any]) -> None:
    assert parse_arguments(call(json.dumps(arguments))) == arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (" ", "the arguments of handoff are not JSON: Expecting value"),
        ('{"response": "x"', "the arguments of handoff are not JSON: Expecting ',' delimiter"),
        ("[" * 10_000, "the arguments of handoff are not JSON: "),
        ('["x", "B"]', "the arguments of handoff must be a JSON object"),
        ('{"a": NaN}', "in the arguments of handoff, a is nan, which JSON does not have"),
        ('{"a": "\\ud800"}', "in the arguments of handoff, a holds a lone surrogate"),
        ('{"a": 1' + "0" * 400 + "}", "in the arguments of handoff, a is an integer beyond"),
        ("{" + " " * MAX_ARGUMENTS_LENGTH + "}", "handoff have 20,002 characters; 20,000 are allowed"),
    ],
)
def test_malformed_arguments_are_refused_with_the_cause(arguments: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_arguments(call(arguments))


def test_a_call_may_have_no_arguments() -> None:
    assert parse_arguments(call("")) == {}
