"""Who has signed in on the pages: a random id, of use for nothing else, that ends with the token it was made for.

It is stored as a hash, in the database of the debates, so that every server on it knows it.
"""

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

from mcp.server.auth.provider import AccessToken

from server.access.tokens import TOKEN_BYTES, TOKEN_PREFIX, StoredTokens, format_time, hash_token
from storage.tokens import PageSession, PageSessionStore

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
