"""What every store of tokens must do."""

from dataclasses import replace

import pytest

from storage.contract.tokens import (
    MAX_PAGE_SESSIONS,
    PageSession,
    PageSessionStore,
    StoredToken,
    TokenStore,
)

ALICE = StoredToken("a" * 64, "alice", ("debate",), "2026-03-01T00:00:00.000Z")
BOB = StoredToken(
    "b" * 64, "bob ü\x00", ("read", "admin"), "2026-02-01T00:00:00.000Z", "2026-04-01T00:00:00.000Z"
)
NOW, LATER = "2026-03-02T00:00:00.000Z", "2026-03-03T00:00:00.000Z"


@pytest.mark.requirement("N14")
@pytest.mark.asyncio
class TokenContract:
    async def test_a_token_is_found_by_its_hash_as_it_was_added(self, tokens: TokenStore) -> None:
        assert await tokens.find_token(ALICE.digest) is None
        assert await tokens.read_tokens() == []
        await tokens.add_token(ALICE)
        await tokens.add_token(BOB)
        await tokens.add_token(replace(ALICE, owner="mallory"))

        assert await tokens.find_token(ALICE.digest) == ALICE
        assert await tokens.find_token(BOB.digest) == BOB
        assert await tokens.find_token("c" * 64) is None
        assert await tokens.read_tokens() == [BOB, ALICE]

    async def test_a_revoked_token_stays_with_the_time_when_it_was_first_revoked(
        self, tokens: TokenStore
    ) -> None:
        await tokens.add_token(ALICE)
        await tokens.add_token(BOB)
        for at in (NOW, LATER):
            await tokens.revoke_token(ALICE.digest, at)
        await tokens.revoke_token("c" * 64, NOW)

        found = await tokens.find_token(ALICE.digest)
        assert found is not None
        assert found.revoked_at == NOW
        assert await tokens.find_token(BOB.digest) == BOB


SESSION = PageSession("1" * 64, ALICE.digest, "alice", ("read", "debate"), NOW, LATER)


@pytest.mark.requirement("N14")
@pytest.mark.asyncio
class PageSessionContract:
    async def test_a_page_session_is_found_by_its_hash_until_it_is_ended(
        self, tokens: PageSessionStore
    ) -> None:
        await tokens.add_page_session(SESSION)
        assert await tokens.find_page_session(SESSION.digest) == SESSION
        assert await tokens.find_page_session("2" * 64) is None
        await tokens.end_page_session(SESSION.digest)
        assert await tokens.find_page_session(SESSION.digest) is None

    async def test_a_new_page_session_drops_those_that_ended_and_the_oldest_of_an_owner_with_too_many(
        self, tokens: PageSessionStore
    ) -> None:
        def build(number: int, owner: str = "alice") -> PageSession:
            begun = f"2026-03-02T00:00:00.{number:03}Z"
            return replace(SESSION, digest=f"{owner}{number}", owner=owner, created_at=begun)

        await tokens.add_page_session(build(0, "bob"))
        for number in range(MAX_PAGE_SESSIONS + 1):
            await tokens.add_page_session(build(number))
        kept = [await tokens.find_page_session(f"alice{number}") is not None for number in (0, 1, 100)]
        assert kept == [False, True, True]
        assert await tokens.find_page_session("bob0")
        await tokens.add_page_session(replace(SESSION, digest="3" * 64, created_at=LATER, owner="eve"))
        assert await tokens.find_page_session("bob0") is None
