"""Model servers on this machine: found at their usual ports, or where the environment says they are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from anyio import to_thread

from server.models.providers.addresses import find_api_base, is_callable
from server.models.providers.endpoints import find_endpoint
from server.models.registry import NoModelError, family, find_default_models
from server.models.windows import WindowTable, fetch_json

SERVERS = {"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp", "vllm": "vLLM"}
"""What finds models on this machine, by the provider in their names."""

TIMEOUT = 0.15  # seconds for a server to list its models; all are asked together
MAX_MODELS = 20  # of a server, that are named
MAX_NAMED = 4  # of a server, in a sentence


@dataclass(frozen=True, slots=True)
class FoundModel:
    name: str  # PROVIDER/MODEL
    window: int  # tokens; 0 where unknown

    def __str__(self) -> str:
        return f"{self.name} ({self.window:,} tokens)" if self.window else self.name


@dataclass(frozen=True, slots=True)
class FoundServer:
    title: str
    address: str
    models: tuple[FoundModel, ...]

    def __str__(self) -> str:
        more = f" and {len(self.models) - MAX_NAMED} more" if len(self.models) > MAX_NAMED else ""
        return f"{self.title} at {self.address} has {', '.join(map(str, self.models[:MAX_NAMED]))}{more}"


async def find_servers(windows: WindowTable) -> tuple[FoundServer, ...]:
    """The servers that answer within 150 ms and have a model that talks. With COUNTERPOINT_OFFLINE only on loopback."""
    names: dict[str, list[str]] = {}
    async with anyio.create_task_group() as tasks:
        for provider in SERVERS:
            tasks.start_soon(_list_models, provider, names)
    found = await windows.find([name for provider in SERVERS for name in names.get(provider, ())])
    tokens = {window.model: window.tokens for window in found}
    return tuple(
        FoundServer(
            title,
            find_address(provider),
            tuple(FoundModel(name, tokens.get(name, 0)) for name in names[provider]),
        )
        for provider, title in SERVERS.items()
        if names.get(provider)
    )


async def _list_models(provider: str, names: dict[str, list[str]]) -> None:
    address = find_address(provider)
    url = f"{address}/api/tags" if provider == "ollama" else f"{address}/models"
    if not is_callable(url):
        return
    with anyio.move_on_after(TIMEOUT), suppress(Exception):  # whatever listens there may answer anything
        listed = await to_thread.run_sync(partial(fetch_json, url, timeout=TIMEOUT), abandon_on_cancel=True)
        names[provider] = [f"{provider}/{name}" for name in read_names(listed)][:MAX_MODELS]


def find_address(provider: str) -> str:
    name = f"{provider}/any"
    endpoint = find_endpoint(name)
    return find_api_base(name).rstrip("/") or (endpoint.base if endpoint else "")


def read_names(listed: Any) -> Iterator[str]:
    """The models that talk, from Ollama's `/api/tags` or from `/v1/models`."""
    for row in listed.get("models") or listed.get("data"):
        name, details = str(row.get("name") or row["id"]), row.get("details") or {}
        is_embedding = "embed" in name.casefold() or "bert" in str(details.get("family"))
        if name.isprintable() and " " not in name and not is_embedding:
            yield name


def choose_pair(servers: Iterable[FoundServer]) -> tuple[str, ...]:
    """Two models of different families, or of one, or a single one; those that servers name first come first."""
    names = [model.name for server in servers for model in server.models]
    first = {family(name): name for name in reversed(names)}
    others = [name for name in names[1:] if name == first[family(name)]]
    return tuple([*names[:1], *others, *names[1:]][:2])


async def choose_models(
    configured: Sequence[str], environ: Mapping[str, str], windows: WindowTable, debater_models: Sequence[str]
) -> tuple[str, ...]:
    """The models of a debate that names none: as `find_default_models`, but a server on this machine is proposed.

    Raises NoModelError if there is none, or only a server on this machine: nobody is to find out afterwards
    which models debated.
    """
    try:
        chosen = find_default_models(configured, environ, debater_models)
    except NoModelError:
        chosen = ()
    if configured or chosen not in ((), ("local",)):
        return chosen
    servers = await find_servers(windows)
    if servers or not chosen:
        raise NoModelError("; ".join(map(str, servers)), choose_pair(servers))
    return chosen
