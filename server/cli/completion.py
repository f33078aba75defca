"""Completion of commands, options and ids in bash, zsh and fish, by what click has for it."""

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
MOST_IDS = 50


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes SHELL complete commands, options and ids of debates.

    Add to the file that bash reads at its start: eval "$(counterpoint completion bash)". For zsh the same with zsh, for
    fish: counterpoint completion fish | source.

    Example: counterpoint completion zsh
    """
    found = get_completion_class(shell)
    assert found
    root = ctx.find_root().command
    click.echo(found(root, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


def complete_id(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The debates whose ids begin so, newest first, with their questions. None where there is no database."""
    with suppress(DebateError, OSError, ExceptionGroup):
        settings = Settings.read(os.environ)
        if db := ctx.find_root().params.get("db"):
            settings = settings.model_copy(update={"db": db})
        if is_address(settings.database) or Path(settings.database).is_file():
            return anyio.run(find_items, settings, typed)
    return []


async def find_items(settings: Settings, typed: str) -> list[CompletionItem]:
    from server.startup import open_journal  # noqa: PLC0415  (imports the database)

    async with open_journal(settings) as journal:
        if typed:
            return [CompletionItem(name) for name in await journal.find_by_prefix(typed, limit=MOST_IDS)]
        newest = await journal.find(limit=MOST_IDS)
    return [CompletionItem(row.stream, help=format_heading(str(row.title))) for row in newest]
