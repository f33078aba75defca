"""Tokens in the journal's SQLite file."""

from storage.contract.tokens import StoredToken, parse_token
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
)

_COLUMNS = "digest, owner, scopes, created_at, expires_at, revoked_at"

INSERT_TOKEN = f"insert into token ({_COLUMNS}) values (?, ?, ?, ?, ?, ?) on conflict (digest) do nothing"

SELECT_TOKENS = f"select {_COLUMNS} from token"


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
