"""Errors that callers can do something about; their texts say what.

    DebateError
    ├── InvalidRequestError         the request is not possible               (server.debate.facts.errors)
    ├── InvalidSettingsError        a setting cannot be used                  (server.settings)
    ├── NoModelError                no model is configured                    (server.models.registry)
    ├── DebateNotFoundError         nothing is stored under this id
    │   ├── DebateDeletedError          any more
    │   └── DebateArchivedError         its record is in a file
    ├── ForeignRecordError          its newest entries were not recorded by this installation
    ├── TwinError                   the debate was begun already              (server.engine.database.repeats)
    └── StorageUnavailableError     the database is damaged, or of a later release
        └── DatabaseUnavailableError    for now: it is locked, full, read-only, or the disk fails
            └── DatabaseLostError           it is gone, or another is in its place

A failing model is a fact of the debate, not an error. Any other exception is a bug of ours: its traceback is
logged, and the journal is left as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError

from server.debate.facts.errors import DebateError, IllegalEvent
from server.debate.machine.kinds import UnknownKindError
from storage.errors import DamagedStreamError, DeletedStreamError, StorageError, StorageLostError
from storage.streams import Archive, Tombstone


class DebateNotFoundError(DebateError):
    def __init__(self, debate_id: str) -> None:
        super().__init__(
            f"There is no debate {debate_id[:60]!r}. find_debates, or `counterpoint list`, shows the others."
        )


class DebateDeletedError(DebateNotFoundError):
    def __init__(self, tombstone: Tombstone) -> None:
        debate_id, day = tombstone.stream, tombstone.at[:10]
        DebateError.__init__(
            self,
            f"Debate {debate_id!r} was deleted on {day}. What is left of it: it had {tombstone.seq} entries, and the "
            f"hash of the last was {tombstone.head}."
            + (f" Its signed receipt: `counterpoint receipt {debate_id}`." if tombstone.texts else ""),
        )
        self.tombstone = tombstone


class DebateArchivedError(DebateNotFoundError):
    """It is still in lists and searches."""

    def __init__(self, tombstone: Tombstone, archive: Archive) -> None:
        DebateError.__init__(
            self,
            f"Debate {tombstone.stream!r} was archived on {tombstone.at[:10]}. {archive.headline} "
            f"Its record is in the file {archive.file}: `counterpoint import {archive.file}` brings it back.",
        )
        self.tombstone = tombstone


class ForeignRecordError(DebateError):
    """The debate goes on only if somebody asks for it."""

    def __init__(self, debate_id: str) -> None:
        super().__init__(
            f"Debate {debate_id} has entries that this installation did not record, so it does not run by itself. "
            "Read them, then run its next round to go on."
        )


class StorageUnavailableError(DebateError):
    """The database cannot be used, or the entries of a debate were altered."""


class DatabaseUnavailableError(StorageUnavailableError):
    """The database cannot be used now. What waits to be recorded is worth keeping."""


class DatabaseLostError(DatabaseUnavailableError):
    """The database is gone, or another one is in its place."""


LOSS_HINT = (
    "Its debates are held: nothing is recorded, and no model is asked. Put the right file in its place, then call "
    "again: the next call uses the file that is there then, or begins a new database if there is none."
)


@contextmanager
def translate_storage_errors() -> Iterator[None]:
    """Raise StorageUnavailableError for what the journal and a replay raise."""
    try:
        yield
    except DamagedStreamError as error:
        raise StorageUnavailableError(
            f"The record of debate {error.stream} was altered: entry {error.seq} {error.reason}. Restore it "
            "from a copy, or start another debate."
        ) from error
    except DeletedStreamError as error:
        if archive := error.tombstone.archive:
            raise DebateArchivedError(error.tombstone, archive) from None
        raise DebateDeletedError(error.tombstone) from None
    except StorageLostError as error:
        raise DatabaseLostError(f"The debates' database cannot be used: {error}. {LOSS_HINT}") from error
    except StorageError as error:
        raise DatabaseUnavailableError(f"The debates' database cannot be used: {error}") from error
    except IllegalEvent as error:
        raise StorageUnavailableError(
            f"The chain of this debate holds, and what it records cannot have happened: {error}. It was altered and "
            "hashed again, or a later release wrote it: update counterpoint-mcp."
        ) from error
    except (ValidationError, UnknownKindError) as error:
        raise StorageUnavailableError(
            "The record of this debate is intact, but this release cannot read it. A later one may have "
            "written it: update counterpoint-mcp."
        ) from error
