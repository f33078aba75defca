"""Errors that the caller can correct, and the one that is a bug of ours."""


class DebateError(Exception):
    """An error whose text says what the caller can do; it is shown unchanged."""


class InvalidRequestError(DebateError):
    """The request is not possible for this debate, which is unchanged."""


def require(condition: object, otherwise: str) -> None:
    """Raise InvalidRequestError with the text `otherwise`, unless the condition holds."""
    if not condition:
        raise InvalidRequestError(otherwise)


def require_length(what: str, length: int, limit: int, advice: str = "") -> None:
    """Raise InvalidRequestError if the length is too large. `what`: "The question has"."""
    require(length <= limit, f"{what} {length:,} characters; {limit:,} are allowed. {advice}".rstrip())


class IllegalEvent(Exception):  # noqa: N818  (the name says what happened)
    """The event is not possible in this debate now: a bug, never a mistake of a user."""


def check(condition: bool, problem: str) -> None:
    """Raise IllegalEvent with this problem, unless the condition holds."""
    if not condition:
        raise IllegalEvent(problem)


def check_fits(problem: str) -> None:
    """Raise IllegalEvent with this problem, if there is one."""
    check(not problem, problem)
