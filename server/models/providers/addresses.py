"""The addresses of providers, and whether they may be called."""

import os
import re
from urllib.parse import urlsplit

from server.models import ModelError

OLLAMA_PROVIDERS = ("ollama", "ollama_chat")
OLLAMA_PORT = 11434


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
