"""Decides which models are asked directly, without litellm, and at which address."""

import os
from dataclasses import dataclass
from functools import cache

from server.models import LITELLM_PREFIX
from server.models.prices import find_row, load_table
from server.models.providers.addresses import OLLAMA_PROVIDERS, parse_provider, read_api_base

ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "xai": "https://api.x.ai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "groq": "https://api.groq.com/openai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "lm_studio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "hosted_vllm": "http://127.0.0.1:8000/v1",
}
"""OpenAI-compatible endpoints by provider, where `{PROVIDER}_API_BASE` does not say otherwise."""

KEYED_PROVIDERS = frozenset({"openai", "deepseek", "xai", "mistral", "groq", "openrouter"})
"""Providers that refuse requests without a key. Others get the one in `{PROVIDER}_API_KEY`, if there is any."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    provider: str
    model: str  # as the endpoint calls it
    base: str
    is_ollama: bool = False  # Ollama's own protocol: its OpenAI-compatible one has no `num_ctx`

    @property
    def key_variable(self) -> str:
        return f"{self.provider.upper()}_API_KEY"

    @property
    def key(self) -> str:
        return os.environ.get(self.key_variable, "")


def choose_endpoint(name: str, api_base: str = "", mode: str = "chat") -> Endpoint | None:
    """The endpoint of a model that can be asked directly; None where only litellm can ask.

    A provider that litellm does not know is a server of the user, if `{PROVIDER}_API_BASE` is set. Models that need
    another protocol than that of `mode`, by litellm's table, are left to litellm.
    """
    provider, row = parse_provider(name), find_row(name)
    if row.get("mode", mode) != mode or ("/" not in name and row.get("litellm_provider") != "openai"):
        return None
    model = name.partition("/")[2] or name
    base = api_base or read_api_base(name) or ADDRESSES.get(provider, "")
    if provider in OLLAMA_PROVIDERS:
        return Endpoint("ollama", model, base, is_ollama=True)
    is_compatible = provider in ADDRESSES or provider not in _list_litellm_providers()
    return Endpoint(provider, model, base.rstrip("/")) if base and is_compatible else None


def find_address(name: str, mode: str = "chat") -> str:
    """The address where a provider's model is asked; "" for litellm's default."""
    endpoint = None if name.startswith(LITELLM_PREFIX) else choose_endpoint(name, mode=mode)
    return endpoint.base if endpoint else read_api_base(name.removeprefix(LITELLM_PREFIX))


def is_of_known_provider(name: str) -> bool:
    """Whether litellm's table has a model, or others of its provider."""
    return bool(find_row(name)) or ("/" in name and parse_provider(name) in _list_litellm_providers())


@cache  # the table does not change
def _list_litellm_providers() -> frozenset[str]:
    return frozenset(str(row.get("litellm_provider")) for row in load_table().values())
