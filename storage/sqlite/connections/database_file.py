"""Which file a path meant when it was opened, and whether it still means that file."""

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from storage.errors import StorageError, StorageLostError

LOG_SUFFIX = "-wal"
INDEX_SUFFIX = "-shm"

NAME_ANOTHER = "name another (COUNTERPOINT_DB, --db)"
"""In the text of an error: what to do where nothing else helps."""

FileIdentity = tuple[int, int]
"""Device and inode."""


def ensure_file_exists(path: Path) -> None:
    """Create the file and its directory if missing, readable by this user only.

    SQLite gives its -wal and -shm files the same permissions. Raises StorageError.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
    except OSError as error:
        raise StorageError(
            f"the database {path} cannot be opened, {NAME_ANOTHER}: {error.strerror}"
        ) from error
    # Never open the file here: closing it again would drop SQLite's locks on it.
    if not path.is_file():
        raise StorageError(f"the database {path} cannot be opened, {NAME_ANOTHER}: it is not a file")


def is_on_read_only_media(path: Path) -> bool:
    """Whether neither the file nor its directory can be written, so that SQLite cannot keep its log beside it."""
    return path.is_file() and not (os.access(path, os.W_OK) or os.access(path.parent, os.W_OK))


def is_missing(path: Path) -> bool:
    """Whether nothing is stored there: no file, or an empty one without a log. Raises OSError."""
    status = find_status(str(path))
    return status is None or (status.st_size == 0 and not has_log(path))


def has_log(path: Path) -> bool:
    """Whether entries are in the log beside the file that are not in the file itself."""
    log = find_status(f"{path}{LOG_SUFFIX}")
    return log is not None and log.st_size > 0


class DatabaseFile:
    """The file of an open database, with the log and the index of the log that SQLite keeps beside it.

    SQLite goes on with a file that nobody else can find any more, and mixes a new file with the log of the
    old one. It never makes a file shorter, unless somebody has it vacuumed.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._identity: FileIdentity | None = None
        self._size = 0
        self._siblings: dict[str, FileIdentity] = {}  # the log and its index
        self._checked_at = -math.inf  # when it was last found in place, with its log

    def remember(self) -> None:
        """Take what the path means now for the database that is about to be opened."""
        if status := find_status(self.path):
            self._identity, self._size = (status.st_dev, status.st_ino), status.st_size

    def remember_log(self) -> None:
        """Take the log and its index for those of the database that was opened."""
        self._siblings = {
            path: (status.st_dev, status.st_ino)
            for path in (self.path + LOG_SUFFIX, self.path + INDEX_SUFFIX)
            if (status := find_status(path))
        }

    def check(self, max_age: float = 0.0) -> None:
        """Raise StorageLostError if the path means another file than before, none, or a shorter one.

        `max_age`: seconds for which it counts as the same when it was last found whole, with its log.
        """
        if time.monotonic() - self._checked_at >= max_age:
            self._raise(self._find_loss)

    def check_with_log(self, max_age: float = 0.0) -> None:
        """Likewise, also if the log or its index is not the one that was opened."""
        if time.monotonic() - self._checked_at >= max_age:
            self._raise(lambda: self._find_loss() or self._find_log_loss())
            self._checked_at = time.monotonic()

    def is_in_place(self) -> bool:
        """Whether the path means the file that was opened, whatever became of its log."""
        with suppress(OSError):
            return not self._find_loss()
        return False

    def set_remains_aside(self) -> None:
        """Rename what is left of a lost database, so that it does not get into the one that takes its place.

        SQLite would play the old log into a new file. An empty file goes along: the log is all that is left of it.
        """
        new_path = f"{self.path}.lost-{time.strftime('%Y%m%d-%H%M%S')}"
        main = find_status(self.path)
        if main and main.st_size == 0:
            Path(self.path).replace(new_path)
        for path, identity in self._siblings.items():
            status = find_status(path)
            if status and (status.st_dev, status.st_ino) == identity:
                Path(path).replace(new_path + path.removeprefix(self.path))
        self._siblings = {}

    def _raise(self, find_loss: Callable[[], str]) -> None:
        try:
            loss = find_loss()
        except OSError as error:
            loss = f"could not be reached any more ({error.strerror})"
        if loss:
            self._checked_at = -math.inf
            raise StorageLostError(f"the database {self.path} {loss} while it was open")

    def _find_loss(self) -> str:
        if self._identity is None:  # in memory
            return ""
        status = find_status(self.path)
        if status is None:
            return "was deleted or moved away"
        if (status.st_dev, status.st_ino) != self._identity:
            return "was replaced by another file"
        if status.st_size < self._size:
            return f"was cut short, from {self._size:,} to {status.st_size:,} bytes,"
        self._size = status.st_size
        return ""

    def _find_log_loss(self) -> str:
        for path, identity in self._siblings.items():
            status = find_status(path)
            if not status or (status.st_dev, status.st_ino) != identity:
                return f"lost its file {Path(path).name}"
        return ""


def find_status(path: str) -> os.stat_result | None:
    """None if there is no such file. Raises OSError where that cannot be known."""
    try:
        return os.stat(path)  # noqa: PTH116  (done after every statement; a Path would take twice as long)
    except (FileNotFoundError, NotADirectoryError):
        return None
