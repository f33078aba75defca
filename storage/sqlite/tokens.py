"""Tokens, and who signed in with them, in the journal's SQLite file."""

from storage.contract.tokens import (
    MAX_PAGE_SESSIONS,
    PageSession,
    StoredToken,
    parse_page_session,
    parse_token,
)
from storage.sqlite.connections.database import Database

CREATE_TOKENS = (
    """
    create table token (
        digest text primary key,
        owner text not null,
        scopes text not null,
        created_at text not null,
        expires_at text not null,
        revoked_at text not null
    ) strict, without rowid
    """,
    """
    create table page_session (
        digest text primary key,
        token text not null,
        owner text not null,
        scopes text not null,
        created_at text not null,
        expires_at text not null
    ) strict, without rowid
    """,
)

_COLUMNS = "digest, owner, scopes, created_at, expires_at, revoked_at"

INSERT_TOKEN = f"insert into token ({_COLUMNS}) values (?, ?, ?, ?, ?, ?) on conflict (digest) do nothing"

SELECT_TOKENS = f"select {_COLUMNS} from token"

_SESSION_COLUMNS = "digest, token, owner, scopes, created_at, expires_at"

DROP_SESSIONS = f"""
delete from page_session where expires_at <= ? or digest in (
    select digest from page_session where owner = ? order by created_at desc limit -1 offset {MAX_PAGE_SESSIONS - 1}
)
"""


class SqliteTokens:
    _db: Database

    async def add_token(self, token: StoredToken) -> None:
        scopes, times = " ".join(token.scopes), (token.created_at, token.expires_at, token.revoked_at)
        await self._db.writer.fetch_all(INSERT_TOKEN, token.digest, token.owner, scopes, *times)

    async def find_token(self, digest: str) -> StoredToken | None:
        rows = await self._db.reader.fetch_all(f"{SELECT_TOKENS} where digest = ?", digest)
        return parse_token(*rows[0]) if rows else None

    async def read_tokens(self) -> list[StoredToken]:
        rows = await self._db.reader.fetch_all(f"{SELECT_TOKENS} order by created_at, digest")
        return [parse_token(*row) for row in rows]

    async def revoke_token(self, digest: str, at: str) -> None:
        sql = "update token set revoked_at = ? where digest = ? and revoked_at = ''"
        await self._db.writer.fetch_all(sql, at, digest)

    async def add_page_session(self, session: PageSession) -> None:
        await self._db.writer.fetch_all(DROP_SESSIONS, session.created_at, session.owner)
        times = (session.created_at, session.expires_at)
        sql = f"insert into page_session ({_SESSION_COLUMNS}) values (?, ?, ?, ?, ?, ?)"
        scopes = " ".join(session.scopes)
        await self._db.writer.fetch_all(sql, session.digest, session.token, session.owner, scopes, *times)

    async def find_page_session(self, digest: str) -> PageSession | None:
        sql = f"select {_SESSION_COLUMNS} from page_session where digest = ?"
        rows = await self._db.reader.fetch_all(sql, digest)
        return parse_page_session(*rows[0]) if rows else None

    async def end_page_session(self, digest: str) -> None:
        await self._db.writer.fetch_all("delete from page_session where digest = ?", digest)
