"""`counterpoint backup`, `db` and `cache`: upkeep of the database, and of what is kept in it to be used again."""

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import click

from server.cli import session
from server.debate.facts.text import clean_line, format_count
from server.engine.database.errors import translate_storage_errors
from server.engine.debates import DebateManager
from server.optional import optional_import
from server.settings import Settings
from server.startup import open_storage, require_database, upgrade_database
from storage.addresses import find_name
from storage.cache import CacheSum

if TYPE_CHECKING:
    from server.upkeep.check import Problem
    from server.upkeep.copy import CopyResult


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@click.pass_obj
def backup(settings: Settings, file: Path, overwrite: bool) -> None:
    """Copy the database to FILE, whole, also while servers use it.

    The copy is a database that only you can read: use it with --db, or put it in the place of a lost one.

    Example: counterpoint backup debates-2026-11.db
    """
    with optional_import():
        from server.upkeep.backup import back_up  # noqa: PLC0415

    require_database(settings)
    back_up(settings.database, file, overwrite=overwrite)
    click.echo(f"{settings.database} was copied to {file} ({file.stat().st_size:,} bytes).")


@click.group()
def db() -> None:
    """Check, copy, prune, archive or upgrade the database.

    Example: counterpoint db check
    """


@db.command()
@click.argument("database", metavar="[DB]", required=False, type=click.Path(dir_okay=False))
@click.option("--no-rebuild", is_flag=True, help="Only check: change nothing.")
@session.json_option
@click.pass_obj
def check(settings: Settings, database: str | None, no_rebuild: bool, as_json: bool) -> None:
    """Check all debates of a database.

    It looks at chains of hashes, records, lists, sums and the search index.

    Derived tables that do not match the entries are rebuilt. Exit code 1 if anything was wrong. Servers may use the
    database meanwhile.

    Example: counterpoint db check backup.db
    """
    with optional_import():
        from server.upkeep.check import check_database  # noqa: PLC0415

    checked_settings = settings.model_copy(update={"db": database or settings.database, "hooks": ""})
    result = session.run_with_manager(
        checked_settings, lambda manager: check_database(manager, rebuild=not no_rebuild), of_all=True
    )
    if as_json:
        click.echo(session.format_json(asdict(result)))
    for problem in () if as_json else result.problems:
        rebuilt = " It was rebuilt." if problem.is_rebuilt else ""
        text = problem.text if problem.text.endswith(".") else f"{problem.text}."
        click.echo(clean_line(f"{problem.debate_id or 'the database'}: {text}{rebuilt}"))
    if not as_json:
        count = format_count(result.debate_count, "debate")
        finding = format_count(len(result.problems), "problem") if result.problems else "nothing is wrong"
        click.echo(f"{find_name(checked_settings.database)}: {count} checked, {finding}.")
    sys.exit(bool(result.problems))


@db.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option(
    "--tokens",
    "with_tokens",
    is_flag=True,
    help="Copy the tokens, too. Whoever has one may then use TO over HTTP.",
)
@session.json_option
@click.pass_obj
def copy(settings: Settings, source: str, target: str, with_tokens: bool, as_json: bool) -> None:
    """Copy all debates of a database into another.

    FROM and TO are paths, or addresses of PostgreSQL.

    Chains, receipts and running debates are copied as they are; what TO has already is not written again. Debates of
    another installation stay marked as such, and its ledger is not copied. Exit code 1 if a debate differs afterwards.
    Servers may run meanwhile; before you switch to the copy, let hooks finish, stop the servers and copy again.

    Example: counterpoint db copy debates.db postgresql://counterpoint@db.example.org/counterpoint
    """
    with optional_import():
        from server.upkeep.copy import copy_debates  # noqa: PLC0415

    settings_of_source = settings.model_copy(update={"db": source, "hooks": ""})
    settings_of_target = settings.model_copy(update={"db": target})
    if settings_of_source.database == settings_of_target.database:
        raise click.UsageError("FROM and TO are the same database.")

    async def copy_all(manager: DebateManager) -> "CopyResult":
        async with open_storage(settings_of_target) as storage:
            return await copy_debates(manager, storage, with_tokens=with_tokens)

    result = session.run_with_manager(settings_of_source, copy_all, of_all=True)
    show_result(asdict(result), describe_copy(result, target), result.problems, as_json=as_json)


def describe_copy(result: "CopyResult", target: str) -> str:
    """What was copied, and what was not, in sentences."""
    count = format_count(result.debate_count, "debate")
    written = (
        f"{find_name(target)}: {result.copied_debates} of {count} written, {result.copied_entries} entries."
    )
    remarks = (
        (result.copied_tombstones, "deleted debate", "left a tombstone."),
        (result.copied_tokens, "token", "added or revoked."),
        (result.let_in, "owner", "let in by added tokens."),
        (result.left_tokens, "token", "left behind: --tokens takes them along, and lets in whoever has one."),
        (result.recorded_elsewhere, "debate", "recorded elsewhere: see counterpoint adopt."),
        (
            result.left_judgments,
            "labelled judgment",
            "of another installation left behind: counterpoint ledger import adds a file of them.",
        ),
        (
            result.left_deliveries,
            "unfinished task",
            "of hooks left behind: a server on the old database finishes them.",
        ),
        (result.stays_deleted, "debate", "deleted there before."),
    )
    return " ".join((written, *(f"{format_count(n, noun)} {words}" for n, noun, words in remarks if n)))


@db.command()
@click.option(
    "--older-than",
    "days",
    metavar="DAYS",
    required=True,
    type=click.IntRange(0, 36_500),
    help="Debates that ended more than this many days ago.",
)
@click.option("--owner", metavar="O", default=None, help="Only debates of this owner.")
@click.option("--dry-run", is_flag=True, help="Only list them.")
@session.json_option
@click.pass_obj
def prune(settings: Settings, days: int, owner: str | None, dry_run: bool, as_json: bool) -> None:
    """Remove debates that ended long ago. What is left of each is its receipt: `counterpoint receipt ID`.

    What stays: debates that have not ended or that hooks still need, the sums of each day, and judgments. Exit code 1
    if a debate could not be read; it stays, too.

    Example: counterpoint db prune --older-than 90 --dry-run
    """
    remove_old(settings, "removed", days, owner=owner, dry_run=dry_run, as_json=as_json)


def parse_age(_context: click.Context, _option: click.Parameter, text: str) -> float:
    """The days since a date (UTC), or an age in days, with or without a d."""
    if days := re.fullmatch(r"([0-9]{1,5})d?", text):
        return int(days[1])
    try:
        since = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not understood. Write a date such as 2026-08-01, or days such as 90d."
        ) from None
    since = since if since.tzinfo else since.replace(tzinfo=UTC)
    return max((datetime.now(UTC) - since) / timedelta(days=1), 0)


@db.command()
@click.option(
    "--before",
    "days",
    metavar="DATE|AGE",
    required=True,
    callback=parse_age,
    help="Debates that ended before this day (UTC), or more than this many days ago: 2026-08-01, 90d.",
)
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    required=True,
    type=click.Path(file_okay=False, resolve_path=True, path_type=Path),
    help="A file for each debate, in a folder for each month.",
)
@click.option("--owner", metavar="O", default=None, help="Only debates of this owner.")
@click.option("--dry-run", is_flag=True, help="Only list them.")
@session.json_option
@click.pass_obj
def archive(
    settings: Settings, days: float, folder: Path, owner: str | None, dry_run: bool, as_json: bool
) -> None:
    """Move records of old debates into files. They stay in lists and searches; `counterpoint import` brings one back.

    Each file is written and checked before its debate leaves the database: if this command is interrupted, run it
    again. Debates that have not ended stay. Exit code 1 if a debate could not be archived; it stays, too.

    Example: counterpoint db archive --before 2026-08-01 --to /srv/archive
    """
    remove_old(settings, "archived", days, owner=owner, dry_run=dry_run, folder=folder, as_json=as_json)


def remove_old(settings: Settings, done: str, days: float, *, as_json: bool, **choice: Any) -> NoReturn:
    """`done`: what is done with debates. `choice`: arguments of `prune_debates`."""
    with optional_import():
        from server.upkeep.prune import prune_debates  # noqa: PLC0415

    quiet_settings = settings.model_copy(update={"hooks": ""})
    result = session.run_with_manager(
        quiet_settings,
        lambda manager: prune_debates(manager, days, actor=session.ACTOR, **choice),
        of_all=True,
    )
    if not as_json:
        for debate_id in result.debate_ids:
            click.echo(debate_id)
        for debate_id, reason in result.spared.items():
            click.echo(f"{debate_id} stays: {reason}.")
    count = format_count(len(result.debate_ids), "debate")
    verb = "would be" if choice["dry_run"] else "was" if len(result.debate_ids) == 1 else "were"
    text = f"{find_name(settings.database)}: {count} {verb} {done}."
    show_result(asdict(result), text, result.problems, as_json=as_json)


@db.command()
@click.pass_obj
def upgrade(settings: Settings) -> None:
    """Bring the database to this release.

    A server makes those changes by itself that older releases can live with. The others wait for this command.

    Example: counterpoint db upgrade
    """
    require_database(settings)
    applied = anyio.run(upgrade_database, settings)
    name = find_name(settings.database)
    click.echo(f"{name}: applied {', '.join(applied)}." if applied else f"{name}: nothing to change.")


def show_result(data: dict[str, Any], text: str, problems: "Sequence[Problem]", *, as_json: bool) -> NoReturn:
    """Print what was done and what could not be, and end with the exit code."""
    if as_json:
        click.echo(session.format_json(data))
    else:
        for problem in problems:
            click.echo(clean_line(f"{problem.debate_id}: {problem.text.rstrip('.')}."))
        click.echo(text)
    sys.exit(bool(problems))


@click.group()
def cache() -> None:
    """Show or empty the cache of embeddings and answers.

    Example: counterpoint cache show
    """


@cache.command()
@session.json_option
@click.pass_obj
def show(settings: Settings, as_json: bool) -> None:
    """Show how much the cache holds of each kind.

    COUNTERPOINT_CACHE_MB is its limit.

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
