"""Debates in a PostgreSQL database, for any number of processes on any number of machines."""

from storage.postgres.storage import PostgresStorage, upgrade

__all__ = ["PostgresStorage", "upgrade"]
