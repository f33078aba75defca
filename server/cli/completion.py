"""Shell completion of commands, options and debate ids (bash, zsh, fish), based on click's."""

import os
from contextlib import suppress
from pathlib import Path

import anyio
import click
from click.shell_completion import CompletionItem, get_completion_class

from server.debate.facts.errors import DebateError
from server.debate.facts.text import format_heading
from server.settings import Settings
from storage.addresses import is_address

PROGRAM = "counterpoint"
SHELLS = ("bash", "zsh", "fish")
MAX_IDS = 50


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script with which SHELL completes commands and ids.

    For bash add this line to ~/.bashrc: eval "$(counterpoint completion bash)". For zsh the same with zsh; for fish:
    counterpoint completion fish | source.

    Example: counterpoint completion zsh
    """
    shell_class = get_completion_class(shell)
    assert shell_class
    root = ctx.find_root().command
    click.echo(shell_class(root, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


def complete_id(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The debates whose ids begin with `typed`, newest first, with their questions; none without a database."""
    with suppress(DebateError, OSError, ExceptionGroup):
        settings = Settings.read(os.environ)
        if db := ctx.find_root().params.get("db"):
            settings = settings.model_copy(update={"db": db})
        if is_address(settings.database) or Path(settings.database).is_file():
            return anyio.run(list_items, settings, typed)
    return []


async def list_items(settings: Settings, typed: str) -> list[CompletionItem]:
    from server.startup import open_storage  # noqa: PLC0415  (imports the database)

    async with open_storage(settings) as storage:
        if typed:
            return [CompletionItem(name) for name in await storage.lists.find_by_prefix(typed, limit=MAX_IDS)]
        newest = await storage.lists.find(limit=MAX_IDS)
    return [CompletionItem(row.stream, help=format_heading(str(row.title))) for row in newest]
