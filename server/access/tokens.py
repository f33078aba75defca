"""Who has a token, or has signed in on the pages with one.

Tokens that `counterpoint token new` makes are random, stored as hashes, each with an owner, scopes and an end. Who
signs in gets a random id, of use for nothing else, that ends with the token. It is stored as a hash, in the database of
the debates, so that every server on it knows it.
"""

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from weakref import WeakValueDictionary

import anyio
from mcp.server.auth.provider import AccessToken
from pydantic import TypeAdapter, ValidationError

from server.caller import Caller
from server.files import write_atomically
from server.settings import PREFIX, InvalidSettingsError, read_text_file
from storage.streams import format_time
from storage.tokens import PageSession, PageSessionStore, StoredToken, Tokens

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


class Lookup:
    """Reads a token for all requests that wait for it at a time, so that many of one owner hold up nobody else.

    Each gets what was read after it came: it may have been revoked a moment before.
    """

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._begun, self._done = 0, 0  # numbers of the last read that began, and of the last that succeeded
        self._row: StoredToken | None = None

    async def find(self, store: "Tokens | TokenFile", digest: str) -> StoredToken | None:
        begun_before = self._begun
        async with self._lock:
            if self._done <= begun_before:
                self._begun = number = self._begun + 1
                self._row = await store.find(digest)
                self._done = number
            return self._row


class StoredTokens:
    """Verifies tokens against those that are stored, at each request: a revoked one is refused at once."""

    def __init__(self, store: "Tokens | TokenFile", clock: Callable[[], float] = time.time) -> None:
        self.store, self.clock = store, clock
        self._lookups = WeakValueDictionary[str, Lookup]()  # by the hash, as long as somebody waits

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who may use it; None for one that is unknown, revoked or expired. Raises StorageError."""
        if not token.startswith(TOKEN_PREFIX):
            return None
        return await self.verify_digest(hash_token(token))

    async def verify_digest(self, digest: str) -> AccessToken | None:
        """As `verify_token`, by the hash of a token."""
        row = await self._lookups.setdefault(digest, Lookup()).find(self.store, digest)
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
            write_atomically(self.path, _rows.dump_json([*tokens], indent=2) + b"\n", private=True)
        except OSError as error:
            text = f"The file of tokens {self.path} ({PREFIX}TOKENS) cannot be written: {error.strerror}."
            raise InvalidSettingsError(text) from error


ID_PREFIX = "cps_"
MAX_SECONDS = 7 * 24 * 3600.0  # that somebody stays signed in


class PageSessions:
    """`tokens`: with which people sign in. Every method may raise StorageError, InvalidSettingsError."""

    def __init__(
        self, store: PageSessionStore, tokens: StoredTokens, clock: Callable[[], float] = time.time
    ) -> None:
        self.store, self.tokens, self.clock = store, tokens, clock

    async def open(self, token: str, verified: AccessToken) -> str:
        """The id for somebody with a token that was just verified."""
        session_id, now = ID_PREFIX + secrets.token_urlsafe(TOKEN_BYTES), self.clock()
        end = min(now + MAX_SECONDS, verified.expires_at or now + MAX_SECONDS)
        start, end_text = (format_time(datetime.fromtimestamp(at, UTC)) for at in (now, end))
        digest = hash_token(token) if token.startswith(TOKEN_PREFIX) else ""
        owner = str(verified.subject)
        session = PageSession(hash_token(session_id), digest, owner, tuple(verified.scopes), start, end_text)
        await self.store.add(session)
        return session_id

    async def verify(self, session_id: str) -> AccessToken | None:
        """Who has signed in; None where nobody has, or where the token is no longer good."""
        if not session_id.startswith(ID_PREFIX):
            return None
        session = await self.store.find(hash_token(session_id))
        if session is None or (end := datetime.fromisoformat(session.expires_at).timestamp()) <= self.clock():
            return None
        if session.token and await self.tokens.verify_digest(session.token) is None:
            return None
        return AccessToken(
            token="",  # as in `StoredTokens`
            client_id=f"page {session.digest[:8]}",
            scopes=[*session.scopes],
            expires_at=int(end) + 1,
            subject=session.owner,
        )

    async def end(self, session_id: str) -> None:
        await self.store.end(hash_token(session_id))
