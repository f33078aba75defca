"""What every store of tokens must do."""

from dataclasses import replace

import pytest

from storage.contract.tokens import StoredToken, TokenStore

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
