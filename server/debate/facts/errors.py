"""Errors that the caller can correct."""


class DebateError(Exception):
    """An error whose text says what the caller can do; it is shown unchanged."""


class InvalidRequestError(DebateError):
    """The request is not possible for this debate, which is unchanged."""
