"""Answers of providers that are none: they fail a seat in words, and are no fault of ours."""

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from server.models.litellm.errors import summarize_message
from server.models.litellm.response import MAX_TEXT_LENGTH, read_completion, read_stream

pytestmark = pytest.mark.requirement("D3", "B7")


@pytest.mark.parametrize("choices", [[], None])
def test_an_answer_without_choices_says_nothing(choices: object) -> None:
    answer = read_completion(SimpleNamespace(choices=choices, model="m", usage=None))

    assert (answer.text, answer.function_calls, answer.model) == ("", (), "m")


class Endless:
    """A stream of a provider that never stops."""

    closed = False

    def __aiter__(self) -> "Endless":
        return self

    async def __anext__(self) -> Any:
        await anyio.lowlevel.checkpoint()
        delta = SimpleNamespace(content="and so on, " * 1000, tool_calls=None)
        choice = SimpleNamespace(delta=delta, finish_reason=None)
        return SimpleNamespace(model="m", usage=None, choices=[choice])

    async def aclose(self) -> None:
        self.closed = True


@pytest.mark.anyio
async def test_a_stream_without_end_is_left_after_a_million_characters() -> None:
    stream, read = Endless(), 0

    def on_text(piece: str) -> None:
        nonlocal read
        read += len(piece)

    with anyio.fail_after(5):
        answer = await read_stream(stream, on_text)

    assert MAX_TEXT_LENGTH <= len(answer.text) == read < MAX_TEXT_LENGTH + 20_000
    assert (answer.finish_reason, stream.closed) == ("length", True)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{'error': {'message': 'We are overloaded.', 'type': 'x', 'param': None}}", "We are overloaded."),
        ('DeepseekException - {"error":{"message":"Say \'please\'.","type":"x"}}', "Say 'please'."),
        ('{"message":"It is gone"}', "It is gone"),
        (
            "Cannot connect to host 127.0.0.1:9 ssl:<ssl.SSLContext object at 0x7fa58ab7e960> [refused]",
            "Cannot connect to host 127.0.0.1:9 [refused]",
        ),
        ("<html>502 Bad Gateway</html>", "<html>502 Bad Gateway</html>"),
        ("The message: nothing", "The message: nothing"),
    ],
)
def test_of_an_error_its_message_is_told_and_no_object_of_python(said: str, told: str) -> None:
    assert summarize_message(said) == told
