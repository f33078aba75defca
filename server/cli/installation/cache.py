"""`counterpoint cache`: show and clear the cache in the database."""

import click

from server.cli import session
from server.debate.facts.text import format_count
from server.engine.database.errors import translate_storage_errors
from server.engine.debates import DebateManager
from server.settings import Settings
from storage.cache import CacheSum


@click.group()
def cache() -> None:
    """The cache: embeddings of texts, and answers to be used again.

    Example: counterpoint cache show
    """


@cache.command()
@session.json_option
@click.pass_obj
def show(settings: Settings, as_json: bool) -> None:
    """Show the size of the cache by kind, and its limit (COUNTERPOINT_CACHE_MB).

    Example: counterpoint cache show
    """

    async def measure(manager: DebateManager) -> list[CacheSum]:
        with translate_storage_errors():
            return await manager.store.storage.cache.measure()

    sums = session.run_with_manager(settings, measure)
    if as_json:
        rows = [row._asdict() for row in sums]
        click.echo(session.format_json({"kept": rows, "max_bytes": settings.cache_mb * 1_000_000}))
        return
    for row in sums:
        click.echo(f"{format_count(row.number, row.kind)}, {row.bytes:,} bytes")
    total = sum(row.bytes for row in sums)
    click.echo(f"{total:,} of {settings.cache_mb * 1_000_000:,} bytes are used.")


@cache.command()
@click.pass_obj
def clear(settings: Settings) -> None:
    """Empty the cache. Debates lose nothing.

    Example: counterpoint cache clear
    """

    async def drop(manager: DebateManager) -> None:
        with translate_storage_errors():
            await manager.store.storage.cache.clear()

    session.run_with_manager(settings, drop)
    click.echo("The cache is empty.")
