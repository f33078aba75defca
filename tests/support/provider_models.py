"""How tests of providers get their models."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from server.models.providers.model import ProviderModel


class Ask(Protocol):
    """Builds a model of OpenAI's that asks the stub, directly or through litellm."""

    def __call__(
        self, name: str = "stub", *, base: str = "", sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> ProviderModel: ...
