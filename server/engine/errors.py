"""Errors that callers can do something about; their texts say what.

    DebateError
    ├── InvalidRequestError         the request is not possible               (server.debate.facts.errors)
    ├── InvalidSettingsError        a setting cannot be used                  (server.settings)
    ├── NoModelError                no model is configured                    (server.models.registry)
    ├── DebateNotFoundError         nothing is stored under this id
    ├── TwinError                   the debate was begun already              (server.engine.repeats)
    └── StorageUnavailableError     the database is damaged, locked, full, or of a later release

A failing model is a fact of the debate, not an error. Any other exception is a bug of ours: its traceback is
logged, and the journal is left as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError

from server.debate.facts.errors import DebateError
from server.debate.rules.transitions import IllegalEvent
from storage.journal import DamagedStreamError, StorageError


class DebateNotFoundError(DebateError):
    def __init__(self, debate_id: str) -> None:
        super().__init__(f"There is no debate {debate_id[:60]!r}. Call find_debates for the ids there are.")


class StorageUnavailableError(DebateError):
    """The database cannot be used, or the entries of a debate were altered."""


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
    except StorageError as error:
        raise StorageUnavailableError(f"The debates' database cannot be used: {error}") from error
    except (ValidationError, IllegalEvent) as error:
        raise StorageUnavailableError(
            "The record of this debate is intact, but this release cannot read it. A later one may have "
            "written it: update counterpoint-mcp."
        ) from error
