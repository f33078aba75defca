"""Backups: whole copies of the database."""

from pathlib import Path

from server.debate.facts.errors import InvalidRequestError
from server.engine.database.errors import translate_storage_errors
from storage.addresses import find_name, is_address
from storage.sqlite.connections.database import copy_database
from storage.sqlite.connections.database_file import INDEX_SUFFIX, LOG_SUFFIX

PARTS = {
    "": "the database itself",
    LOG_SUFFIX: "the log",
    INDEX_SUFFIX: "the index of the log",
    "-journal": "the rollback journal",
}
"""The files of an SQLite database, by what stands behind its name. Each is taken for what its name says."""


def list_parts(database: Path) -> dict[Path, str]:
    """Where the files of a database lie, or would lie: beside the file, and beside what the path leads to."""
    places = (database, database.resolve())
    return {Path(f"{place}{suffix}"): name for place in places for suffix, name in PARTS.items()}


def is_same_place(path: Path, other_path: Path) -> bool:
    """Whether two paths mean one file, or would: some file systems tell no capitals from small letters."""
    if path.exists() and other_path.exists() and path.samefile(other_path):
        return True
    return str(path.resolve()).casefold() == str(other_path.resolve()).casefold()


def back_up(database: str, target: Path, *, overwrite: bool = False) -> None:
    """Copy the database into a file that only this user may read; servers may use it meanwhile.

    Raises:
        InvalidRequestError: the target exists and is not to be overwritten, or belongs to a database.
        StorageUnavailableError: the database cannot be read, or the target cannot be written.
    """
    if is_address(database):
        raise InvalidRequestError(
            f"{find_name(database)} is backed up with PostgreSQL's own programs: pg_dump."
        )
    source = Path(database)
    for part, name in list_parts(source).items():
        if is_same_place(target, part):
            raise InvalidRequestError(f"{target} is {name}. Name another file.")
    if target.exists() and not overwrite:
        raise InvalidRequestError(f"{target} exists already. Name another file, or add --overwrite.")
    for part, name in list_parts(target).items():
        if part != target and part.exists():  # it would be played into the backup
            raise InvalidRequestError(
                f"{part} is there, {name} of an older {target.name}. Name another file."
            )
    with translate_storage_errors():
        copy_database(source, target, overwrite=overwrite)
