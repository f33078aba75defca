"""Tokens in PostgreSQL."""

from storage.contract.tokens import StoredToken, parse_token
from storage.postgres.connections.pool import Database

CREATE_TOKENS = """
create table token (
    digest text collate "C" primary key,
    owner text collate "C" not null,
    scopes text not null,
    created_at text collate "C" not null,
    expires_at text not null,
    revoked_at text not null
);
"""

_COLUMNS = "digest, owner, scopes, created_at, expires_at, revoked_at"

INSERT_TOKEN = (
    f"insert into token ({_COLUMNS}) values ($1, $2, $3, $4, $5, $6) on conflict (digest) do nothing"
)

SELECT_TOKENS = f"select {_COLUMNS} from token"


class PostgresTokens:
    _db: Database

    async def add_token(self, token: StoredToken) -> None:
        scopes, times = " ".join(token.scopes), (token.created_at, token.expires_at, token.revoked_at)
        await self._db.write(INSERT_TOKEN, token.digest, token.owner, scopes, *times)

    async def find_token(self, digest: str) -> StoredToken | None:
        rows = await self._db.fetch(f"{SELECT_TOKENS} where digest = $1", digest)
        return parse_token(*rows[0]) if rows else None

    async def read_tokens(self) -> list[StoredToken]:
        rows = await self._db.fetch(f"{SELECT_TOKENS} order by created_at, digest")
        return [parse_token(*row) for row in rows]

    async def revoke_token(self, digest: str, at: str) -> None:
        sql = "update token set revoked_at = $1 where digest = $2 and revoked_at = ''"
        await self._db.write(sql, at, digest)
