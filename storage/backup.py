"""A copy of an SQLite file that other processes may be writing to."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from storage.connection import translate_errors
from storage.database_file import is_on_read_only_media


def copy_database(source: Path, target: Path, *, overwrite: bool) -> None:
    """Write a whole copy that only this user may read. Servers go on meanwhile: it shows one moment of theirs.

    It is made under another name beside the target, so that what has the target's name is always whole.

    Raises:
        StorageError: the source cannot be read, or the target cannot be written, or exists.
    """
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with translate_errors(str(partial)):
            partial.touch(mode=0o600, exist_ok=False)
            with closing(open_source(source)) as reading, closing(sqlite3.connect(partial)) as writing:
                reading.backup(writing)  # all pages in one step: nobody's write makes it begin again
                writing.execute("pragma journal_mode = delete")  # so that it needs no files beside it
            sync(partial)
        with translate_errors(str(target)):
            if not overwrite:
                target.touch(mode=0o600, exist_ok=False)
            partial.replace(target)
            if os.name == "posix":  # Windows has no directories to be opened
                sync(target.parent)
    finally:
        with suppress(OSError):
            partial.unlink()


def open_source(path: Path) -> sqlite3.Connection:
    mode = "immutable=1" if is_on_read_only_media(path) else "mode=rw"
    with translate_errors(str(path)):
        source = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True)
        source.execute("select count(*) from sqlite_schema")  # opens it
    return source


def sync(path: Path) -> None:
    """Have a file, or the names in a directory, survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
