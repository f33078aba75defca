"""A stub of a provider, and models that ask it."""

from collections.abc import AsyncIterator

import pytest

from benchmarks.stub import Stub

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def stub(litellm_used: None) -> AsyncIterator[Stub]:
    _ = litellm_used
    async with Stub() as stub:
        yield stub
