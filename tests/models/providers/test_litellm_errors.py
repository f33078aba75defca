"""Errors of providers: what they mean, what is told of them, and how long they ask to be left alone."""

import inspect
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from importlib import import_module

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.models import ModelError
from server.models.providers.errors import CAUSE_BY_CLASS, classify_error, summarize_message
from server.models.providers.litellm import LitellmModel, import_litellm
from server.models.registry import ModelRegistry
from server.redaction import find_secrets, learn_secrets, redact_error
from tests.contract.model import build_argument_request, reply_in_time
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D9")]


def test_every_error_of_litellm_has_a_meaning() -> None:
    import_litellm()
    exceptions = import_module("litellm.exceptions")
    public = [
        member
        for member in vars(exceptions).values()
        if inspect.isclass(member) and issubclass(member, Exception)
    ]

    assert len(public) > 20
    for error in public:
        assert any(ancestor.__name__ in CAUSE_BY_CLASS for ancestor in error.__mro__), error


@pytest.mark.requirement("A4")
async def test_a_model_whose_provider_nobody_knows_is_refused_with_how_to_name_one() -> None:
    import_litellm()
    expected = r'No provider is known for the model "nobody-knows/it"\. Write PROVIDER/MODEL, .* NOBODY-KNOWS_API_BASE'
    with pytest.raises(InvalidRequestError, match=expected):
        await ModelRegistry().check_known(["scripted", "openai/m", "nobody-knows/it"])


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
def test_an_error_without_its_own_class_means_its_status(status: int, cause: str, is_transient: bool) -> None:
    failure = classify_error(APIError(status), "openai/m")

    assert (failure.cause, failure.is_transient) == (cause, is_transient)


def test_an_account_without_credit_is_not_told_as_a_bad_key() -> None:
    detail = classify_error(APIError(402), "openai/m", key_variable="OPENAI_API_KEY").detail

    assert detail == "openai/m: the account has no credit left. Add some, or choose another model."


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
    learn_secrets(find_secrets({"SOME_SECRET": "my-own-value", "HOME": "risk-free", "SHORT_KEY": "task"}))

    assert redact_error(said) == kept


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
        (
            "AnthropicException - Cannot connect to host 127.0.0.1:9 ssl:default [refused]. Handle with `litellm.X`.",
            "Cannot connect to host 127.0.0.1:9 [refused]",
        ),
        ("The message: nothing", "The message: nothing"),
    ],
)
def test_of_an_error_its_message_is_told_and_no_object_of_python(said: str, told: str) -> None:
    assert summarize_message(said) == told


async def waits(stub: Stub, retry_after: str) -> list[float]:
    """The waits between the attempts of a request that is always told 429 and this."""
    stub.retry_after = retry_after
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    with pytest.raises(ModelError):
        await reply_in_time(LitellmModel("openai/429", sleep=pause), build_argument_request())
    return waited


PAST = "Sat, 21 Nov 2020 12:00:00 GMT"


def in_(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


async def test_a_date_is_waited_for(stub: Stub) -> None:
    first, second = await waits(stub, in_(12))

    assert 2 < second <= first <= 12


@pytest.mark.parametrize("said", ["0", "nan", "soon", PAST])
async def test_what_names_no_time_to_come_is_waited_for_as_usual(stub: Stub, said: str) -> None:
    first, second = await waits(stub, said)

    assert 0.5 <= first <= 1 <= second <= 2
