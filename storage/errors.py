"""What goes wrong with a database, or with a stream in it."""

from storage.streams import Tombstone


class StorageError(Exception):
    """The database cannot be used: locked, full, read-only, damaged, or of a newer release."""


class OutageError(StorageError):
    """The database does not answer now: its server cannot be reached, or it is locked. What it has is still there."""


class BusyError(StorageError):
    """The database answers others, and had no turn for this in time: no outage. It may be asked again."""


class StorageLostError(StorageError):
    """The database that was opened is gone, or another one is in its place. Nothing was written to it.

    It is raised until the old database is back or `Storage.reopen` is called.
    """


class ConflictError(Exception):
    """The next entry of this stream exists already."""


class DivergenceError(ConflictError):
    """A stream differs from the one to restore. `seq` is the first different entry."""

    def __init__(self, stream: str, seq: int) -> None:
        super().__init__(f"entry {seq} of {stream} is different in this database")
        self.stream = stream
        self.seq = seq


class KeyTakenError(ConflictError):
    """A stream was opened under this key. `stream` is its name."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"{stream} was opened under this key")
        self.stream = stream


class DamagedStreamError(StorageError):
    """A stream was changed after it was written. `seq` is the first wrong entry."""

    def __init__(self, stream: str, seq: int, reason: str) -> None:
        super().__init__(f"entry {seq} of {stream} {reason}")
        self.stream = stream
        self.seq = seq
        self.reason = reason


class DeletedStreamError(StorageError):
    """A stream was deleted."""

    def __init__(self, tombstone: Tombstone) -> None:
        super().__init__(f"{tombstone.stream} was deleted")
        self.tombstone = tombstone
