import inspect
from importlib import import_module

import pytest

from server.models.litellm.client import import_litellm
from server.models.litellm.errors import CAUSE_BY_CLASS
from server.redaction import redact

pytestmark = pytest.mark.requirement("D9")


def test_every_error_of_litellm_has_a_meaning() -> None:
    import_litellm()
    exceptions = import_module("litellm.exceptions")
    public = [
        name
        for name, member in vars(exceptions).items()
        if inspect.isclass(member) and issubclass(member, Exception)
    ]

    assert len(public) > 20
    assert [name for name in public if name not in CAUSE_BY_CLASS] == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("key sk-proj-abcdefgh1234 is wrong", "key [secret] is wrong"),
        ("Authorization: Bearer abc.def-123", "Authorization: [secret]"),
        ("GET /v1?key=AIzaSyA1234567&x=1", "GET /v1?key=[secret]&x=1"),
        ("http://user:pass@proxy.example/", "http://[secret]@proxy.example/"),
        ("my-own-value is set", "[secret] is set"),
        ("a risk-free task", "a risk-free task"),
    ],
)
def test_secrets_are_taken_out_of_texts(said: str, kept: str) -> None:
    assert redact(said, {"SOME_SECRET": "my-own-value", "HOME": "risk-free", "SHORT_KEY": "task"}) == kept
