"""Which models are asked directly, without litellm, at which addresses, and whether these may be called."""

import os
import re
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from server.models import LITELLM_PREFIX, ModelError
from server.models.prices import find_row, load_table

OLLAMA_PROVIDERS = ("ollama", "ollama_chat")
OLLAMA_PORT = 11434
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


def choose_endpoint(name: str, mode: str = "chat") -> Endpoint | None:
    """The endpoint of a model that can be asked directly; None where only litellm can ask.

    A provider that litellm does not know is a server of the user, if `{PROVIDER}_API_BASE` is set. Models that need
    another protocol than that of `mode`, by litellm's table, are left to litellm.
    """
    if name.startswith(LITELLM_PREFIX):
        return None
    provider, model, row = parse_provider(name), name.partition("/")[2] or name, find_row(name)
    base = read_api_base(name) or ADDRESSES.get(provider, "")
    if provider in OLLAMA_PROVIDERS:
        return Endpoint("ollama", model, base, is_ollama=True)
    if row.get("mode", mode) != mode or ("/" not in name and row.get("litellm_provider") != "openai"):
        return None
    is_compatible = provider in ADDRESSES or provider not in _list_litellm_providers()
    return Endpoint(provider, model, base.rstrip("/")) if base and is_compatible else None


def find_address(name: str, mode: str = "chat") -> str:
    """The address where a provider's model is asked; "" for litellm's default."""
    endpoint = choose_endpoint(name, mode)
    return endpoint.base if endpoint else read_api_base(name.removeprefix(LITELLM_PREFIX))


def is_of_known_provider(name: str) -> bool:
    """Whether litellm's table has a model, or others of its provider."""
    return bool(find_row(name)) or ("/" in name and parse_provider(name) in _list_litellm_providers())


@cache  # the table does not change
def _list_litellm_providers() -> frozenset[str]:
    return frozenset(str(row.get("litellm_provider")) for row in load_table().values())


def parse_provider(name: str) -> str:
    return name.partition("/")[0].lower() if "/" in name else "openai"


def is_offline() -> bool:
    return os.environ.get("COUNTERPOINT_OFFLINE", "") not in ("", "0")


def is_loopback(url: str) -> bool:
    return bool(re.fullmatch(r"localhost|::1|127(\.\d{1,3}){3}", urlsplit(url).hostname or ""))


def is_callable(url: str) -> bool:
    """Whether a server may be called: offline only one on this machine."""
    return not is_offline() or is_loopback(url)


def check_callable(name: str, base: str) -> None:
    """Raises ModelError where a model may not be asked at this address."""
    if not is_callable(base):
        rule = "only models on this machine may be called then (an api_base on 127.0.0.1)"
        detail = f"{name} was not asked: COUNTERPOINT_OFFLINE is set, and {rule}."
        raise ModelError("bad_request", detail)


def read_api_base(name: str) -> str:
    """The configured address of a model's provider; "" for litellm's default."""
    provider = parse_provider(name)
    is_ollama = provider in OLLAMA_PROVIDERS
    prefix = "OLLAMA" if is_ollama else provider.upper()
    address = os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL") or ""
    return address or (build_ollama_address(os.environ.get("OLLAMA_HOST", "")) if is_ollama else "")


def build_ollama_address(host: str) -> str:
    """The address that Ollama's own programs make of OLLAMA_HOST: a host, a port, both, or an address."""
    host = host.strip()
    address = urlsplit(host if "://" in host else f"http://{host}")
    usual_port = {"http": 80, "https": 443}.get(address.scheme, OLLAMA_PORT) if "://" in host else OLLAMA_PORT
    # A server that listens on all interfaces is asked on loopback.
    name = address.hostname if address.hostname not in (None, "0.0.0.0", "::") else "127.0.0.1"  # noqa: S104
    name = f"[{name}]" if ":" in str(name) else name
    return f"{address.scheme}://{name}:{address.port or usual_port}{address.path.rstrip('/')}"
