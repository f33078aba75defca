"""Answers of providers that are none: they fail a seat in words, and are no fault of ours."""

from types import SimpleNamespace

import pytest

from server.models.foreign import brief
from server.models.heard import whole

pytestmark = pytest.mark.requirement("D3", "B7")


@pytest.mark.parametrize("choices", [[], None])
def test_an_answer_without_choices_says_nothing(choices: object) -> None:
    answer = whole(SimpleNamespace(choices=choices, model="m", usage=None))

    assert (answer.text, answer.calls, answer.model) == ("", (), "m")


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
    assert brief(said, {}) == told
