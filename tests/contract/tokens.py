"""What every store of tokens must do."""

from dataclasses import replace

import pytest

from storage.tokens import (
    MAX_PAGE_SESSIONS,
    PageSession,
    PageSessionStore,
    StoredToken,
    Tokens,
)

ALICE = StoredToken("a" * 64, "alice", ("debate",), "2026-03-01T00:00:00.000Z")
BOB = StoredToken(
    "b" * 64, "bob ü\x00", ("read", "admin"), "2026-02-01T00:00:00.000Z", "2026-04-01T00:00:00.000Z"
)
NOW, LATER = "2026-03-02T00:00:00.000Z", "2026-03-03T00:00:00.000Z"


@pytest.mark.requirement("N14")
@pytest.mark.asyncio
class TokenContract:
    async def test_a_token_is_found_by_its_hash_as_it_was_added(self, tokens: Tokens) -> None:
        assert await tokens.find(ALICE.digest) is None
        assert await tokens.read() == []
        await tokens.add(ALICE)
        await tokens.add(BOB)
        await tokens.add(replace(ALICE, owner="mallory"))

        assert await tokens.find(ALICE.digest) == ALICE
        assert await tokens.find(BOB.digest) == BOB
        assert await tokens.find("c" * 64) is None
        assert await tokens.read() == [BOB, ALICE]

    async def test_a_revoked_token_stays_with_the_time_when_it_was_first_revoked(
        self, tokens: Tokens
    ) -> None:
        await tokens.add(ALICE)
        await tokens.add(BOB)
        for at in (NOW, LATER):
            await tokens.revoke(ALICE.digest, at)
        await tokens.revoke("c" * 64, NOW)

        found = await tokens.find(ALICE.digest)
        assert found is not None
        assert found.revoked_at == NOW
        assert await tokens.find(BOB.digest) == BOB


SESSION = PageSession("1" * 64, ALICE.digest, "alice", ("read", "debate"), NOW, LATER)


@pytest.mark.requirement("N14")
@pytest.mark.asyncio
class PageSessionContract:
    async def test_a_page_session_is_found_by_its_hash_until_it_is_ended(
        self, page_sessions: PageSessionStore
    ) -> None:
        await page_sessions.add(SESSION)
        assert await page_sessions.find(SESSION.digest) == SESSION
        assert await page_sessions.find("2" * 64) is None
        await page_sessions.end(SESSION.digest)
        assert await page_sessions.find(SESSION.digest) is None

    async def test_a_new_page_session_drops_those_that_ended_and_the_oldest_of_an_owner_with_too_many(
        self, page_sessions: PageSessionStore
    ) -> None:
        def build(number: int, owner: str = "alice") -> PageSession:
            begun = f"2026-03-02T00:00:00.{number:03}Z"
            return replace(SESSION, digest=f"{owner}{number}", owner=owner, created_at=begun)

        await page_sessions.add(build(0, "bob"))
        for number in range(MAX_PAGE_SESSIONS + 1):
            await page_sessions.add(build(number))
        kept = [await page_sessions.find(f"alice{number}") is not None for number in (0, 1, 100)]
        assert kept == [False, True, True]
        assert await page_sessions.find("bob0")
        await page_sessions.add(replace(SESSION, digest="3" * 64, created_at=LATER, owner="eve"))
        assert await page_sessions.find("bob0") is None
