"""Model servers on this machine: at their usual ports, or where the environment says they are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from anyio import to_thread

from server.models.providers.endpoints import find_address, is_callable
from server.models.registry import NoModelError, choose_default_models, family
from server.models.windows import WindowTable, fetch_json

SERVERS = {"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp", "vllm": "vLLM"}
"""Titles of model servers, by the provider in the names of their models."""

TIMEOUT = 3  # seconds for a server to list its models, on a busy machine, too; all are asked together
MAX_MODELS = 20  # listed of one server
MAX_NAMED = 4  # models of one server that a sentence names


@dataclass(frozen=True, slots=True)
class ServedModel:
    name: str  # PROVIDER/MODEL
    window: int  # tokens; 0 if unknown

    def __str__(self) -> str:
        return f"{self.name} ({self.window:,} tokens)" if self.window else self.name


@dataclass(frozen=True, slots=True)
class ModelServer:
    title: str
    address: str
    models: tuple[ServedModel, ...]

    def __str__(self) -> str:
        ending = f" and {len(self.models) - MAX_NAMED} more" if len(self.models) > MAX_NAMED else ""
        return f"{self.title} at {self.address} has {', '.join(map(str, self.models[:MAX_NAMED]))}{ending}"


async def find_servers(windows: WindowTable) -> tuple[ModelServer, ...]:
    """The servers that answer in time and have a chat model; COUNTERPOINT_OFFLINE leaves those on loopback."""
    names: dict[str, list[str]] = {}
    async with anyio.create_task_group() as tasks:
        for provider in SERVERS:
            tasks.start_soon(_list_models, provider, names)
    known_windows = await windows.find([name for provider in SERVERS for name in names.get(provider, ())])
    tokens = {window.model: window.tokens for window in known_windows}
    return tuple(
        ModelServer(
            title,
            find_address(f"{provider}/any"),
            tuple(ServedModel(name, tokens.get(name, 0)) for name in names[provider]),
        )
        for provider, title in SERVERS.items()
        if names.get(provider)
    )


async def _list_models(provider: str, names: dict[str, list[str]]) -> None:
    address = find_address(f"{provider}/any")
    url = f"{address}/api/tags" if provider == "ollama" else f"{address}/models"
    if not is_callable(url):
        return
    with anyio.move_on_after(TIMEOUT), suppress(Exception):  # any program may listen there
        answer = await to_thread.run_sync(partial(fetch_json, url, timeout=TIMEOUT), abandon_on_cancel=True)
        names[provider] = [f"{provider}/{name}" for name in read_names(answer)][:MAX_MODELS]


def read_names(answer: Any) -> Iterator[str]:
    """The chat models in an answer of Ollama's `/api/tags` or of `/v1/models`."""
    for row in answer.get("models") or answer.get("data"):
        name, details = str(row.get("name") or row["id"]), row.get("details") or {}
        is_embedding = "embed" in name.casefold() or "bert" in str(details.get("family"))
        if name.isprintable() and " " not in name and not is_embedding:
            yield name


def choose_pair(servers: Iterable[ModelServer]) -> tuple[str, ...]:
    """Two models, of different families if possible, or the only one. Earlier ones in the servers' lists win."""
    names = [model.name for server in servers for model in server.models]
    first_of_family = {family(name): name for name in reversed(names)}
    other_families = [name for name in names[1:] if name == first_of_family[family(name)]]
    return tuple([*names[:1], *other_families, *names[1:]][:2])


async def choose_models(
    configured: Sequence[str], environ: Mapping[str, str], windows: WindowTable, debater_models: Sequence[str]
) -> tuple[str, ...]:
    """The models of a debate that names none: as `choose_default_models`, but models on this machine are proposed.

    Raises NoModelError if there is none, or only a server on this machine, whose models the error proposes: they are
    not used unasked.
    """
    try:
        names = choose_default_models(configured, environ, debater_models)
    except NoModelError:
        names = ()
    if configured or names not in ((), ("local",)):
        return names
    servers = await find_servers(windows)
    if servers or not names:
        raise NoModelError("; ".join(map(str, servers)), choose_pair(servers))
    return names
