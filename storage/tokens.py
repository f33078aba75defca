"""Tokens of those who may use a server over HTTP: what each may do, and until when; and who signed in on its pages.

Stored are hashes alone.
"""

from dataclasses import dataclass

from storage.database import Database

TOKEN_TABLES = (
    """
    create table token (
        digest {text} primary key,
        owner {text} not null,
        scopes {text} not null,
        created_at {text} not null,
        expires_at {text} not null,
        revoked_at {text} not null
    ) {keyed}
    """,
    """
    create table page_session (
        digest {text} primary key,
        token {text} not null,
        owner {text} not null,
        scopes {text} not null,
        created_at {text} not null,
        expires_at {text} not null
    ) {keyed}
    """,
)

MAX_PAGE_SESSIONS = 100
"""Of an owner at a time."""


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


SELECT_TOKENS = "select digest, owner, scopes, created_at, expires_at, revoked_at from token"

ADD = """
insert into token (digest, owner, scopes, created_at, expires_at, revoked_at) values ($1, $2, $3, $4, $5, $6)
on conflict (digest) do nothing
"""

DROP_SESSIONS = f"""
delete from page_session where expires_at <= $1 or digest in (
    select digest from page_session where owner = $2 order by created_at desc
    limit 1000000 offset {MAX_PAGE_SESSIONS - 1}
)
"""

ADD_PAGE_SESSION = """
insert into page_session (digest, token, owner, scopes, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)
"""

SELECT_SESSION = """
select digest, token, owner, scopes, created_at, expires_at from page_session where digest = $1
"""


class Tokens:
    """Serves a server over HTTP, which asks who comes with a token, and `counterpoint tokens`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, token: StoredToken) -> None:
        """Add a token. One that is there already stays as it is."""
        times = token.created_at, token.expires_at, token.revoked_at
        await self._database.write(ADD, token.digest, token.owner, " ".join(token.scopes), *times)

    async def find(self, digest: str) -> StoredToken | None:
        rows = await self._database.read(f"{SELECT_TOKENS} where digest = $1", digest)
        return parse_token(*rows[0]) if rows else None

    async def read(self) -> list[StoredToken]:
        """All that were ever added, those that were revoked as well, in the order of their times."""
        rows = await self._database.read(f"{SELECT_TOKENS} order by created_at, digest")
        return [parse_token(*row) for row in rows]

    async def revoke(self, digest: str, at: str) -> None:
        """Revoke a token. One that was revoked before keeps its time; an unknown one is no error."""
        sql = "update token set revoked_at = $1 where digest = $2 and revoked_at = ''"
        await self._database.write(sql, at, digest)


class PageSessionStore:
    """Serves the web pages of a server over HTTP, whose visitors have signed in."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, session: PageSession) -> None:
        """Add a session. Drops those that have ended by then, and the oldest of an owner who has too many."""
        await self._database.write(DROP_SESSIONS, session.created_at, session.owner)
        names = session.digest, session.token, session.owner, " ".join(session.scopes)
        await self._database.write(ADD_PAGE_SESSION, *names, session.created_at, session.expires_at)

    async def find(self, digest: str) -> PageSession | None:
        rows = await self._database.read(SELECT_SESSION, digest)
        return parse_session(*rows[0]) if rows else None

    async def end(self, digest: str) -> None:
        await self._database.write("delete from page_session where digest = $1", digest)


def parse_session(digest: str, token: str, owner: str, scopes: str, *times: str) -> PageSession:
    return PageSession(digest, token, owner, tuple(scopes.split()), *times)


def parse_token(digest: str, owner: str, scopes: str, *times: str) -> StoredToken:
    return StoredToken(digest, owner, tuple(scopes.split()), *times)
