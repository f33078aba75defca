"""What a caller is told when something cannot be done."""


class DebateError(Exception):
    """The caller can do something about this. The text says what, and is shown as it stands."""


class InvalidRequestError(DebateError):
    """This debate cannot do what was asked. It is unchanged."""
