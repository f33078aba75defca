"""Classifies errors of providers by class name and HTTP status, without importing a client library."""

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

from server.debate.facts.text import format_duration
from server.http import parse_retry_after
from server.models import FailureCause
from server.redaction import redact_error

MAX_DETAIL_LENGTH = 300
MAX_READ_LENGTH = 4_000  # of a provider's message

ErrorCause = Literal[
    "timeout",
    "rate_limited",
    "unavailable",
    "unauthorized",
    "bad_request",
    "refused",
    "unreadable",
    "crashed",
]
"""The causes that follow from the class and status of an error. `too_long` also needs its text."""

CAUSE_BY_CLASS: dict[str, ErrorCause | None] = {
    "APITimeoutError": "timeout",
    **dict.fromkeys(("BudgetExceededError", "RateLimitError"), "rate_limited"),
    **dict.fromkeys(("ClientError", "HTTPError", "MidStreamFallbackError"), "unavailable"),
    "ModelNotMappedError": "bad_request",
    **dict.fromkeys(
        (
            "BlockedPiiEntityError",
            "ContentPolicyViolationError",
            "GuardrailRaisedException",
            "ModifyResponseException",
            "RejectedRequestError",
            "SensitiveDataRouteException",
        ),
        "refused",
    ),
    **dict.fromkeys(("APIResponseValidationError", "UnreadableResponseError"), "unreadable"),
    **dict.fromkeys(("APIError", "OpenAIError", "ResponseError"), None),
}
"""By the name of the class or its nearest ancestor; None if the HTTP status decides."""

_CAUSE_BY_STATUS: dict[int, ErrorCause] = {
    **dict.fromkeys((400, 404, 413, 422), "bad_request"),
    **dict.fromkeys((401, 402, 403), "unauthorized"),
    408: "timeout",
    429: "rate_limited",
}

_ADVICE: dict[ErrorCause, str] = {
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
_PYTHON = re.compile(
    r"\bssl:(?:<[^>]*>|default) ?|<[\w.]+ object at 0x[0-9a-f]+> ?|\. Handle with `[\w.]+`\.$"
)
"""What speaks to programmers."""
_LENGTH_MARKS = ("context_length", "context length", "context window", "context_size", "prompt is too long")
_FILTER_MARKS = ("content_filter", "content_policy", "content policy", "content management policy")


Objection = Literal["high_limit", "low_limit", "effort"]
"""The part of a request that a provider refuses: the limit of tokens as too high or too low, or the effort."""

_OBJECTIONS: dict[Objection, re.Pattern[str]] = {
    "high_limit": re.compile(
        r"max_(completion_|output_|new_)?tokens|maxOutputTokens|num_predict|(completion|output) tokens"
        r"|in the completion",
        re.IGNORECASE,
    ),
    "low_limit": re.compile(r"could not finish the message|higher max_", re.IGNORECASE),
    "effort": re.compile(r"reasoning|\bthink(ing)?\b|\beffort\b", re.IGNORECASE),
}

# 402: some providers check beforehand that the account can pay for the longest possible reply.
_OBJECTING_STATUSES = (400, 402, 413, 422)


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    cause: FailureCause
    detail: str
    is_transient: bool = False  # the same request may succeed later
    retry_after: float | None = None  # seconds, if the provider says so
    is_request_error: bool = False  # it may accept the request without functions or schema
    objections: frozenset[Objection] = frozenset()


def classify_error(
    error: Exception, model: str, missing_variables: Collection[str] = (), key_variable: str = ""
) -> ProviderFailure:
    """What an error of a provider means.

    missing_variables: environment variables that the provider needs and that are not set. key_variable: the variable
    that holds the key; "" if unknown.
    """
    message, name, status = str(error), type(error).__name__, getattr(error, "status_code", 0)
    cause, objections = classify_cause(error, message), list_objections(error, message, model)
    # For OpenAI litellm reports a missing key as a server error.
    is_about_key = name == "AuthenticationError" or re.search("api[_ ]key", message, re.IGNORECASE)
    advice = ""
    if missing_variables and is_about_key and cause in ("unauthorized", "unavailable"):
        cause = "unauthorized"
        advice = f"there is no key for it. Set {' and '.join(missing_variables)}, or choose another model."
    elif cause == "unauthorized" and key_variable and status in (401, 403):
        refusal = f"The provider refused the key in {key_variable} (HTTP {status})"
        advice = f"{refusal}. Set one that may use this model, restart the server, or choose another model."
    elif (
        "insufficient_quota" in message
        or name in ("BudgetExceededError", "PaymentRequiredError")
        or status == HTTPStatus.PAYMENT_REQUIRED
    ):
        advice = "the account has no credit left. Add some, or choose another model."
    elif name == "ContextWindowExceededError" or (
        cause == "bad_request" and any(mark in message.lower() for mark in _LENGTH_MARKS)
    ):
        advice = "the debate is longer than this model can read. Choose one with a larger context."
        return ProviderFailure("too_long", f"{model}: {advice}", objections=objections)
    if advice:
        return ProviderFailure(cause, f"{model}: {advice}", objections=objections)
    pause, advice = read_retry_after(error), _ADVICE[cause]
    if cause == "rate_limited" and pause:
        wait = f"asks to be left alone for {format_duration(pause)}; wait that long"
        advice = f"The provider limits the rate of requests and {wait} or choose another model."
    detail, excerpt = f"{model}: {advice}", summarize_message(name if cause == "crashed" else message)
    # Messages about keys often contain a part of the key.
    if excerpt and cause not in ("unauthorized", "timeout"):
        room = MAX_DETAIL_LENGTH - len(f'{detail} It said: ""')
        excerpt = excerpt if len(excerpt) <= room else excerpt[: max(room - 1, 0)].rstrip() + "…"
        detail = f'{detail} It said: "{excerpt}"'
    is_transient, is_bad = cause in ("timeout", "rate_limited", "unavailable"), cause == "bad_request"
    return ProviderFailure(cause, detail[:MAX_DETAIL_LENGTH], is_transient, pause, is_bad, objections)


def list_objections(error: Exception, message: str, model: str) -> frozenset[Objection]:
    if getattr(error, "status_code", 0) not in _OBJECTING_STATUSES:
        return frozenset()
    message = message.replace(model.rpartition("/")[2], "")  # "qwen3-thinking" says nothing of thinking
    objections = {objection for objection, pattern in _OBJECTIONS.items() if pattern.search(message)}
    # "Unsupported": the provider knows the limit by another name, and does not say that it is too high.
    if "low_limit" in objections or "nsupported" in message:
        objections.discard("high_limit")
    return frozenset(objections)


def classify_cause(error: Exception, message: str) -> ErrorCause:
    names = (ancestor.__name__ for ancestor in type(error).__mro__)
    causes = (CAUSE_BY_CLASS[name] for name in names if name in CAUSE_BY_CLASS)
    status = getattr(error, "status_code", 0)
    by_class: ErrorCause | None = next(causes, "crashed")
    cause: ErrorCause = by_class or _CAUSE_BY_STATUS.get(status, "unavailable")
    is_filtered = cause == "bad_request" and any(mark in message.lower() for mark in _FILTER_MARKS)
    return "refused" if is_filtered else cause


def read_retry_after(error: Exception) -> float | None:
    """The Retry-After of the response, in seconds. litellm keeps the headers in one of two places."""
    for holder, name in ((error, "litellm_response_headers"), (getattr(error, "response", None), "headers")):
        with suppress(KeyError, TypeError):  # None, or without this header
            pause = parse_retry_after(str(getattr(holder, name, {})["retry-after"]))
            if pause is not None:
                return pause
    return None


def summarize_message(message: str) -> str:
    """The first line of a provider's message, without litellm's prefix and without secrets."""
    text = redact_error(message[:MAX_READ_LENGTH]).strip()
    line = _PYTHON.sub("", _ERROR_PREFIX.sub("", text.partition("\n")[0]))
    if match := _MESSAGE.search(line):
        line = match["message"]
    return " ".join(line.replace('"', "'").split())
