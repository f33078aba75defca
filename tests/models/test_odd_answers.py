"""Answers of providers that are none: they fail a seat in words, and are no fault of ours."""

from types import SimpleNamespace

import pytest

from server.models.heard import whole

pytestmark = pytest.mark.requirement("D3", "B7")


@pytest.mark.parametrize("choices", [[], None])
def test_an_answer_without_choices_says_nothing(choices: object) -> None:
    answer = whole(SimpleNamespace(choices=choices, model="m", usage=None))

    assert (answer.text, answer.calls, answer.model) == ("", (), "m")
