"""What can go wrong, by whose fault.

    DebateError                 the caller can do something about it; the text says what
    ├── Refused                 the debate cannot do what was asked          (server.debate.facts.errors)
    ├── NoModel                 no model to debate with                      (server.models.registry)
    ├── NoSuchDebate            the id names none
    └── Unreadable              the database is damaged, locked, full, or of a later release

A failing model is none of these: it is a `Failed` fact of the debate. Anything else that is raised is
a bug of ours, shows its traceback in the log, and leaves the journal as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError

from server.debate.facts.errors import DebateError, InvalidRequestError
from server.debate.rules.transitions import IllegalEvent
from storage.journal import DamagedStreamError, StorageError

__all__ = [
    "DebateError",
    "DebateNotFoundError",
    "InvalidRequestError",
    "StorageUnavailableError",
    "translate_storage_errors",
]


class DebateNotFoundError(DebateError):
    def __init__(self, debate_id: str) -> None:
        super().__init__(f"There is no debate {debate_id[:60]!r}. Call find_debates for the ids there are.")


class StorageUnavailableError(DebateError):
    """The database cannot be used, or what it holds about a debate is not what was written."""


@contextmanager
def translate_storage_errors() -> Iterator[None]:
    """Turn what the journal and a replay raise into `Unreadable`."""
    try:
        yield
    except DamagedStreamError as error:
        raise StorageUnavailableError(
            f"The record of debate {error.stream} was altered: entry {error.seq} {error.reason}. Restore it "
            "from a copy, or start another debate."
        ) from error
    except StorageError as error:
        raise StorageUnavailableError(f"The debates' database cannot be used: {error}") from error
    except (ValidationError, IllegalEvent) as error:
        raise StorageUnavailableError(
            "The record of this debate is whole, but this release cannot read it. It may have been "
            "written by a later one: update counterpoint-mcp."
        ) from error
