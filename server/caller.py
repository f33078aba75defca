"""Whose request this is, and what they may do: one owner, and scopes.

Read it in the handler of a request, and nowhere below: tasks that a request starts inherit its context, and would
act for its owner long after it.
"""

from dataclasses import dataclass

from storage import LOCAL_OWNER

READ, DEBATE, ADMIN = "read", "debate", "admin"
"""To read what is one's own; to open, steer and pay for debates, which includes reading them; to run the server."""

SCOPES = (READ, DEBATE, ADMIN)

MAX_OWNER_LENGTH = 200


class InsufficientScopeError(Exception):
    """The caller may not do this. `scope`: what is missing."""

    def __init__(self, scope: str) -> None:
        super().__init__(
            f"insufficient_scope: this needs the scope {scope!r}, which your token does not have."
        )
        self.scope = scope


@dataclass(frozen=True, slots=True)
class Caller:
    """`owner`: whose debates they see, a name of printable characters. Raises ValueError for another."""

    owner: str
    scopes: frozenset[str]

    def __post_init__(self) -> None:
        if not (0 < len(self.owner) <= MAX_OWNER_LENGTH and self.owner.isprintable()):
            raise ValueError(f"an owner has 1 to {MAX_OWNER_LENGTH} printable characters")

    def may(self, scope: str) -> bool:
        return scope in self.scopes or (scope == READ and DEBATE in self.scopes)

    def require(self, scope: str) -> None:
        """Raises InsufficientScopeError."""
        if not self.may(scope):
            raise InsufficientScopeError(scope)


LOCAL = Caller(LOCAL_OWNER, frozenset(SCOPES))
"""Who uses this machine: the terminal, a client over stdio, and HTTP where it asks for no token."""


def read_caller() -> Caller:
    """Who sends the request that is being handled: the subject of its verified token, else the client; else `LOCAL`.

    Whoever verifies tokens sees to it that none has the subject `local` that is not meant.
    """
    # A server that is asked over stdio has imported it, too; the terminal does not wait for it.
    from mcp.server.auth.middleware.auth_context import get_access_token  # noqa: PLC0415

    token = get_access_token()
    if token is None:
        return LOCAL
    return Caller(token.subject or token.client_id, frozenset(token.scopes))
