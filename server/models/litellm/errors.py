"""What litellm's errors mean to us, in one place. Knows its classes by name and never imports it."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from server.http import seconds_of
from server.models import Cause
from server.models.resilience.breaker import seconds
from server.redaction import redact

LONGEST_DETAIL = 300

CAUSES: dict[str, Cause | None] = {
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
"""By the name of the class or of its nearest ancestor; None where only the HTTP status tells."""

_BY_STATUS: dict[int, Cause] = {
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

_ADVICE: dict[Cause, str] = {
    "timeout": "It did not answer in time; allow it more time or choose a faster model.",
    "rate_limited": "The provider limits the rate of requests; wait a little or choose another model.",
    "unavailable": "The provider is down or cannot be reached; try again later or choose another model.",
    "unauthorized": "The provider refused the key; check the key and what it may use.",
    "bad_request": "The provider refused the request; check the model's name.",
    "refused": "A content filter stopped it; reword the question or choose another model.",
    "unreadable": "The provider's answer could not be read; try again or choose another model.",
    "crashed": "This is a fault of the client library or of ours; choose another model and report it.",
}

_WRAPPING = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)\s*[:-]\s*)+")
_MESSAGE = re.compile(r"""[{,] ?(['"])message\1: ?(['"])(?P<said>.+?)\2[,}]""")
"""What an error says, where its whole JSON is quoted, by Python or as it came."""

_OBJECT = re.compile(r"\bssl:<[^>]*> ?|<[\w.]+ object at 0x[0-9a-f]+> ?")
_FILTERED = ("content_filter", "content_policy", "content policy", "content management policy")


@dataclass(frozen=True, slots=True)
class Failure:
    cause: Cause
    detail: str
    transient: bool  # the same request may well succeed a moment later
    retry_after: float | None = None  # seconds, where the provider says so
    about_request: bool = False  # it refuses what it was sent, and perhaps not all of it


def understand(
    error: Exception,
    model: str,
    missing: list[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Failure:
    """What an error of litellm's means.

    missing: the environment variables that the provider needs and that are not set.
    """
    environ = os.environ if environ is None else environ
    said = str(error)
    cause = cause_of(error, said)
    if missing and cause in ("unauthorized", "unavailable") and keyless(error, said):
        detail = f"{model}: there is no key for it. Set {' and '.join(missing)}, or choose another model."
        return Failure("unauthorized", detail, transient=False)
    if "insufficient_quota" in said or type(error).__name__ in (
        "BudgetExceededError",
        "PaymentRequiredError",
    ):
        detail = f"{model}: the account has no credit left. Add some, or choose another model."
        return Failure(cause, detail, transient=False)
    transient = cause in ("timeout", "rate_limited", "unavailable")
    about_request = cause == "bad_request" and type(error).__name__ != "ContextWindowExceededError"
    pause = retry_after(error)
    detail = sentence(error, model, cause, said, environ, pause)
    return Failure(cause, detail, transient, pause, about_request)


def cause_of(error: Exception, said: str) -> Cause:
    for ancestor in type(error).__mro__:
        if ancestor.__name__ not in CAUSES:
            continue
        cause = CAUSES[ancestor.__name__]
        if cause is None:
            status = getattr(error, "status_code", None)
            cause = _BY_STATUS.get(status, "unavailable") if isinstance(status, int) else "unavailable"
        if cause == "bad_request" and any(mark in said.lower() for mark in _FILTERED):
            return "refused"
        return cause
    return "crashed"


def keyless(error: Exception, said: str) -> bool:
    """Whether the request failed for want of a key: litellm calls that a server error for OpenAI."""
    return type(error).__name__ == "AuthenticationError" or "api_key" in said or "api key" in said.lower()


def retry_after(error: Exception) -> float | None:
    """The seconds a provider asks us to wait. litellm keeps the headers in one of two places."""
    places: tuple[Any, ...] = (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    )
    for headers in places:
        with suppress(KeyError, TypeError):
            if (pause := seconds_of(str(headers["retry-after"]))) is not None:
                return pause
    return None


def sentence(
    error: Exception, model: str, cause: Cause, said: str, environ: Mapping[str, str], pause: float | None
) -> str:
    """Model, cause, what to do; and what the provider said, where that helps to act."""
    advice = _ADVICE[cause]
    if cause == "rate_limited" and pause:
        advice = (
            f"The provider limits the rate of requests and asks to be left alone for {seconds(pause)}; "
            "wait that long or choose another model."
        )
    if type(error).__name__ == "ContextWindowExceededError":
        return f"{model}: the debate is longer than this model can read. Choose one with a larger context."
    if cause == "crashed":
        said = type(error).__name__
    # What is said about a key often repeats a part of it.
    if cause in ("unauthorized", "timeout") or not (quoted := brief(said, environ)):
        return f"{model}: {advice}"[:LONGEST_DETAIL]
    room = LONGEST_DETAIL - len(f'{model}: {advice} It said: ""')
    if len(quoted) > room:
        quoted = quoted[: max(room - 1, 0)].rstrip() + "…"
    return f'{model}: {advice} It said: "{quoted}"'[:LONGEST_DETAIL]


def brief(said: str, environ: Mapping[str, str]) -> str:
    """The first line of what a provider said, without litellm's wrapping and without secrets."""
    text = redact(said, environ).strip()
    line = _OBJECT.sub("", _WRAPPING.sub("", text.splitlines()[0])) if text else ""
    if told := _MESSAGE.search(line):
        line = told["said"]
    return " ".join(line.replace('"', "'").split())
