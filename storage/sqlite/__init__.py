"""Debates in one SQLite file."""

from storage.sqlite.storage import SqliteStorage, upgrade

__all__ = ["SqliteStorage", "upgrade"]
