"""`counterpoint cache`: what is kept to spare work, shown and cleared."""

import click

from server.cli import session
from server.debate.facts.text import format_count
from server.engine.database.errors import translate_storage_errors
from server.engine.debates import DebateManager
from server.settings import Settings
from storage.contract.cache import CacheSum


@click.group()
def cache() -> None:
    """What is kept in the database to spare work: embeddings of texts, and answers where debates asked for that.

    Example: counterpoint cache show
    """


@cache.command()
@session.json_option
@click.pass_obj
def show(settings: Settings, as_json: bool) -> None:
    """Show how much is kept, by kind, and how much may be (COUNTERPOINT_CACHE_MB).

    Example: counterpoint cache show
    """

    async def measure(manager: DebateManager) -> list[CacheSum]:
        with translate_storage_errors():
            return await manager.store.journal.measure_cache()

    sums = session.run_with_manager(settings, measure)
    if as_json:
        rows = [one._asdict() for one in sums]
        click.echo(session.format_json({"kept": rows, "max_bytes": settings.cache_mb * 1_000_000}))
        return
    for one in sums:
        click.echo(f"{format_count(one.number, one.kind)}, {one.bytes:,} bytes")
    click.echo(f"{sum(one.bytes for one in sums):,} of {settings.cache_mb * 1_000_000:,} bytes are kept.")


@cache.command()
@click.pass_obj
def clear(settings: Settings) -> None:
    """Drop all that is kept. Debates lose nothing by it.

    Example: counterpoint cache clear
    """

    async def drop(manager: DebateManager) -> None:
        with translate_storage_errors():
            await manager.store.journal.clear_cache()

    session.run_with_manager(settings, drop)
    click.echo("Nothing is kept any more.")
