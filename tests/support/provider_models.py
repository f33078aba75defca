"""How tests of providers get their models."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from server.models.providers.connections import Connections
from server.models.providers.direct import OllamaModel, OpenAIModel
from server.models.providers.endpoints import Endpoint
from server.models.providers.model import ProviderModel


class Ask(Protocol):
    """Builds a model of OpenAI's that asks the stub, directly or through litellm."""

    def __call__(
        self, name: str = "stub", *, base: str = "", sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> ProviderModel: ...


def build_direct(
    name: str, base: str, connections: Connections, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
) -> OpenAIModel | OllamaModel:
    provider, _, model = name.partition("/")
    endpoint = Endpoint(provider, model, base, is_ollama=provider == "ollama")
    kind = OllamaModel if endpoint.is_ollama else OpenAIModel
    return kind(name, sleep=sleep, endpoint=endpoint, connections=connections)
