"""`counterpoint backup` and `counterpoint db`: upkeep of the database."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from server.cli import session
from server.debate.facts.text import clean_line, format_count
from server.settings import Settings
from server.upkeep.backup import back_up
from server.upkeep.check import check_database, require_database
from storage.addresses import find_name


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@click.pass_obj
def backup(settings: Settings, file: Path, overwrite: bool) -> None:
    """Copy the database to FILE, whole, also while servers use it.

    Only you may read the copy. It is a database: use it with --db, or put it back in the place of a lost one.

    Example: counterpoint backup debates-2026-11.db
    """
    back_up(settings.database, file, overwrite=overwrite)
    click.echo(f"{settings.database} was copied to {file} ({file.stat().st_size:,} bytes).")


@click.group()
def db() -> None:
    """The database: check it.

    Example: counterpoint db check
    """


@db.command()
@click.argument("database", metavar="[DB]", required=False, type=click.Path(dir_okay=False))
@click.option("--no-rebuild", is_flag=True, help="Only look: change nothing.")
@session.json_option
@click.pass_obj
def check(settings: Settings, database: str | None, no_rebuild: bool, as_json: bool) -> None:
    """Check all debates of a database: chains, records, lists, sums and the search index.

    What follows from the entries is written again where it does not. Exit code 1 if anything was wrong. Servers
    may use the database meanwhile.

    Example: counterpoint db check backup.db
    """
    chosen = settings.model_copy(update={"db": database or settings.database, "hooks": ""})
    require_database(chosen.database)
    result = session.run_with_manager(chosen, lambda manager: check_database(manager, rebuild=not no_rebuild))
    if as_json:
        click.echo(session.format_json(asdict(result)))
    for problem in () if as_json else result.problems:
        rebuilt = " It was written again." if problem.is_rebuilt else ""
        text = problem.text if problem.text.endswith(".") else f"{problem.text}."
        click.echo(clean_line(f"{problem.debate_id or 'the database'}: {text}{rebuilt}"))
    if not as_json:
        count = format_count(result.debate_count, "debate")
        found = format_count(len(result.problems), "problem") if result.problems else "nothing is wrong"
        click.echo(f"{find_name(chosen.database)}: {count} checked, {found}.")
    sys.exit(bool(result.problems))
