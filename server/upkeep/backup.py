"""Backups: whole copies of the database."""

from pathlib import Path

from server.debate.facts.errors import InvalidRequestError
from server.engine.database.errors import translate_storage_errors
from storage.database import copy_database


def back_up(database: Path, target: Path, *, overwrite: bool = False) -> None:
    """Copy the database into a file that only this user may read; servers may use it meanwhile.

    Raises:
        InvalidRequestError: there is no database, or the target exists and is not to be overwritten.
        StorageUnavailableError: the database cannot be read, or the target cannot be written.
    """
    if not database.is_file():
        raise InvalidRequestError(f"There is no database {database} to back up.")
    if target.exists():
        if target.samefile(database):
            raise InvalidRequestError(f"{target} is the database itself. Name another file.")
        if not overwrite:
            raise InvalidRequestError(f"{target} exists already. Name another file, or add --overwrite.")
    with translate_storage_errors():
        copy_database(database, target, overwrite=overwrite)
