"""Classifies errors of providers by class name and HTTP status, without importing a client library."""

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from server.http import parse_retry_after
from server.models import FailureCause
from server.models.resilience import format_seconds
from server.redaction import redact_error

MAX_DETAIL_LENGTH = 300
MAX_READ_LENGTH = 4_000  # of a provider's message

_CLASS_NAMES: dict[FailureCause | None, str] = {
    "timeout": "APITimeoutError",
    "rate_limited": "BudgetExceededError RateLimitError",
    "unavailable": "ClientError HTTPError MidStreamFallbackError",
    "bad_request": "ModelNotMappedError",
    "refused": (
        "BlockedPiiEntityError ContentPolicyViolationError GuardrailRaisedException ModifyResponseException "
        "RejectedRequestError SensitiveDataRouteException"
    ),
    "unreadable": "APIResponseValidationError UnreadableResponseError",
    None: "APIError OpenAIError ResponseError",  # the HTTP status decides
}
CAUSE_BY_CLASS = {name: cause for cause, names in _CLASS_NAMES.items() for name in names.split()}
"""By the name of the class or its nearest ancestor; None if the HTTP status decides."""

_CAUSE_BY_STATUS: dict[int, FailureCause] = {
    **dict.fromkeys((400, 404, 413, 422), "bad_request"),
    **dict.fromkeys((401, 402, 403), "unauthorized"),
    408: "timeout",
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
# The message inside a quoted JSON error, in JSON or Python notation.
_MESSAGE = re.compile(r"""[{,] ?(['"])message\1: ?(['"])(?P<message>.+?)\2[,}]""")
_OBJECT_REPR = re.compile(r"\bssl:<[^>]*> ?|<[\w.]+ object at 0x[0-9a-f]+> ?")
_LENGTH_MARKS = ("context_length", "context length", "context window", "context_size", "prompt is too long")
_FILTER_MARKS = ("content_filter", "content_policy", "content policy", "content management policy")


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    cause: FailureCause
    detail: str
    is_transient: bool = False  # the same request may succeed later
    retry_after: float | None = None  # seconds, if the provider says so
    is_request_error: bool = False  # it may accept the request without functions or schema


def classify_error(
    error: Exception, model: str, missing_variables: Collection[str] = (), key_variable: str = ""
) -> ProviderFailure:
    """What an error of a provider means.

    missing_variables: environment variables that the provider needs and that are not set. key_variable: the one that
    holds the key, "" if unknown.
    """
    message, name = str(error), type(error).__name__
    cause = find_cause(error, message)
    # For OpenAI litellm reports a missing key as a server error.
    is_about_key = name == "AuthenticationError" or re.search("api[_ ]key", message, re.IGNORECASE)
    known = ""
    if missing_variables and is_about_key and cause in ("unauthorized", "unavailable"):
        cause = "unauthorized"
        known = f"there is no key for it. Set {' and '.join(missing_variables)}, or choose another model."
    elif cause == "unauthorized" and key_variable and getattr(error, "status_code", 0) in (401, 403):
        refused = f"The provider refused the key in {key_variable} (HTTP {getattr(error, 'status_code', 0)})"
        known = f"{refused}. Set one that may use this model, restart the server, or choose another model."
    elif "insufficient_quota" in message or name in ("BudgetExceededError", "PaymentRequiredError"):
        known = "the account has no credit left. Add some, or choose another model."
    elif name == "ContextWindowExceededError" or (
        cause == "bad_request" and any(mark in message.lower() for mark in _LENGTH_MARKS)
    ):
        cause = "too_long"
        known = "the debate is longer than this model can read. Choose one with a larger context."
    if known:
        return ProviderFailure(cause, f"{model}: {known}")
    pause, advice = find_retry_after(error), _ADVICE[cause]
    if cause == "rate_limited" and pause:
        wait = f"asks to be left alone for {format_seconds(pause)}; wait that long"
        advice = f"The provider limits the rate of requests and {wait} or choose another model."
    detail, quoted = f"{model}: {advice}", summarize_message(name if cause == "crashed" else message)
    # Messages about keys often contain a part of the key.
    if quoted and cause not in ("unauthorized", "timeout"):
        room = MAX_DETAIL_LENGTH - len(f'{detail} It said: ""')
        quoted = quoted if len(quoted) <= room else quoted[: max(room - 1, 0)].rstrip() + "…"
        detail = f'{detail} It said: "{quoted}"'
    is_transient = cause in ("timeout", "rate_limited", "unavailable")
    detail = detail[:MAX_DETAIL_LENGTH]
    return ProviderFailure(cause, detail, is_transient, pause, is_request_error=cause == "bad_request")


def find_cause(error: Exception, message: str) -> FailureCause:
    names = (ancestor.__name__ for ancestor in type(error).__mro__)
    causes = (CAUSE_BY_CLASS[name] for name in names if name in CAUSE_BY_CLASS)
    status = getattr(error, "status_code", 0)
    found: FailureCause | None = next(causes, "crashed")
    cause = found or _CAUSE_BY_STATUS.get(status, "unavailable")
    is_filtered = cause == "bad_request" and any(mark in message.lower() for mark in _FILTER_MARKS)
    return "refused" if is_filtered else cause


def find_retry_after(error: Exception) -> float | None:
    """The Retry-After of the response, in seconds. litellm keeps headers in one of two places."""
    for holder, name in ((error, "litellm_response_headers"), (getattr(error, "response", None), "headers")):
        with suppress(KeyError, TypeError):  # None, or without this header
            pause = parse_retry_after(str(getattr(holder, name, {})["retry-after"]))
            if pause is not None:
                return pause
    return None


def summarize_message(message: str) -> str:
    """The first line of a provider's message, without litellm's prefix and without secrets."""
    text = redact_error(message[:MAX_READ_LENGTH]).strip()
    line = _OBJECT_REPR.sub("", _ERROR_PREFIX.sub("", text.partition("\n")[0]))
    if match := _MESSAGE.search(line):
        line = match["message"]
    return " ".join(line.replace('"', "'").split())
