"""A stub of a provider, and models that ask it in each way there is."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from server.models.providers.connections import Connections
from server.models.providers.litellm import LitellmModel
from server.models.providers.model import ProviderModel
from tests.support.provider.stub import Stub
from tests.support.provider_models import Ask, build_direct

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def stub(litellm_used: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stub]:
    _ = litellm_used
    async with Stub() as stub:
        for provider in ("OPENAI", "ANTHROPIC", "GEMINI"):
            monkeypatch.setenv(f"{provider}_API_BASE", stub.url)
        yield stub


@pytest.fixture
async def connections() -> AsyncIterator[Connections]:
    async with Connections() as connections:
        yield connections


@pytest.fixture(params=["direct", "litellm"])
def through(
    request: pytest.FixtureRequest, stub: Stub, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> Ask:
    def build(name: str = "stub", *, base: str = "", sleep: Any = anyio.sleep) -> ProviderModel:
        name, base = f"openai/{name}", base or stub.url
        if request.param == "direct":
            return build_direct(name, base, connections, sleep)
        monkeypatch.setenv("OPENAI_API_BASE", base)
        return LitellmModel(name, sleep=sleep)

    return build
