"""The journal and the outbox in one SQLite file."""

from storage.sqlite.journal import SqliteJournal, upgrade

__all__ = ["SqliteJournal", "upgrade"]
