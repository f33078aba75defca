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

from server.caller import Caller
from server.settings import PREFIX, InvalidSettingsError, read_text_file
from storage.tokens import StoredToken, Tokens

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

    def __init__(self, store: "Tokens | TokenFile", clock: Callable[[], float] = time.time) -> None:
        self.store, self.clock = store, clock

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who may use it; None for one that is unknown, revoked or expired. Raises StorageError."""
        if not token.startswith(TOKEN_PREFIX):
            return None
        return await self.verify_digest(hash_token(token))

    async def verify_digest(self, digest: str) -> AccessToken | None:
        """As `verify_token`, by the hash of a token."""
        row = await self.store.find(digest)
        if row is None or not is_good(row, self.clock()):
            return None
        return AccessToken(
            token="",  # nobody needs it any more, and it is in no log that way
            client_id=f"token {row.digest[:SHOWN_DIGITS]}",
            scopes=[*row.scopes],
            expires_at=int(find_end(row)) + 1 if row.expires_at else None,
            subject=row.owner,
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

    async def add(self, token: StoredToken) -> None:
        self._write([*({token.digest: token} | self._read()).values()])

    async def find(self, digest: str) -> StoredToken | None:
        return self._read().get(digest)

    async def read(self) -> list[StoredToken]:
        return sorted(self._read().values(), key=lambda token: (token.created_at, token.digest))

    async def revoke(self, digest: str, at: str) -> None:
        tokens = self._read()
        if (token := tokens.get(digest)) and not token.revoked_at:
            self._write([*(tokens | {digest: replace(token, revoked_at=at)}).values()])

    def _read(self) -> dict[str, StoredToken]:
        """By hash. A file that is not there holds none."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return {}
        except OSError as error:
            text = f"The file of tokens {self.path} ({PREFIX}TOKENS) cannot be read: {error.strerror}."
            raise InvalidSettingsError(text) from error
        mark = (status.st_mtime_ns, status.st_size, status.st_ino)
        if mark != self._mark:
            name = f"The file of tokens {self.path} ({PREFIX}TOKENS)"
            try:
                rows = _rows.validate_json(read_text_file(str(self.path), name))
            except ValidationError as error:
                problem = error.errors(include_url=False, include_input=False)[0]
                place = ".".join(map(str, problem["loc"]))
                raise InvalidSettingsError(
                    f"{name} cannot be read: {place} {problem['msg']}".strip()
                ) from None
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
