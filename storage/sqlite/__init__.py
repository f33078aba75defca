"""The journal and the outbox in one SQLite file."""

from storage.sqlite.journal import SqliteJournal

__all__ = ["SqliteJournal"]
