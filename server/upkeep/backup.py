"""Backups: whole copies of the database."""

from pathlib import Path

from server.debate.facts.errors import InvalidRequestError
from server.engine.database.errors import translate_storage_errors
from storage.addresses import find_name, is_address
from storage.sqlite.connections.database import copy_database


def back_up(database: str, target: Path, *, overwrite: bool = False) -> None:
    """Copy the database into a file that only this user may read; servers may use it meanwhile.

    Raises:
        InvalidRequestError: the target exists and is not to be overwritten.
        StorageUnavailableError: the database cannot be read, or the target cannot be written.
    """
    if is_address(database):
        raise InvalidRequestError(
            f"{find_name(database)} is backed up with PostgreSQL's own programs: pg_dump."
        )
    source = Path(database)
    if target.exists():
        if target.samefile(source):
            raise InvalidRequestError(f"{target} is the database itself. Name another file.")
        if not overwrite:
            raise InvalidRequestError(f"{target} exists already. Name another file, or add --overwrite.")
    with translate_storage_errors():
        copy_database(source, target, overwrite=overwrite)
