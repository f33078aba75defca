"""Classifies litellm's errors by class name and HTTP status, without importing litellm."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from server.http import parse_retry_after
from server.models import FailureCause
from server.models.resilience.breaker import format_seconds
from server.redaction import redact

MAX_DETAIL_LENGTH = 300

CAUSE_BY_CLASS: dict[str, FailureCause | None] = {
    "APIConnectionError": None,
    "APIError": None,
    "APIResponseValidationError": "unreadable",
    "APITimeoutError": "timeout",
    "AuthenticationError": "unauthorized",
    "BadGatewayError": "unavailable",
    "BadRequestError": "bad_request",
    "BlockedPiiEntityError": "refused",
    "BudgetExceededError": "rate_limited",
    "ContentPolicyViolationError": "refused",
    "ContextWindowExceededError": "bad_request",
    "GuardrailRaisedException": "refused",
    "ImageFetchError": "bad_request",
    "InternalServerError": "unavailable",
    "InvalidRequestError": "bad_request",
    "JSONSchemaValidationError": "unreadable",
    "LiteLLMUnknownProvider": "bad_request",
    "MidStreamFallbackError": "unavailable",
    "MockException": None,
    "ModelNotMappedError": "bad_request",
    "ModifyResponseException": "refused",
    "NotFoundError": "bad_request",
    "OpenAIError": None,
    "PaymentRequiredError": "unauthorized",
    "PermissionDeniedError": "unauthorized",
    "RateLimitError": "rate_limited",
    "RejectedRequestError": "refused",
    "SensitiveDataRouteException": "refused",
    "ServiceUnavailableError": "unavailable",
    "Timeout": "timeout",
    "UnprocessableEntityError": "bad_request",
    "UnsupportedParamsError": "bad_request",
    "VectorStoreSearchError": "bad_request",
}
"""By the name of the class or its nearest ancestor; None if the HTTP status decides."""

_CAUSE_BY_STATUS: dict[int, FailureCause] = {
    400: "bad_request",
    401: "unauthorized",
    402: "unauthorized",
    403: "unauthorized",
    404: "bad_request",
    408: "timeout",
    413: "bad_request",
    422: "bad_request",
    429: "rate_limited",
}

_ADVICE: dict[FailureCause, str] = {
    "timeout": "It did not answer in time; allow it more time or choose a faster model.",
    "rate_limited": "The provider limits the rate of requests; wait a little or choose another model.",
    "unavailable": "The provider is down or cannot be reached; try again later or choose another model.",
    "unauthorized": "The provider refused the key; check the key and what it may use.",
    "bad_request": "The provider refused the request; check the model's name.",
    "refused": "A content filter stopped it; reword the question or choose another model.",
    "unreadable": "The provider's answer could not be read; try again or choose another model.",
    "crashed": "This is a fault of the client library or of ours; choose another model and report it.",
}

_ERROR_PREFIX = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)\s*[:-]\s*)+")
_MESSAGE = re.compile(r"""[{,] ?(['"])message\1: ?(['"])(?P<message>.+?)\2[,}]""")
"""The message inside a quoted JSON error, in JSON or Python notation."""

_OBJECT_REPR = re.compile(r"\bssl:<[^>]*> ?|<[\w.]+ object at 0x[0-9a-f]+> ?")
_FILTER_MARKS = ("content_filter", "content_policy", "content policy", "content management policy")


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    cause: FailureCause
    detail: str
    is_transient: bool  # the same request may succeed later
    retry_after: float | None = None  # seconds, if the provider says so
    is_request_error: bool = False  # it may accept the request without functions or schema


def classify_error(
    error: Exception,
    model: str,
    missing_variables: list[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> ProviderFailure:
    """Classify an error of litellm.

    missing_variables: environment variables that the provider needs and that are not set.
    """
    environ = os.environ if environ is None else environ
    message = str(error)
    cause = find_cause(error, message)
    if missing_variables and cause in ("unauthorized", "unavailable") and is_key_missing(error, message):
        names = " and ".join(missing_variables)
        detail = f"{model}: there is no key for it. Set {names}, or choose another model."
        return ProviderFailure("unauthorized", detail, is_transient=False)
    if "insufficient_quota" in message or type(error).__name__ in (
        "BudgetExceededError",
        "PaymentRequiredError",
    ):
        detail = f"{model}: the account has no credit left. Add some, or choose another model."
        return ProviderFailure(cause, detail, is_transient=False)
    transient = cause in ("timeout", "rate_limited", "unavailable")
    about_request = cause == "bad_request" and type(error).__name__ != "ContextWindowExceededError"
    pause = find_retry_after(error)
    detail = build_detail(error, model, cause, message, environ, pause)
    return ProviderFailure(cause, detail, transient, pause, about_request)


def find_cause(error: Exception, message: str) -> FailureCause:
    for ancestor in type(error).__mro__:
        if ancestor.__name__ not in CAUSE_BY_CLASS:
            continue
        cause = CAUSE_BY_CLASS[ancestor.__name__]
        if cause is None:
            status = getattr(error, "status_code", None)
            cause = _CAUSE_BY_STATUS.get(status, "unavailable") if isinstance(status, int) else "unavailable"
        if cause == "bad_request" and any(mark in message.lower() for mark in _FILTER_MARKS):
            return "refused"
        return cause
    return "crashed"


def is_key_missing(error: Exception, message: str) -> bool:
    """Whether the key is missing. For OpenAI litellm reports that as a server error."""
    return (
        type(error).__name__ == "AuthenticationError" or "api_key" in message or "api key" in message.lower()
    )


def find_retry_after(error: Exception) -> float | None:
    """The Retry-After of the response, in seconds. litellm keeps headers in one of two places."""
    sources: tuple[Any, ...] = (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    )
    for headers in sources:
        with suppress(KeyError, TypeError):
            if (pause := parse_retry_after(str(headers["retry-after"]))) is not None:
                return pause
    return None


def build_detail(
    error: Exception,
    model: str,
    cause: FailureCause,
    message: str,
    environ: Mapping[str, str],
    retry_after: float | None,
) -> str:
    """Model, cause, advice, and the provider's message where it helps."""
    advice = _ADVICE[cause]
    if cause == "rate_limited" and retry_after:
        advice = (
            "The provider limits the rate of requests and asks to be left alone for "
            f"{format_seconds(retry_after)}; wait that long or choose another model."
        )
    if type(error).__name__ == "ContextWindowExceededError":
        return f"{model}: the debate is longer than this model can read. Choose one with a larger context."
    if cause == "crashed":
        message = type(error).__name__
    # Messages about keys often contain a part of the key.
    if cause in ("unauthorized", "timeout") or not (quoted := summarize_message(message, environ)):
        return f"{model}: {advice}"[:MAX_DETAIL_LENGTH]
    room = MAX_DETAIL_LENGTH - len(f'{model}: {advice} It said: ""')
    if len(quoted) > room:
        quoted = quoted[: max(room - 1, 0)].rstrip() + "…"
    return f'{model}: {advice} It said: "{quoted}"'[:MAX_DETAIL_LENGTH]


def summarize_message(message: str, environ: Mapping[str, str]) -> str:
    """The first line of a provider's message, without litellm's prefix and without secrets."""
    text = redact(message, environ).strip()
    line = _OBJECT_REPR.sub("", _ERROR_PREFIX.sub("", text.splitlines()[0])) if text else ""
    if match := _MESSAGE.search(line):
        line = match["message"]
    return " ".join(line.replace('"', "'").split())
