"""A debate manager with hooks, and debates to run with it."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from server.compose import open_manager
from server.debate.commands.requests import DebaterInput
from server.engine.debates import DebateManager, utc_now
from server.engine.setups import SetupPlanner
from server.hooks.address_policy import Resolver, resolve
from server.hooks.config import load_hooks_config
from server.hooks.runner import run_hooks
from server.models import Model, ModelError, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.registry import ModelRegistry
from server.settings import Settings
from server.startup import open_storage
from tests.support.paths import find_folder
from tests.support.processes.webhook_receiver import SECRET

ENVIRON = {"HOOK_SECRET": SECRET}
ACTOR = "test"


def webhook(url: str, **fields: Any) -> dict[str, Any]:
    return {"webhook": {"url": url, "secret_env": "HOOK_SECRET", **fields}}


def hook(name: str, on: str, *do: dict[str, Any], **when: Any) -> dict[str, Any]:
    return {"name": name, "on": [on], "when": when, "do": list(do)}


def post_at_start(url: str, **fields: Any) -> dict[str, Any]:
    return hook("ops", "debate_start", webhook(url, **fields))


def write_hooks_file(folder: Path, *hooks: dict[str, Any], **fields: Any) -> Path:
    """Write a hooks file, as JSON. Webhooks to this machine are allowed unless `fields` say otherwise."""
    path = folder / "hooks.yaml"
    path.write_text(json.dumps({"hooks": hooks, "allow": {"private": ["127.0.0.1"]}, **fields}), "utf-8")
    return path


@asynccontextmanager
async def open_hooks(
    database: str, *hooks: dict[str, Any], models: Mapping[str, Model] | None = None, **fields: Any
) -> AsyncIterator[DebateManager]:
    """Open the manager as the server and the terminal do. `fields` as in `write_hooks_file`."""
    path = write_hooks_file(find_folder(database), *hooks, **fields) if hooks else ""
    settings = Settings(db=database, models=("scripted",), hooks=str(path))
    async with open_manager(settings, models, environ=ENVIRON) as manager:
        yield manager


@asynccontextmanager
async def open_retrying_hooks(
    database: str,
    *hooks: dict[str, Any],
    retry_delays: Sequence[float] = (0,),
    clock: Any = utc_now,
    resolver: Resolver = resolve,
    **fields: Any,
) -> AsyncIterator[DebateManager]:
    """Open a manager with given delays between delivery attempts. `fields` as in `write_hooks_file`."""
    config = load_hooks_config(str(write_hooks_file(find_folder(database), *hooks, **fields)), ENVIRON)
    async with (
        open_storage(Settings(db=database), lambda: clock().timestamp()) as storage,
        DebateManager(
            storage,
            SetupPlanner(ModelRegistry({}), configured_models=("scripted",), environ=ENVIRON),
            clock=clock,
        ) as manager,
        run_hooks(config, manager, storage.outbox, retry_delays=retry_delays, resolver=resolver),
    ):
        yield manager


def time_out(request: Request) -> str:
    raise ModelError("timeout", f"{request.seat} did not answer.")


def build_failing_team() -> tuple[list[DebaterInput], dict[str, Model]]:
    """Three debaters, of whom the last always times out, and the models they need."""
    debaters = [DebaterInput(name=name, stance=name, model="scripted") for name in ("Ada", "Ben")]
    debaters.append(DebaterInput(name="Cy", stance="neither", model="mute"))
    return debaters, {"mute": ScriptedModel(time_out)}
