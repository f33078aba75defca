"""Tokens that `counterpoint token new` makes: random, stored as hashes, each with an owner, scopes and an end."""

import hashlib
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mcp.server.auth.provider import AccessToken
from pydantic import TypeAdapter, ValidationError

from server.access.caller import Caller
from server.settings import PREFIX, InvalidSettingsError, read_text_file
from storage.contract.tokens import StoredToken, TokenStore

TOKEN_PREFIX = "cpt_"  # noqa: S105  (what every token begins with, so that it is known for one wherever it turns up)
TOKEN_BYTES = 32
SHOWN_DIGITS = 8  # of a hash, as the id of a token

_rows = TypeAdapter(list[StoredToken])


def make_token(
    owner: str, scopes: Sequence[str], days: int | None, now: Callable[[], float] = time.time
) -> tuple[str, StoredToken]:
    """A new token, and what is stored of it. `days`: None: it does not end. Raises ValueError for a bad owner."""
    Caller(owner, frozenset(scopes))
    token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    begin = datetime.fromtimestamp(now(), UTC)
    expires_at = format_time(begin + timedelta(days=days)) if days is not None else ""
    return token, StoredToken(hash_token(token), owner, tuple(scopes), format_time(begin), expires_at)


def hash_token(token: str) -> str:
    """Without a salt: a token has 256 random bits, which nobody guesses."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def format_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def describe_state(token: StoredToken, now: float) -> str:
    """Since or until when a token can be used."""
    if token.revoked_at:
        return f"revoked {token.revoked_at[:10]}"
    if not token.expires_at:
        return "no end"
    return f"{'until' if find_end(token) > now else 'expired'} {token.expires_at[:10]}"


def is_good(token: StoredToken, now: float) -> bool:
    return not token.revoked_at and (not token.expires_at or find_end(token) > now)


def find_end(token: StoredToken) -> float:
    """Unix time. A damaged one has ended."""
    try:
        return datetime.fromisoformat(token.expires_at).timestamp()
    except ValueError:
        return 0.0


class StoredTokens:
    """Verifies tokens against those that are stored, at each request: a revoked one is refused at once."""

    def __init__(self, store: TokenStore, clock: Callable[[], float] = time.time) -> None:
        self.store, self.clock = store, clock

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who may use it; None for one that is unknown, revoked or expired. Raises StorageError."""
        if not token.startswith(TOKEN_PREFIX):
            return None
        return await self.verify_digest(hash_token(token))

    async def verify_digest(self, digest: str) -> AccessToken | None:
        """As `verify_token`, by the hash of a token."""
        stored = await self.store.find_token(digest)
        if stored is None or not is_good(stored, self.clock()):
            return None
        return AccessToken(
            token="",  # nobody needs it any more, and it is in no log that way
            client_id=f"token {stored.digest[:SHOWN_DIGITS]}",
            scopes=[*stored.scopes],
            expires_at=int(find_end(stored)) + 1 if stored.expires_at else None,
            subject=stored.owner,
        )


class TokenFile:
    """Tokens in a JSON file, which is read again when it has changed.

    A list of {"digest", "owner", "scopes", "created_at", "expires_at", "revoked_at"}. Every method may raise
    InvalidSettingsError.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path).expanduser()
        self._mark: tuple[int, ...] = ()  # of the file that was read last
        self._tokens: dict[str, StoredToken] = {}

    async def add_token(self, token: StoredToken) -> None:
        self._write([*({token.digest: token} | self._read()).values()])

    async def find_token(self, digest: str) -> StoredToken | None:
        return self._read().get(digest)

    async def read_tokens(self) -> list[StoredToken]:
        return sorted(self._read().values(), key=lambda token: (token.created_at, token.digest))

    async def revoke_token(self, digest: str, at: str) -> None:
        known = self._read()
        if (token := known.get(digest)) and not token.revoked_at:
            self._write([*(known | {digest: replace(token, revoked_at=at)}).values()])

    def _read(self) -> dict[str, StoredToken]:
        """By hash. A file that is not there holds none."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return {}
        except OSError as error:
            text = f"The file of tokens {self.path} ({PREFIX}TOKENS) cannot be read: {error.strerror}."
            raise InvalidSettingsError(text) from error
        mark = (found.st_mtime_ns, found.st_size, found.st_ino)
        if mark != self._mark:
            name = f"The file of tokens {self.path} ({PREFIX}TOKENS)"
            try:
                rows = _rows.validate_json(read_text_file(str(self.path), name))
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                where = ".".join(map(str, first["loc"]))
                raise InvalidSettingsError(f"{name} cannot be read: {where} {first['msg']}".strip()) from None
            self._mark, self._tokens = mark, {token.digest: token for token in rows}
        return self._tokens

    def _write(self, tokens: Sequence[StoredToken]) -> None:
        """All of it or nothing, for this user alone."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_rows.dump_json([*tokens], indent=2) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except OSError as error:
            text = f"The file of tokens {self.path} ({PREFIX}TOKENS) cannot be written: {error.strerror}."
            raise InvalidSettingsError(text) from error
