import inspect
from importlib import import_module

import pytest

from server.models.litellm.client import import_litellm
from server.models.litellm.errors import CAUSE_BY_CLASS, classify_error
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


class APIError(Exception):
    """Litellm's class of this name says nothing by itself; its HTTP status does."""

    def __init__(self, status_code: int) -> None:
        super().__init__("no")
        self.status_code = status_code


@pytest.mark.parametrize(
    ("status", "cause", "is_transient"),
    [
        (400, "bad_request", False),
        (401, "unauthorized", False),
        (402, "unauthorized", False),
        (403, "unauthorized", False),
        (404, "bad_request", False),
        (408, "timeout", True),
        (413, "bad_request", False),
        (422, "bad_request", False),
        (429, "rate_limited", True),
        (500, "unavailable", True),
    ],
)
def test_an_error_without_a_class_of_its_own_means_its_status(
    status: int, cause: str, is_transient: bool
) -> None:
    failure = classify_error(APIError(status), "openai/m")

    assert (failure.cause, failure.is_transient) == (cause, is_transient)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("key sk-proj-abcdefgh1234 is wrong", "key [secret] is wrong"),
        ("Authorization: Bearer abc.def-123", "Authorization: [secret]"),
        ("GET /v1?key=AIzaSyA1234567&x=1", "GET /v1?key=[secret]&x=1"),
        ("http://user:pass@proxy.example/", "http://[secret]@proxy.example/"),
        ("gsk_abcdef123456 xai-abcdef123456", "[secret] [secret]"),
        ("ghp_abcdef123456 hf_abcdef123456", "[secret] [secret]"),
        ("my-own-value is set", "[secret] is set"),
        ("a risk-free task", "a risk-free task"),
    ],
)
def test_secrets_are_taken_out_of_texts(said: str, kept: str) -> None:
    assert redact(said, {"SOME_SECRET": "my-own-value", "HOME": "risk-free", "SHORT_KEY": "task"}) == kept
