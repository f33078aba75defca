"""`counterpoint backup` and `counterpoint db`: upkeep of the database."""

from pathlib import Path

import click

from server.settings import Settings
from server.upkeep.backup import back_up


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@click.pass_obj
def backup(settings: Settings, file: Path, overwrite: bool) -> None:
    """Copy the database to FILE, whole, also while servers use it.

    Only you may read the copy. It is a database: use it with --db, or put it back in the place of a lost one.

    Example: counterpoint backup debates-2026-11.db
    """
    back_up(Path(settings.database), file, overwrite=overwrite)
    click.echo(f"{settings.database} was copied to {file} ({file.stat().st_size:,} bytes).")
