"""Tokens of those who may use a server over HTTP: what each may do, and until when; and who signed in on its pages.

Stored are hashes alone.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredToken:
    """`digest`: SHA-256 of the token, in hexadecimal. Times as ISO 8601 in UTC, "" for never."""

    digest: str
    owner: str
    scopes: tuple[str, ...]
    created_at: str
    expires_at: str = ""
    revoked_at: str = ""


@dataclass(frozen=True, slots=True)
class PageSession:
    """Somebody signed in. `digest`: SHA-256 of its id; `token`: that of the token, "" for one of an issuer."""

    digest: str
    token: str
    owner: str
    scopes: tuple[str, ...]
    created_at: str
    expires_at: str


MAX_PAGE_SESSIONS = 100
"""Of an owner at a time."""


class PageSessionStore(Protocol):
    """Every method may raise StorageError."""

    async def add_page_session(self, session: PageSession) -> None:
        """Drops those that have ended by then, and the oldest of an owner who has too many."""

    async def find_page_session(self, digest: str) -> PageSession | None: ...

    async def end_page_session(self, digest: str) -> None: ...


class TokenStore(Protocol):
    """Every method may raise StorageError."""

    async def add_token(self, token: StoredToken) -> None:
        """One that is there already stays as it is."""

    async def find_token(self, digest: str) -> StoredToken | None: ...

    async def read_tokens(self) -> list[StoredToken]:
        """All that were ever added, those that were revoked as well, in the order of their times."""

    async def revoke_token(self, digest: str, at: str) -> None:
        """A token that was revoked before keeps its time; an unknown one is no error."""


def parse_token(digest: str, owner: str, scopes: str, *times: str) -> StoredToken:
    """A row of a database, which has the scopes as one text."""
    return StoredToken(digest, owner, tuple(scopes.split()), *times)


def parse_page_session(digest: str, token: str, owner: str, scopes: str, *times: str) -> PageSession:
    """Likewise."""
    return PageSession(digest, token, owner, tuple(scopes.split()), *times)
