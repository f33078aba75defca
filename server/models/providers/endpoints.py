"""Which models are asked directly, and where."""

import os
from dataclasses import dataclass
from functools import cache

from server.models import LITELLM_PREFIX
from server.models.prices import find_row, load_table
from server.models.providers.addresses import OLLAMA_PROVIDERS, find_api_base, parse_provider

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


def find_endpoint(name: str, api_base: str = "", mode: str = "chat") -> Endpoint | None:
    """Where to ask for a model without litellm; None where only litellm can ask.

    Any provider that litellm does not know is one of the user's own, if `{PROVIDER}_API_BASE` is set. Models that
    are asked with another protocol than that of `mode`, as litellm's table has it, are left to litellm.
    """
    provider, row = parse_provider(name), find_row(name)
    if row.get("mode", mode) != mode or ("/" not in name and row.get("litellm_provider") != "openai"):
        return None
    model = name.partition("/")[2] or name
    base = api_base or find_api_base(name) or ADDRESSES.get(provider, "")
    if provider in OLLAMA_PROVIDERS:
        return Endpoint("ollama", model, base, is_ollama=True)
    is_compatible = provider in ADDRESSES or provider not in _find_litellm_providers()
    return Endpoint(provider, model, base.rstrip("/")) if base and is_compatible else None


def find_address(name: str, mode: str = "chat") -> str:
    """Where a model of a provider is asked; "" for where litellm asks unless it is told otherwise."""
    endpoint = None if name.startswith(LITELLM_PREFIX) else find_endpoint(name, mode=mode)
    return endpoint.base if endpoint else find_api_base(name.removeprefix(LITELLM_PREFIX))


def is_of_known_provider(name: str) -> bool:
    """Whether litellm's table has a model, or others of its provider."""
    return bool(find_row(name)) or ("/" in name and parse_provider(name) in _find_litellm_providers())


@cache  # the table does not change
def _find_litellm_providers() -> frozenset[str]:
    return frozenset(str(row.get("litellm_provider")) for row in load_table().values())
